// The search through the schedules of a kernel's programs, and its command
// line. docs/kernels.md says how to use it.
#include <cxxabi.h>
#include <dlfcn.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "explore/arena.h"
#include "explore/choosers.h"
#include "explore/search.h"
#include "kernels/program.h"
#include "kernels/run.h"

namespace kernels {

namespace {

using explore::Departures;
using explore::SearchOptions;

constexpr unsigned kMostSeconds = 100;

/// Random priorities, with a stale value now and then.
class RandomChoices : public Chooser {
 public:
  RandomChoices(std::uint64_t seed, int changes, std::size_t length)
      : priorities_(seed, changes, length), state_(seed * 2 + 1) {}

  std::size_t choose(const std::vector<explore::Choice>& choices,
                     std::uint64_t signature) override {
    std::size_t index = 0;
    if (choices.front().strand != choices.back().strand) {
      index = priorities_.choose(choices, signature);
    } else {
      // One in four: the product is to see both.
      index = random() % 4 != 0 ? 0 : random() % choices.size();
    }
    ++length_;
    return index;
  }

  std::size_t length() const { return length_; }

 private:
  std::uint64_t random() {
    state_ = state_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    return state_ >> 33;
  }

  explore::RandomPriorities priorities_;
  std::uint64_t state_;
  std::size_t length_ = 0;
};

/// Repeats a schedule, with a choice before each operation. Its departures do
/// not depend on the addresses that the search has learnt.
class FollowSteps : public Chooser {
 public:
  explicit FollowSteps(std::vector<Run::Step> steps)
      : steps_(std::move(steps)) {}

  std::size_t choose(const std::vector<explore::Choice>& choices,
                     std::uint64_t /*signature*/) override {
    const std::size_t index = index_in(choices);
    if (index != 0) {
      departures_[next_] = index;
    }
    ++next_;
    return index;
  }

  const Departures& departures() const { return departures_; }

 private:
  std::size_t index_in(const std::vector<explore::Choice>& choices) const {
    const std::size_t done = the_run().steps().size();
    if (choices.front().strand == choices.back().strand) {
      // The operation under way chooses a value.
      return done <= steps_.size() && steps_[done - 1].choice < choices.size()
                 ? steps_[done - 1].choice
                 : 0;
    }
    for (std::size_t i = 0; done < steps_.size() && i < choices.size(); ++i) {
      if (choices[i].process == steps_[done].thread) {
        return i;
      }
    }
    return 0;
  }

  const std::vector<Run::Step> steps_;
  std::size_t next_ = 0;
  Departures departures_;
};

/// The arena's own data before the first block. Blocks that are free later hold
/// links of the arena, which a schedule overwrites.
const std::array<std::byte, 4096>& empty_arena() {
  static const auto bytes = [] {
    std::array<std::byte, 4096> copy{};
    std::memcpy(copy.data(), explore::arena_begin(), copy.size());
    return copy;
  }();
  return bytes;
}

void empty_the_arena() {
  std::memcpy(explore::arena_begin(), empty_arena().data(),
              empty_arena().size());
}

/// The schedules of one case. Memory of the program comes from the arena, which
/// begins anew with each schedule, so addresses repeat.
class Exploration {
 public:
  /// The first set-up makes the objects that the process keeps, such as the
  /// segment.
  explicit Exploration(const Case& program) : case_(program) {
    empty_the_arena();
    const explore::InRank inside(true);
    case_.make().reset();
    const int next = ::dup(STDOUT_FILENO);
    first_descriptor_ = static_cast<unsigned>(next);
    ::close(next);
  }

  std::string run(Chooser& chooser, End& end) {
    empty_the_arena();
    Run& run = the_run();
    run.forget_names();
    std::unique_ptr<Program> program;
    {
      const explore::InRank inside(true);
      program = case_.make();
    }
    std::string wrong = run.run(
        program->threads(), [&](Thread thread) { program->run(thread); },
        [&] { program->check(); }, chooser, end);
    if (end == End::kDone) {
      const explore::InRank inside(true);
      program.reset();
    } else {
      // Its threads are in the middle of it. Its descriptors are the newest.
      (void)program.release();
      ::close_range(first_descriptor_, ~0U, 0);
    }
    return wrong;
  }

  static explore::Contention& contention() { return the_run().contention(); }

  const Case& program() const { return case_; }

 private:
  const Case& case_;
  unsigned first_descriptor_ = 0;  ///< Programs have this one and later ones.
};

/// The function around an address, without its parameters.
std::string function_at(const void* code) {
  Dl_info info{};
  if (code == nullptr || ::dladdr(code, &info) == 0 ||
      info.dli_sname == nullptr) {
    return "";
  }
  int status = 0;
  char* text = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : info.dli_sname;
  std::free(text);
  return name.substr(0, name.find('('));
}

void report(Exploration& exploration, const Departures& departures) {
  std::vector<Line> table;
  explore::Replay replay(departures);
  End end = End::kDone;
  the_run().record(&table);
  const std::string wrong = exploration.run(replay, end);
  the_run().record(nullptr);
  std::printf("  %4s %6s  %-18s %-24s %-28s %s\n", "step", "thread",
              "operation", "memory", "value", "function");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Line& line = table[i];
    std::printf("  %4zu %6zu  %-18s %-24s %-28s %s\n", i + 1, line.thread,
                line.operation.c_str(), line.place.c_str(), line.values.c_str(),
                function_at(line.code).c_str());
  }
  std::printf("  %s\n", wrong.empty() ? "nothing is wrong" : wrong.c_str());
  std::printf("  again: %s %s --replay %s\n", program_invocation_name,
              exploration.program().name, explore::text_of(departures).c_str());
}

bool explore_case(const Case& program, SearchOptions options) {
  const auto start = std::chrono::steady_clock::now();
  if (options.bound == 0) {
    options.bound = program.bound != 0 ? program.bound : 3;
  }
  the_run().contention() = explore::Contention();
  Exploration exploration(program);
  if (options.is_replay) {
    the_run().contention().take_everything();
    report(exploration, options.departures);
    return true;
  }
  ::alarm(kMostSeconds);  // Ends a loop without an operation on memory.
  const explore::Result result =
      options.random != 0
          ? explore::search_randomly<RandomChoices>(exploration, options)
          : explore::search_depth_first(exploration, options);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  std::printf(
      "%-4s %-36s %7zu schedules, %7zu whole, %5.1f s%s\n",
      result.wrong.empty() ? "ok" : "FAIL", program.name, result.schedules,
      result.whole, took.count(),
      result.wrong.empty() && !result.is_complete ? ", limit reached" : "");
  if (!result.wrong.empty()) {
    FollowSteps follow(the_run().steps());
    report(exploration, explore::departures_of_failure(exploration, follow));
  }
  std::fflush(stdout);
  return result.wrong.empty();
}

SearchOptions options_in(int argc, char** argv) {
  SearchOptions options;
  options.bound = 0;
  options.limit = 200'000;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options.pattern = word;
    } else if (!options.take(word, i + 1 < argc ? argv[i + 1] : "")) {
      std::fprintf(stderr,
                   "%s: no option %s; docs/kernels.md has the options\n",
                   argv[0], word.c_str());
      std::exit(2);
    } else {
      ++i;
    }
  }
  return options;
}

}  // namespace

}  // namespace kernels

int main(int argc, char** argv) {
  (void)kernels::empty_arena();
  const explore::SearchOptions options = kernels::options_in(argc, argv);
  bool is_good = true;
  std::size_t count = 0;
  for (const kernels::Case& program : kernels::all_cases()) {
    if (options.wants(program.name)) {
      is_good = kernels::explore_case(program, options) && is_good;
      ++count;
    }
  }
  if (count == 0) {
    std::fprintf(stderr, "%s: no case has \"%s\" in its name\n", argv[0],
                 options.pattern.c_str());
    return 2;
  }
  return is_good != options.is_failure_wanted ? 0 : 1;
}
