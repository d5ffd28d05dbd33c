// SPMD test programs: runs the cases, watches time. spmd_main.cc has main().
#include "support/spmd.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/seeds.h"
#include "support/spmd_memory.h"

namespace spmd {

namespace {

std::vector<const Case*>& cases() {
  static std::vector<const Case*> all;
  return all;
}

const Case* g_current = nullptr;

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return hash;
}

std::uint64_t case_seed(std::uint64_t salt) {
  return hash_of(g_current != nullptr ? g_current->id : "") + salt * 7919U +
         acp::test::chosen_seed() * 0x9e3779b97f4a7c15U;
}

/// Calls only async-signal-safe functions: the case hangs, perhaps inside of
/// malloc or stdio.
void on_alarm(int /*signal*/) {
  static constexpr char kText[] = "watchdog: case did not end in time: ";
  [[maybe_unused]] ssize_t n = write(STDERR_FILENO, kText, sizeof kText - 1);
  const char* id = g_current != nullptr ? g_current->id : "(start or end)";
  n = write(STDERR_FILENO, id, std::strlen(id));
  n = write(STDERR_FILENO, "\n", 1);
  _exit(99);
}

/// Grows with the scale: at full scale 50 GB through a channel take minutes.
unsigned case_seconds() {
  return kCaseSeconds + static_cast<unsigned>(3 * kCaseSeconds * scale());
}

bool is_chosen(const Case& test, int argc, char** argv) {
  return argc < 2 || std::any_of(argv + 1, argv + argc, [&](const char* word) {
           return std::string_view(word) == test.id;
         });
}

void run_case(const Case& test) {
  g_current = &test;
  alarm(case_seconds());
  EXPECT_EQ(acp_sync(), 0);
  acp_errno = 0;
  const auto start = std::chrono::steady_clock::now();
  test.run();
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, kPatience), 0);
  EXPECT_EQ(acp_sync(), 0);
  if (acp_rank() == 0) {
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    std::printf("ok %-32s %6lld ms  %s\n", test.id,
                static_cast<long long>(spent.count()), test.text);
    std::fflush(stdout);
  }
  g_current = nullptr;
}

}  // namespace

void watch_time() {
  struct sigaction action {};

  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  alarm(case_seconds());
}

bool list_cases(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--list") {
    return false;
  }
  for (const Case* test : cases()) {
    std::printf("%-32s %s\n", test->id, test->text);
  }
  return true;
}

int run_chosen(int argc, char** argv) {
  std::size_t count = 0;
  for (const Case* test : cases()) {
    if (is_chosen(*test, argc, argv)) {
      run_case(*test);
      ++count;
    }
  }
  if (count == 0) {
    fail("no case of that name; --list names them");
  }
  return 0;
}

Case::Case(const char* case_id, const char* case_text, void (*function)())
    : id(case_id), text(case_text), run(function) {
  cases().push_back(this);
}

double scale() {
  static const double value = [] {
    const char* text = std::getenv("ACP_TEST_SCALE");
    return text != nullptr ? std::strtod(text, nullptr) : 0.1;
  }();
  return value;
}

std::size_t scaled(std::size_t full, std::size_t least) {
  const auto size =
      static_cast<std::size_t>(static_cast<double>(full) * scale());
  return std::clamp(size, std::min(least, full), full);
}

std::size_t scaled_flights(std::size_t full) {
  const char* net = std::getenv("ACP_NET");
  const auto ranks = static_cast<std::size_t>(acp_procs());
  const bool is_udp = net != nullptr && std::string_view(net) == "udp";
  if (is_udp && ranks > (scale() < 1 ? 2 : 4)) {
    full = full * 2 / ranks;
  }
  const bool is_lossy = std::getenv("ACP_UDP_FAULTS") != nullptr;
  return scaled(is_lossy ? std::min<std::size_t>(full / 10, 2'000) : full);
}

std::mt19937_64 random_of_rank(std::uint64_t salt) {
  return std::mt19937_64(case_seed(salt) +
                         104729U * static_cast<std::uint64_t>(acp_rank() + 1));
}

std::mt19937_64 random_of_job(std::uint64_t salt) {
  return std::mt19937_64(case_seed(salt));
}

void fail(const std::string& text, SourceLine where) {
  std::ostringstream out;
  out << "rank " << acp_rank() << " of " << acp_procs() << ", case "
      << (g_current != nullptr ? g_current->id : "(none)") << ", " << where.file
      << ':' << where.number << ": " << text << " (acp_errno " << acp_errno
      << ")\n";
  std::fputs(out.str().c_str(), stderr);
  std::fflush(stderr);
  acp_abort("a check of the test failed");
  std::abort();  // acp_abort does not return.
}

void note_skip(std::string_view why) {
  if (acp_rank() == 0) {
    std::printf("-- %s: %.*s\n", g_current->id, static_cast<int>(why.size()),
                why.data());
  }
}

void expect_rejected(acp_handle_t handle,
                     int code,
                     const char* text,
                     SourceLine where) {
  if (handle != ACP_HANDLE_NULL) {
    expect_equal(acpx_complete_timeout(handle, kPatience), -1, text, where);
  }
  expect_equal(int{acp_errno}, code, text, where);
  acp_errno = 0;
}

}  // namespace spmd
