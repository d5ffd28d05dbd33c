// A program for acprun to run: does the steps that its arguments name, in
// order. "only:R:step" does a step on rank R only; before "hello" the rank
// is PROBE_RANK. See kSteps for the words.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/futex.h"
#include "base/host_facts.h"
#include "tests/launcher/bootstrap_client.h"

namespace {

using acp::protocol::BootstrapType;
using acp::protocol::Phase;
using probe::BootstrapClient;

struct Context {
  BootstrapClient client;
  sigset_t awaited{};
};

[[noreturn]] void pause_for_ever() {
  for (;;)
    ::pause();
}

void say(std::string_view text) {
  std::string line(text);
  line += '\n';
  [[maybe_unused]] const ssize_t n =
      ::write(STDOUT_FILENO, line.data(), line.size());
}

/// An orphan with a session of its own, which two forks make.
void start_orphan() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() == 0) {
      // With SIGTERM ignored it takes SIGKILL to end it.
      std::signal(SIGTERM, SIG_IGN);
      pause_for_ever();
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

void write_lines(Context& context, int count) {
  for (int i = 0; i < count; ++i) {
    std::printf("rank %u line %d of some length %.*s.\n", context.client.rank(),
                i, i % 40, "........................................");
  }
  std::fflush(stdout);
}

void copy_input() {
  std::array<char, 65536> buffer{};
  ssize_t n = 0;
  while ((n = ::read(STDIN_FILENO, buffer.data(), buffer.size())) > 0) {
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = ::write(STDOUT_FILENO, buffer.data() + done,
                                      static_cast<std::size_t>(n - done));
      if (written < 0) probe::die("write failed");
      done += written;
    }
  }
}

void show_descriptors() {
  std::string list = "fds";
  for (int fd = 0; fd < 256; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) list += " " + std::to_string(fd);
  }
  say(list);
}

void show_cpus() {
  const acp::CpuMask cpus = acp::allowed_cpus();
  std::string list;
  for (unsigned cpu = 0; cpu < acp::CpuMask::kMaxCpus; ++cpu) {
    if (cpus.has(cpu)) list += " " + std::to_string(cpu);
  }
  say("cpus" + list);
}

void show_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  say(name + "=" + (value == nullptr ? "(unset)" : value));
}

/// Signals named in the argument wait for "await".
void block_signal(Context& context, int signal) {
  sigaddset(&context.awaited, signal);
  ::sigprocmask(SIG_BLOCK, &context.awaited, nullptr);
}

void await_signal(Context& context) {
  int signal = 0;
  ::sigwait(&context.awaited, &signal);
  say("got " + std::to_string(signal));
}

/// Begins to wait as the library would, where acprun's summary and its watchdog
/// can see it.
acp::protocol::ProcRecord& begin_wait(Context& context, int kind) {
  auto& record = context.client.segment().record(context.client.slot());
  record.wait_thread.store(static_cast<std::uint32_t>(::getpid()));
  record.wait_kind.store(static_cast<std::uint32_t>(kind));
  return record;
}

/// Sleeps, and looks a few times a second, until the job ends.
void wait_in_record(Context& context, int kind) {
  auto& segment = context.client.segment();
  auto& record = begin_wait(context, kind);
  say("ready");
  auto& doorbell = segment.slice_header(context.client.slot()).doorbell;
  while (segment.header().job_state.load() == 0) {
    acp::futex_wait(doorbell, 0, std::chrono::milliseconds(50));
    record.passes.fetch_add(1);
  }
  say("woken");
  ::_exit(0);
}

/// A wait of `looks` times 50 ms for data that arrive piece by piece.
void receive_in_record(Context& context, int looks) {
  auto& record = begin_wait(context, 2);
  auto& doorbell =
      context.client.segment().slice_header(context.client.slot()).doorbell;
  for (int i = 0; i < looks; ++i) {
    acp::futex_wait(doorbell, doorbell.load(), std::chrono::milliseconds(50));
    record.passes.fetch_add(1);
    record.arrivals.fetch_add(1);
  }
  record.wait_kind.store(0);
}

/// Each rank writes 1 into the first byte of its address card before it
/// arrives.
void count_cards(Context& context) {
  const auto& segment = context.client.segment();
  std::uint32_t cards = 0;
  for (std::uint32_t proc = 0; proc < segment.header().procs; ++proc) {
    cards += segment.card(proc)[0] == std::byte{1} ? 1 : 0;
  }
  say("cards of " + std::to_string(cards));
}

/// Asks acprun for the address card of a rank on another host.
void fetch_card(Context& context, std::uint32_t wanted) {
  const std::span<const std::byte> card = context.client.fetch_card(wanted);
  const bool is_right = !card.empty() && card[0] == std::byte{1};
  say((is_right ? "card of " : "no card of ") + std::to_string(wanted));
}

using Step = void (*)(Context&, const std::string&);

const std::map<std::string_view, Step> kSteps = {
    {"hello",
     [](Context& c, const std::string&) {
       c.client.join();
     }},
    {"init",
     [](Context& c, const std::string&) {
       c.client.meet(Phase::kInit);
     }},
    {"cards",
     [](Context& c, const std::string&) {
       count_cards(c);
     }},
    {"fetch",
     [](Context& c, const std::string& rank) {
       fetch_card(c, static_cast<std::uint32_t>(std::stoi(rank)));
     }},
    {"touch",
     [](Context&, const std::string& path) {
       const acp::UniqueFd file(
           ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
       if (!file) probe::die("cannot make the file");
     }},
    {"collective",
     [](Context& c, const std::string&) {
       c.client.meet(Phase::kCollective);
     }},
    {"finalize",
     [](Context& c, const std::string&) {
       c.client.meet(Phase::kFinalize);
     }},
    {"finalized",
     [](Context& c, const std::string&) {
       c.client.send(BootstrapType::kFinalized, 0);
     }},
    {"abort",
     [](Context& c, const std::string& text) {
       c.client.send(BootstrapType::kAbort, 0, text);
     }},
    {"garbage",
     [](Context& c, const std::string&) {
       c.client.send_garbage();
     }},
    {"exit",
     [](Context&, const std::string& n) {
       std::_Exit(std::stoi(n));
     }},
    {"raise",
     [](Context&, const std::string& n) {
       // A sanitizer may have put its own handler there.
       std::signal(std::stoi(n), SIG_DFL);
       ::raise(std::stoi(n));
     }},
    {"pause",
     [](Context&, const std::string&) {
       pause_for_ever();
     }},
    {"deaf",
     [](Context&, const std::string&) {
       std::signal(SIGTERM, SIG_IGN);
     }},
    {"orphan",
     [](Context&, const std::string&) {
       start_orphan();
     }},
    {"say",
     [](Context&, const std::string& text) {
       say(text);
     }},
    {"warn",
     [](Context&, const std::string& text) {
       std::fprintf(stderr, "%s\n", text.c_str());
     }},
    {"partial",
     [](Context&, const std::string& text) {
       [[maybe_unused]] const ssize_t n =
           ::write(STDOUT_FILENO, text.data(), text.size());
     }},
    {"lines",
     [](Context& c, const std::string& n) {
       write_lines(c, std::stoi(n));
     }},
    {"cat",
     [](Context&, const std::string&) {
       copy_input();
     }},
    {"fds",
     [](Context&, const std::string&) {
       show_descriptors();
     }},
    {"cpus",
     [](Context&, const std::string&) {
       show_cpus();
     }},
    {"cwd",
     [](Context&, const std::string&) {
       say(std::filesystem::current_path().string());
     }},
    {"env",
     [](Context&, const std::string& name) {
       show_variable(name);
     }},
    {"block",
     [](Context& c, const std::string& n) {
       block_signal(c, std::stoi(n));
     }},
    {"await",
     [](Context& c, const std::string&) {
       await_signal(c);
     }},
    {"wait",
     [](Context& c, const std::string& kind) {
       wait_in_record(c, std::stoi(kind));
     }},
    {"receive",
     [](Context& c, const std::string& looks) {
       receive_in_record(c, std::stoi(looks));
     }},
    {"renumber",
     [](Context& c, const std::string& rank) {
       c.client.segment()
           .record(c.client.slot())
           .rank.store(static_cast<std::uint32_t>(std::stoi(rank)));
     }},
};

std::uint32_t known_rank(const Context& context) {
  if (context.client.rank() != UINT32_MAX) return context.client.rank();
  const char* given = std::getenv("PROBE_RANK");
  return given == nullptr ? UINT32_MAX
                          : static_cast<std::uint32_t>(std::stoi(given));
}

void run_step(Context& context, std::string_view word) {
  constexpr std::string_view kOnly = "only:";
  if (word.starts_with(kOnly)) {
    word.remove_prefix(kOnly.size());
    const std::size_t colon = word.find(':');
    if (known_rank(context) != static_cast<std::uint32_t>(std::stoi(
                                   std::string(word.substr(0, colon))))) {
      return;
    }
    word.remove_prefix(colon + 1);
  }
  const std::size_t colon = std::min(word.find(':'), word.size());
  const auto step = kSteps.find(word.substr(0, colon));
  if (step == kSteps.end()) probe::die("unknown step");
  step->second(context,
               std::string(word.substr(std::min(colon + 1, word.size()))));
}

}  // namespace

int main(int argc, char** argv) {
  Context context;
  sigemptyset(&context.awaited);
  for (int i = 1; i < argc; ++i) {
    run_step(context, argv[i]);
  }
  return 0;
}
