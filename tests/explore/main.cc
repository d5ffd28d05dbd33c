// The command line of the explorer. Each scenario runs in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "explore/choosers.h"
#include "explore/exploration.h"
#include "explore/report.h"
#include "explore/search.h"

namespace explore {

namespace {

struct Options : SearchOptions {
  std::string mode = "near";  ///< One, or several between commas.
  unsigned seconds = 100;     ///< That a scenario may take.
  bool has_deaths = false;    ///< Each rank dies at each of its steps.
  int victim = -1;
  std::uint64_t death = 0;
  std::string image = EXPLORE_IMAGE;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Runs one schedule and prints it, with the command that runs it again.
void report(Exploration& exploration,
            const Options& options,
            const Departures& departures) {
  Trace trace;
  Replay replay(departures);
  End end = End::kDone;
  exploration.record(&trace);
  const std::string wrong = exploration.run(replay, end);
  exploration.record(nullptr);
  print_schedule(exploration, trace);
  std::printf("  %s\n", wrong.empty() ? "nothing is wrong" : wrong.c_str());
  std::string death;
  if (options.victim >= 0) {
    death = " --death " + std::to_string(options.victim) + ":" +
            std::to_string(options.death);
  }
  const std::string seed =
      options.mode == "any" ? " --seed " + std::to_string(options.seed) : "";
  std::printf("  again: explore %s --mode %s%s%s --replay %s\n",
              exploration.scenario().name.c_str(), options.mode.c_str(),
              seed.c_str(), death.c_str(), text_of(departures).c_str());
}

/// Lets each rank die before each of its steps, in all schedules of up to one
/// departure. Sets the victim in `options` when a schedule fails.
Result search_deaths(Exploration& exploration, Options& options) {
  Options plain = options;
  plain.bound = 1;
  Result all = search_depth_first(exploration, plain);
  for (int rank = 0; rank < exploration.world().ranks(); ++rank) {
    bool has_died = true;
    for (std::uint64_t step = 1; has_died && all.wrong.empty(); ++step) {
      exploration.kill(rank, step);
      const Result result = search_depth_first(exploration, plain);
      has_died = exploration.has_killed();
      all.schedules += result.schedules;
      all.whole += result.whole;
      all.wrong = result.wrong;
      if (!result.wrong.empty()) {
        options.victim = rank;
        options.death = exploration.world().death_step();
        exploration.kill(rank, options.death);
      }
    }
  }
  return all;
}

/// Runs schedules until one fails. Returns whether none has.
bool explore_all(Exploration& exploration, Options options) {
  const auto start = std::chrono::steady_clock::now();
  const Result result =
      options.has_deaths ? search_deaths(exploration, options)
      : options.random != 0
          ? search_randomly<RandomPriorities>(exploration, options)
          : search_depth_first(exploration, options);
  std::printf(
      "%-4s %-32s %-4s %7zu schedules, %7zu whole, %6.0f a second%s\n",
      result.wrong.empty() ? "ok" : "FAIL", exploration.scenario().name.c_str(),
      options.mode.c_str(), result.schedules, result.whole,
      static_cast<double>(result.schedules) / seconds_since(start),
      result.wrong.empty() && !result.is_complete ? ", limit reached" : "");
  if (result.wrong.empty()) {
    return true;
  }
  std::printf("  %s\n", result.wrong.c_str());
  std::fflush(stdout);  // To find fewer departures can take long.
  Follow follow(exploration.world().processes());
  report(exploration, options, departures_of_failure(exploration, follow));
  return false;
}

enum class Verdict : std::uint8_t { kGood, kWrong, kLate };

/// In a process of its own: the exploration of one scenario.
Verdict explore_one(const Scenario& scenario, const Options& options) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(options.seconds);  // Ends a loop that never calls the library.
    Exploration exploration(scenario, mode_named(options.mode, options.seed),
                            options.image);
    exploration.kill(options.victim, options.death);
    bool is_good = true;
    if (options.is_replay) {
      exploration.contention().take_everything();
      report(exploration, options, options.departures);
    } else {
      is_good = explore_all(exploration, options);
    }
    std::fflush(stdout);
    ::_exit(is_good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status) == 0 ? Verdict::kGood : Verdict::kWrong;
  }
  const bool is_late = WTERMSIG(status) == SIGALRM;
  std::printf("FAIL %s %s: %s\n", scenario.name.c_str(), options.mode.c_str(),
              is_late ? "takes too long: --seconds, or a smaller --limit"
                      : ::strsignal(WTERMSIG(status)));
  return is_late ? Verdict::kLate : Verdict::kWrong;
}

/// A scenario that runs apart has its group in its name, as "map.example.swap",
/// and the pattern has to name it.
bool is_chosen(const Scenario& scenario, const SearchOptions& options) {
  const std::size_t begin = scenario.name.find('.') + 1;
  const std::size_t end =
      std::min(scenario.name.find('.', begin), scenario.name.size());
  const std::string group = scenario.name.substr(begin, end - begin);
  return options.wants(scenario.name) &&
         (!scenario.is_apart ||
          options.pattern.find(group) != std::string::npos);
}

Options options_in(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word.rfind("--", 0) != 0) {
      options.pattern = word;
    } else if (word == "--deaths") {
      options.has_deaths = true;  // It has no value.
    } else {
      ++i;
      if (word == "--image") {
        options.image = value;
      } else if (word == "--mode") {
        options.mode = value;
      } else if (word == "--seconds") {
        options.seconds =
            static_cast<unsigned>(std::strtoul(value, nullptr, 10));
      } else if (word == "--death") {
        options.victim = static_cast<int>(std::strtol(value, nullptr, 10));
        const char* step = std::strchr(value, ':');
        options.death =
            step == nullptr ? 1 : std::strtoull(step + 1, nullptr, 10);
      } else if (!options.take(word, value)) {
        std::fprintf(stderr,
                     "%s: no option %s; docs/testing.md has the options\n",
                     argv[0], word.c_str());
        std::exit(2);
      }
    }
  }
  return options;
}

}  // namespace

}  // namespace explore

int main(int argc, char** argv) {
  explore::Options options = explore::options_in(argc, argv);
  const std::string modes = options.mode;
  bool is_good = true;
  bool is_late = false;
  for (std::size_t at = 0; at < modes.size();) {
    const std::size_t end = std::min(modes.find(',', at), modes.size());
    options.mode = modes.substr(at, end - at);
    at = end + 1;
    for (const explore::Scenario& scenario : explore::all_scenarios()) {
      if (explore::is_chosen(scenario, options)) {
        const explore::Verdict verdict =
            explore::explore_one(scenario, options);
        is_good = is_good && verdict == explore::Verdict::kGood;
        is_late = is_late || verdict == explore::Verdict::kLate;
      }
    }
  }
  // A search that did not end has not found the failure that is wanted.
  return is_late ? 2 : is_good != options.is_failure_wanted ? 0 : 1;
}
