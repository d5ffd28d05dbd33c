// Tests of every function before acp_init and after acp_finalize, and of the
// arguments of acp_init. Has a main() of its own: `lifecycle MODE [words]`.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "acp.h"
#include "acp/extension.h"
#include "conformance/expect.h"
#include "support/stderr_capture.h"

namespace {

std::size_t g_calls_that_fail = 0;

#define EXPECT_FAILS(call, failure)      \
  do {                                   \
    ++g_calls_that_fail;                 \
    EXPECT_FAILURE(call, failure, code); \
  } while (false)

int nothing(void*) {
  return 1;
}

void expect_infrastructure_fails(int code) {
  EXPECT_FAILS(acp_finalize(), -1);
  EXPECT_FAILS(acp_procs(), -1);
  EXPECT_FAILS(acp_rank(), -1);
  EXPECT_FAILS(acp_sync(), -1);
  EXPECT_FAILS(acp_reset(0), -1);
}

void expect_memory_fails(int code) {
  static std::uint64_t word = 0;
  EXPECT_FAILS(acp_register_memory(&word, 8, 0), ACP_ATKEY_NULL);
  EXPECT_FAILS(acp_unregister_memory(1), -1);
  EXPECT_FAILS(acp_query_ga(1, &word), ACP_GA_NULL);
  EXPECT_FAILS(acp_colors(), -1);
  EXPECT_FAILS(acp_query_rank(1), -1);
  EXPECT_FAILS(acp_query_color(1), -1);
  EXPECT_FAILS(acp_query_address(1), nullptr);
  EXPECT_FAILS(acp_query_starter_ga(0), ACP_GA_NULL);
}

/// Calls each function of section 4.11 once. acp_complete returns nothing, so
/// only acp_errno can show its failure.
void expect_access_fails(int code) {
  constexpr acp_handle_t kNo = ACP_HANDLE_NULL;
  EXPECT_FAILS(acp_copy(8, 8, 8, kNo), kNo);
  EXPECT_FAILS(acp_add4(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_add8(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_cas4(8, 8, 1, 2, kNo), kNo);
  EXPECT_FAILS(acp_cas8(8, 8, 1, 2, kNo), kNo);
  EXPECT_FAILS(acp_and4(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_and8(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_or4(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_or8(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_xor4(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_xor8(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_swap4(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_swap8(8, 8, 1, kNo), kNo);
  EXPECT_FAILS(acp_inquire(ACP_HANDLE_ALL), 0);
  acp_errno = 0;
  ++g_calls_that_fail;
  acp_complete(ACP_HANDLE_ALL);
  EXPECT(acp_errno == code);
}

void expect_middle_layer_fails(int code) {
  EXPECT_FAILS(acp_create_ch(0, 0), ACP_CH_NULL);
  EXPECT_FAILS(acp_malloc(8, 0), ACP_GA_NULL);
  EXPECT_FAILS(acpx_trim_malloc(), -1);
  acp_errno = 0;
  ++g_calls_that_fail;
  acp_free(8);
  EXPECT(acp_errno == code);
}

void expect_extensions_fail(int code) {
  acpx_op_t op{};
  op.opcode = ACPX_ADD8;
  op.remote = 8;
  std::uint64_t value = 0;
  EXPECT_FAILS(acpx_post(&op, 1, ACP_HANDLE_NULL), ACP_HANDLE_NULL);
  acpx_flush();  // nothing, and no harm
  EXPECT_FAILS(acpx_put_signal(8, 8, 8, 8, 1, ACP_HANDLE_NULL),
               ACP_HANDLE_NULL);
  EXPECT_FAILS(acpx_complete_timeout(ACP_HANDLE_ALL, 0), -1);
  EXPECT_FAILS(acpx_wait_word(8, 0, 0, &value), -1);
  EXPECT_FAILS(acpx_wait_until(nothing, nullptr, 0), -1);
  EXPECT_FAILS(acpx_atomics_agree(0), -1);
  EXPECT_FAILS(acpx_pointer(8), nullptr);
  EXPECT_FAILS(acpx_pointers_agree(0), -1);
  EXPECT_FAILS(acpx_announce_memory(8, 8, 0), -1);
  EXPECT_FAILS(acpx_try_unregister_memory(8), -1);
  EXPECT_FAILS(acpx_publish("name", &value, 8), -1);
  EXPECT_FAILS(acpx_lookup("name", &value, 8, nullptr, -1), -1);
  EXPECT_FAILS(acpx_unpublish("name"), -1);
  EXPECT_FAILS(acpx_add_progress(nothing, nullptr), -1);
  EXPECT_FAILS(acpx_remove_progress(nothing, nullptr), -1);
  EXPECT_FAILS(acpx_module_ga(0, 0), ACP_GA_NULL);
  EXPECT_FAILS(acpx_setting("ACP_NET", &value), -1);
}

/// How log lines begin before acp_init, if the launcher has given a rank.
std::string name_before_init() {
  const char* rank = std::getenv("ACP_RANK");
  return rank == nullptr ? "" : "acp: rank " + std::string(rank) + " on ";
}

/// Every function fails with `code` and says so in one line.
void expect_all_fail(int code) {
  const int failures_before = g_failures;
  g_calls_that_fail = 0;
  spmd::StderrCapture capture;
  expect_infrastructure_fails(code);
  expect_memory_fails(code);
  expect_access_fails(code);
  expect_extensions_fail(code);
  expect_middle_layer_fails(code);
  const std::string text = capture.stop();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT(static_cast<std::size_t>(lines) == g_calls_that_fail);
  EXPECT(text.find("acp_sync") != std::string::npos);
  EXPECT(text.find("error: acp_create_ch: ") != std::string::npos);
  EXPECT(text.find(name_before_init()) != std::string::npos ||
         text.find("a child made by fork()") != std::string::npos);
  EXPECT(acpx_strerror(code) != nullptr);
  EXPECT(std::strlen(acpx_version()) > 0);
  if (g_failures != failures_before) {
    std::fputs(text.c_str(), stderr);
  }
}

/// Calls every function before acp_init and after acp_finalize. After
/// acp_finalize acp_init fails, too.
void run_outside(int argc, char** argv) {
  expect_all_fail(ACPX_NOT_INITIALIZED);
  EXPECT(acp_init(&argc, &argv) == 0);
  EXPECT(acp_rank() >= 0);
  EXPECT(acp_sync() == 0);
  EXPECT(acp_finalize() == 0);
  expect_all_fail(ACPX_FINALIZED);
  const int code = ACPX_FINALIZED;
  EXPECT_FAILS(acp_init(&argc, &argv), -1);
  acpx_module_t module{};
  module.name = "late";
  EXPECT_FAILS(acpx_add_module(&module), -1);
}

/// The library's words are removed from the command line, the program's stay,
/// also behind "--".
void run_options(int argc, char** argv) {
  EXPECT(argc == 7);
  EXPECT(acp_init(&argc, &argv) == 0);
  EXPECT(argc == 5);
  const char* expected[] = {"options", "first", "--", "--acp-mine"};
  for (int i = 1; i < argc && i < 5; ++i) {
    EXPECT(std::string_view(argv[i]) == expected[i - 1]);
  }
  EXPECT(argv[argc] == nullptr);
  // The starter memory got the size that the option said.
  const acp_ga_t starter = acp_query_starter_ga(acp_rank());
  auto* bytes = static_cast<char*>(acp_query_address(starter));
  const acp_handle_t handle =
      acp_copy(starter + 65'535, starter, 1, ACP_HANDLE_NULL);
  EXPECT(handle != ACP_HANDLE_NULL);
  acp_complete(handle);
  EXPECT(bytes != nullptr);
  EXPECT(acp_finalize() == 0);
}

/// One rank has another heap size than acprun laid the memory out for.
void run_differs(int argc, char** argv) {
  setenv("ACP_HEAP_SIZE", "12345678", 1);
  const int code = ACPX_BAD_OPTION;
  spmd::StderrCapture capture;
  EXPECT_FAILS(acp_init(&argc, &argv), -1);
  EXPECT(capture.stop().find("ACP_HEAP_SIZE") != std::string::npos);
}

/// The settings that a launcher and the command line gave.
void run_settings(int argc, char** argv) {
  EXPECT(acp_init(&argc, &argv) == 0);
  std::uint64_t bytes = 0;
  EXPECT(acpx_setting("ACP_HEAP_SIZE", &bytes) == 0);
  EXPECT(bytes == std::uint64_t{48} << 30);
  EXPECT(acp_finalize() == 0);
}

/// acp_init refuses; the process goes on alone.
void run_refused(int argc, char** argv) {
  const int code = ACPX_BAD_OPTION;
  EXPECT_FAILS(acp_init(&argc, &argv), -1);
  EXPECT(acp_rank() == -1);
}

/// How a child made by fork() ends.
enum class ChildEnd { kExit, kExitAtOnce, kFinalize, kAbort };

/// Runs in the child, which ends only in the way that was chosen.
[[noreturn]] void run_child(ChildEnd end, int argc, char** argv) {
  g_failures = 0;
  expect_all_fail(ACPX_NOT_INITIALIZED);
  const int code = ACPX_NOT_INITIALIZED;
  spmd::StderrCapture capture;
  EXPECT_FAILS(acp_init(&argc, &argv), -1);
  acpx_module_t module{};
  module.name = "of a child";
  EXPECT_FAILS(acpx_add_module(&module), -1);
  EXPECT_FAILS(acp_create_ch(0, 0), ACP_CH_NULL);
  EXPECT(capture.stop().find("a child made by fork() of rank ") !=
         std::string::npos);
  const int status = g_failures == 0 ? 0 : 3;
  if (end == ChildEnd::kExit) std::exit(status);
  if (end == ChildEnd::kFinalize) _exit(acp_finalize() == -1 ? status : 4);
  if (end == ChildEnd::kAbort) acp_abort("a child gives up");  // status 1
  _exit(status);
}

/// The child's wait status; it is killed when it does not end in time.
int wait_for_child(pid_t child) {
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int status = -1;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > limit) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return status;
    }
    std::this_thread::yield();
  }
  return status;
}

/// Keeps the library's locks taken most of the time.
void keep_busy(const std::atomic<bool>& is_over) {
  const int right = (acp_rank() + 1) % acp_procs();
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  char byte = 0;
  while (!is_over.load()) {
    acp_copy(acp_query_starter_ga(right) + 1024, mine + 2048, 64,
             ACP_HANDLE_NULL);
    acp_free(acp_malloc(64, right));
    (void)acp_query_ga(1, &byte);  // writes a line
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// Children are refused, and the parent's job goes on.
void run_forked(int argc, char** argv) {
  constexpr int kRounds = 5;
  EXPECT(acp_init(&argc, &argv) == 0);
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  auto* words = static_cast<std::uint64_t*>(acp_query_address(mine));
  std::atomic<bool> is_over{false};
  spmd::StderrCapture capture;
  std::thread busy([&] { keep_busy(is_over); });
  for (int round = 0; round < kRounds; ++round) {
    for (const ChildEnd end : {ChildEnd::kExit, ChildEnd::kExitAtOnce,
                               ChildEnd::kFinalize, ChildEnd::kAbort}) {
      const pid_t child = fork();
      if (child == 0) {
        run_child(end, argc, argv);
      }
      const int status = wait_for_child(child);
      EXPECT(WIFEXITED(status));
      EXPECT(WEXITSTATUS(status) == (end == ChildEnd::kAbort ? 1 : 0));
      acp_complete(
          acp_add8(mine + 8, acp_query_starter_ga(0), 1, ACP_HANDLE_NULL));
      EXPECT(acp_sync() == 0);
    }
  }
  is_over.store(true);
  busy.join();
  (void)capture.stop();
  EXPECT(acp_sync() == 0);
  EXPECT(acp_rank() != 0 ||
         words[0] == static_cast<std::uint64_t>(acp_procs()) * kRounds * 4);
  EXPECT(acp_finalize() == 0);
}

/// Runs acp_init without a command line.
void run_without_arguments() {
  EXPECT(acp_init(nullptr, nullptr) == 0);
  EXPECT(acp_finalize() == 0);
}

}  // namespace

/// One mode for each process, because a process can join a job only once.
int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "outside") {
    run_outside(argc, argv);
  } else if (mode == "options") {
    run_options(argc, argv);
  } else if (mode == "refused") {
    run_refused(argc, argv);
  } else if (mode == "differs") {
    run_differs(argc, argv);
  } else if (mode == "settings") {
    run_settings(argc, argv);
  } else if (mode == "forked") {
    run_forked(argc, argv);
  } else if (mode == "without") {
    run_without_arguments();
  } else {
    std::fprintf(stderr, "lifecycle: no mode '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
  }
  return g_failures == 0 ? 0 : 1;
}
