// Tests of acpx_pointer, acpx_announce_memory, acpx_atomics_agree, progress
// steps and texts.
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "support/spmd.h"
#include "support/spmd_memory.h"

using spmd::Block;
using spmd::kMemories;
using spmd::Memory;
using Clock = std::chrono::steady_clock;

namespace {

/// Observations of a progress step. One step at a time writes them.
struct Steps {
  std::atomic<std::uint64_t> runs{0};
  std::atomic<int> inside{0};
  std::atomic<bool> has_overlapped{false};
  /// The step removes itself in the next run.
  std::atomic<bool> is_last{false};
  std::atomic<bool> is_removed{false};
  std::atomic<int> result{0};
};

thread_local bool t_is_issuing = false;
std::atomic<bool> g_ran_while_issuing{false};

int count_step(void* arg) {
  auto& steps = *static_cast<Steps*>(arg);
  if (steps.inside.fetch_add(1) != 0) steps.has_overlapped.store(true);
  if (t_is_issuing) g_ran_while_issuing.store(true);
  steps.runs.fetch_add(1);
  if (steps.is_last.load()) {
    EXPECT_EQ(acpx_remove_progress(count_step, arg), 0);
    steps.is_removed.store(true);
  }
  steps.inside.fetch_sub(1);
  return steps.result;
}

/// A step that takes a lock of the program.
struct LockingStep {
  std::mutex mutex;
  /// Operations are issued with the lock held.
  std::atomic<std::thread::id> issuer{};
  std::atomic<bool> is_taken{false};  ///< The step takes the lock.
};

int take_lock(void* arg) {
  auto& step = *static_cast<LockingStep*>(arg);
  // This thread has the lock, so waiting for it would never end.
  EXPECT(step.issuer.load() != std::this_thread::get_id());
  if (step.is_taken.load()) {
    const std::lock_guard lock(step.mutex);
  }
  return 0;
}

int has_run_ten_times(void* arg) {
  return static_cast<Steps*>(arg)->runs.load() >= 10;
}

/// Polls `condition` without a call of the library, up to a time limit.
template <typename Condition>
bool comes_true_by_itself(Condition condition) {
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (Clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

bool runs_by_itself(const Steps& steps, std::uint64_t runs) {
  return comes_true_by_itself([&] { return steps.runs.load() >= runs; });
}

/// A step that issues as many operations as the window takes, as channels do.
struct Issuer {
  const Block* block;
  int peer;
  std::size_t wanted;
  std::atomic<std::size_t> issued{0};
  std::atomic<std::size_t> refused{0};
};

int issue_step(void* arg) {
  auto& issuer = *static_cast<Issuer*>(arg);
  const std::size_t before = issuer.issued.load();
  while (issuer.issued.load() < issuer.wanted) {
    acp_errno = 0;
    const acp_handle_t handle =
        acp_add8(issuer.block->mine(64), issuer.block->at(issuer.peer), 1,
                 ACP_HANDLE_NULL);
    if (handle == ACP_HANDLE_NULL) {
      EXPECT_EQ(acp_errno, int{ACPX_AGAIN});
      acp_errno = 0;
      issuer.refused.fetch_add(1);
      break;
    }
    issuer.issued.fetch_add(1);
  }
  return issuer.issued.load() != before;
}

int has_issued_all(void* arg) {
  const auto& issuer = *static_cast<Issuer*>(arg);
  return issuer.issued.load() == issuer.wanted;
}

}  // namespace

SPMD_CASE(acpx_strerror_texts, "acpx_strerror: a text for every number") {
  for (int code = -3; code < 40; ++code) {
    EXPECT(acpx_strerror(code) != nullptr);
    EXPECT(std::strlen(acpx_strerror(code)) > 0);
  }
  for (int a = ACPX_OK; a <= ACPX_CLOSED; ++a) {
    for (int b = ACPX_OK; b < a; ++b) {
      EXPECT(std::strcmp(acpx_strerror(a), acpx_strerror(b)) != 0);
    }
  }
}

SPMD_CASE(acpx_version_text, "acpx_version: numbers and points") {
  const std::string_view version = acpx_version();
  EXPECT(!version.empty());
  EXPECT(version.find_first_not_of("0123456789.") == std::string_view::npos);
}

SPMD_CASE(acpx_pointer_reaches,
          "acpx_pointer: loads and stores of library memory on this host") {
  const Block library(Memory::kLibrary, 128);
  const Block heap(Memory::kRegistered, 128);
  EXPECT_EQ(acpx_pointer(library.mine(8)), library.data() + 8);
  EXPECT_EQ(acpx_pointer(heap.mine(8)), heap.data() + 8);
  const int right = spmd::right_of(acp_rank());
  void* pointer = acpx_pointer(library.at(right, 8));
  const int rank = acp_rank();
  if (pointer != nullptr) {
    std::atomic_ref(*static_cast<std::uint64_t*>(pointer))
        .store(static_cast<std::uint64_t>(rank) + 1);
  } else {
    EXPECT_EQ(acp_errno, int{ACPX_UNSUPPORTED});
    acp_errno = 0;
  }
  // The neighbour that stores here may be on another host than the right one.
  const int left = (rank + acp_procs() - 1) % acp_procs();
  const auto has_stored = spmd::gather(pointer != nullptr);
  const auto stored = static_cast<std::uint64_t>(left) + 1;
  EXPECT_EQ(library.word(1).load(),
            has_stored[static_cast<std::size_t>(left)] ? stored : 0U);
  if (acp_procs() > 1) {
    EXPECT_FAILS(acpx_pointer(heap.at(right)), nullptr, ACPX_UNSUPPORTED);
  }
  EXPECT_FAILS(acpx_pointer(ACP_GA_NULL), nullptr, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acpx_pointer(acp_ga_t{1}), nullptr, ACPX_BAD_RANK);
  EXPECT_FAILS(acpx_pointer(heap.mine(128)), nullptr, ACPX_BAD_ADDRESS);
}

// Each rank links its block to the right neighbour's by a plain pointer. Where
// pointers agree, a reader on the left follows the pointer that it finds there.
SPMD_CASE(acpx_pointers_agree_links,
          "acpx_pointers_agree: ranks of a host follow each other's pointers") {
  EXPECT_FAILS(acpx_pointers_agree(-1), -1, ACPX_BAD_RANK);
  EXPECT_FAILS(acpx_pointers_agree(acp_procs()), -1, ACPX_BAD_RANK);
  EXPECT_EQ(acpx_pointers_agree(acp_rank()), 1);
  const Block block(Memory::kLibrary, 128);
  block.word(0).store(reinterpret_cast<std::uintptr_t>(block.data() + 8));
  block.word(1).store(1'000 + static_cast<std::uint64_t>(acp_rank()));
  EXPECT_EQ(acp_sync(), 0);
  for (int rank = 0; rank < acp_procs(); ++rank) {
    auto* theirs = static_cast<std::uint64_t*>(acpx_pointer(block.at(rank)));
    acp_errno = 0;
    EXPECT_EQ(acpx_pointers_agree(rank), theirs != nullptr ? 1 : 0);
    if (theirs == nullptr) continue;
    const auto* link = reinterpret_cast<const std::uint64_t*>(*theirs);
    EXPECT_EQ(link, theirs + 1);
    EXPECT_EQ(*link, 1'000 + static_cast<std::uint64_t>(rank));
  }
  EXPECT_EQ(acp_sync(), 0);
}

// Announces to the right neighbour, twice, and to the rank itself. A copy over
// the announced bytes then proves that the hint changes no result.
SPMD_CASE(acpx_announce_memory_tells,
          "acpx_announce_memory: a hint to any rank, and its errors") {
  const int right = spmd::right_of(acp_rank());
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  for (const Memory memory : kMemories) {
    const Block block(memory, 128);
    block.word(1).store(static_cast<std::uint64_t>(acp_rank()));
    EXPECT_EQ(acpx_announce_memory(block.mine(8), 8, right), 0);
    EXPECT_EQ(acpx_announce_memory(block.mine(8), 8, right), 0);
    EXPECT_EQ(acpx_announce_memory(block.mine(), 128, acp_rank()), 0);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_DONE(
        acp_copy(block.mine(16), block.at(left, 8), 8, ACP_HANDLE_NULL));
    EXPECT_EQ(block.word(2).load(), static_cast<std::uint64_t>(left));
    EXPECT_EQ(acp_sync(), 0);
  }
  const Block heap(Memory::kRegistered, 128);
  EXPECT_FAILS(acpx_announce_memory(heap.mine(), 8, acp_procs()), -1,
               ACPX_BAD_RANK);
  EXPECT_FAILS(acpx_announce_memory(heap.mine(), 8, -1), -1, ACPX_BAD_RANK);
  EXPECT_FAILS(acpx_announce_memory(heap.mine(), 129, 0), -1, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acpx_announce_memory(ACP_GA_NULL, 8, 0), -1, ACPX_BAD_ADDRESS);
  if (acp_procs() > 1) {
    EXPECT_FAILS(acpx_announce_memory(heap.at(right), 8, 0), -1, ACPX_BAD_RANK);
  }
}

// Where the answer is 1, the owner counts with CPU atomics and all other ranks
// with the library's, and no count may be lost.
SPMD_CASE(acpx_atomics_agree_answers,
          "acpx_atomics_agree: one answer for all; then both kinds mix") {
  EXPECT_FAILS(acpx_atomics_agree(-1), -1, ACPX_BAD_RANK);
  EXPECT_FAILS(acpx_atomics_agree(acp_procs()), -1, ACPX_BAD_RANK);
  const int answer = acpx_atomics_agree(0);
  EXPECT(answer == 0 || answer == 1);
  for (const std::uint64_t other :
       spmd::gather(static_cast<std::uint64_t>(answer))) {
    EXPECT_EQ(other, static_cast<std::uint64_t>(answer));
  }
  if (answer == 0) return;
  for (const Memory memory : kMemories) {
    const Block block(memory, 128);
    const std::size_t count = spmd::scaled(50'000, 2'000);
    for (std::size_t i = 0; i < count; ++i) {
      if (acp_rank() == 0) {
        block.word(0).fetch_add(1);
      } else {
        EXPECT(acp_add8(block.mine(64), block.at(0), 1, ACP_HANDLE_NULL) !=
               ACP_HANDLE_NULL);
        if (i % 64 == 63) acp_complete(ACP_HANDLE_ALL);
      }
    }
    acp_complete(ACP_HANDLE_ALL);
    EXPECT_EQ(acp_sync(), 0);
    if (acp_rank() == 0) {
      EXPECT_EQ(block.word(0).load(),
                count * static_cast<std::uint64_t>(acp_procs()));
    }
    EXPECT_EQ(acp_sync(), 0);
  }
}

SPMD_CASE(acpx_add_progress_bad,
          "acpx_add_progress, acpx_remove_progress: NULL, twice, not there") {
  Steps steps;
  EXPECT_FAILS(acpx_add_progress(nullptr, nullptr), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_remove_progress(count_step, &steps), -1,
               ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(acpx_add_progress(count_step, &steps), 0);
  EXPECT_FAILS(acpx_add_progress(count_step, &steps), -1,
               ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(acpx_remove_progress(count_step, &steps), 0);
  EXPECT_FAILS(acpx_remove_progress(count_step, &steps), -1,
               ACPX_INVALID_ARGUMENT);
}

// The first step says that it has moved something, and the second does not, but
// both have to run. After the removal of the first, 50 more passes must not run
// it.
SPMD_CASE(progress_while_waiting,
          "progress steps: run while the program waits, one at a time") {
  Steps one;
  Steps two;
  one.result = 1;
  EXPECT_EQ(acpx_add_progress(count_step, &one), 0);
  EXPECT_EQ(acpx_add_progress(count_step, &two), 0);
  EXPECT_EQ(acpx_wait_until(has_run_ten_times, &one, spmd::kPatience), 0);
  EXPECT_EQ(acpx_wait_until(has_run_ten_times, &two, spmd::kPatience), 0);
  EXPECT_EQ(acpx_remove_progress(count_step, &one), 0);
  EXPECT_EQ(one.inside.load(), 0);
  const std::uint64_t runs = one.runs.load();
  const std::uint64_t two_before = two.runs.load();
  std::uint64_t calls = 0;
  EXPECT_EQ(
      acpx_wait_until(
          [](void* arg) {
            return static_cast<int>(++*static_cast<std::uint64_t*>(arg) > 50);
          },
          &calls, spmd::kPatience),
      0);
  EXPECT_EQ(one.runs.load(), runs);
  EXPECT(two.runs.load() > two_before);
  EXPECT_EQ(acpx_remove_progress(count_step, &two), 0);
  EXPECT(!one.has_overlapped.load());
  EXPECT(!two.has_overlapped.load());
}

SPMD_CASE(progress_while_computing,
          "progress steps: run while the program does not call the library") {
  Steps steps;
  steps.result = 1;
  EXPECT_EQ(acpx_add_progress(count_step, &steps), 0);
  EXPECT(runs_by_itself(steps, 100));
  steps.result = 0;
  EXPECT_EQ(acpx_remove_progress(count_step, &steps), 0);
  const std::uint64_t runs = steps.runs.load();
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(steps.runs.load(), runs);
}

SPMD_CASE(acpx_hurry_progress_runs,
          "acpx_hurry_progress: steps run although nothing arrives") {
  Steps steps;
  EXPECT_EQ(acpx_add_progress(count_step, &steps), 0);
  for (std::size_t round = spmd::scaled(100'000); round > 0; --round) {
    const std::uint64_t runs = steps.runs.load();
    acpx_hurry_progress();
    EXPECT(runs_by_itself(steps, runs + 1));
  }
  EXPECT_EQ(acpx_remove_progress(count_step, &steps), 0);
}

SPMD_CASE(progress_comes_and_goes,
          "progress steps: one that comes while the thread looks is run") {
  for (std::size_t round = spmd::scaled(100'000); round > 0; --round) {
    Steps steps;
    EXPECT_EQ(acpx_add_progress(count_step, &steps), 0);
    EXPECT(runs_by_itself(steps, 1));
    EXPECT_EQ(acpx_remove_progress(count_step, &steps), 0);
  }
}

namespace {

/// Answers each signal of the partner with a signal, a chain or a put of no
/// bytes, and counts.
struct Ball {
  std::atomic<std::uint64_t>* mine = nullptr;
  acp_ga_t theirs = ACP_GA_NULL;
  std::atomic<std::uint64_t> rounds{0};

  void hit() const {
    const acpx_op_t op = {ACPX_ADD8, ACPX_SIGNAL, theirs, 0, 0, 1, 0};
    const acp_handle_t handle =
        rounds.load() % 2 == 0 ? acpx_post(&op, 1, ACP_HANDLE_NULL)
                               : acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                                                 theirs, 1, ACP_HANDLE_NULL);
    EXPECT(handle != ACP_HANDLE_NULL);
  }

  static int step(void* arg) {
    auto& ball = *static_cast<Ball*>(arg);
    if (ball.mine->load() <= ball.rounds.load()) return 0;
    ball.rounds.fetch_add(1);
    ball.hit();
    return 1;
  }
};

}  // namespace

SPMD_CASE(progress_loses_no_signal,
          "acpx_add_progress: no signal is lost while programs compute") {
  SPMD_NEEDS_RANKS(2);
  const Block block(Memory::kLibrary, 64);
  const std::uint64_t rounds = spmd::scaled(200'000);
  Ball ball;
  const bool plays = acp_rank() < 2;
  ball.mine = reinterpret_cast<std::atomic<std::uint64_t>*>(block.data());
  ball.theirs = block.at(1 - acp_rank() % 2);
  if (plays) {
    EXPECT_EQ(acpx_add_progress(Ball::step, &ball), 0);
  }
  acp_sync();
  if (acp_rank() == 0) ball.hit();
  if (plays) {
    // This makes no call of the library: a lost signal would stop the game.
    EXPECT(comes_true_by_itself([&] { return ball.rounds.load() >= rounds; }));
  }
  acp_sync();
  if (plays) {
    EXPECT_EQ(acpx_remove_progress(Ball::step, &ball), 0);
  }
  acp_complete(ACP_HANDLE_ALL);
  acp_sync();
}

SPMD_CASE(progress_removes_itself,
          "acpx_remove_progress: a step may remove itself") {
  Steps steps;
  steps.result = 1;
  EXPECT_EQ(acpx_add_progress(count_step, &steps), 0);
  EXPECT(runs_by_itself(steps, 5));
  steps.is_last.store(true);
  EXPECT(comes_true_by_itself([&] { return steps.is_removed.load(); }));
  EXPECT_FAILS(acpx_remove_progress(count_step, &steps), -1,
               ACPX_INVALID_ARGUMENT);
}

SPMD_CASE(progress_not_by_issuing,
          "progress steps: issuing an operation never runs one") {
  const Block block(Memory::kRegistered, 128);
  Steps steps;
  steps.result = 1;
  EXPECT_EQ(acpx_add_progress(count_step, &steps), 0);
  const int right = spmd::right_of(acp_rank());
  // Few enough to fit the window: a full one makes progress.
  for (int i = 0; i < 100; ++i) {
    t_is_issuing = true;
    const acp_handle_t handle =
        acp_add8(block.mine(64), block.at(right), 1, ACP_HANDLE_NULL);
    t_is_issuing = false;
    EXPECT(handle != ACP_HANDLE_NULL);
    if (i % 10 == 9) acp_complete(handle);
  }
  EXPECT_EQ(acpx_remove_progress(count_step, &steps), 0);
  EXPECT(!g_ran_while_issuing.load());
}

SPMD_CASE(issuing_holds_a_lock,
          "progress steps: none runs in a call that waits for a full window") {
  LockingStep step;
  const Block block(Memory::kLibrary, 256);
  const int right = spmd::right_of(acp_rank());
  EXPECT_EQ(acpx_add_progress(take_lock, &step), 0);
  // First the step only looks which thread it runs in. Then it takes the lock,
  // and the library's own thread is blocked in it as well.
  for (const bool is_taken : {false, true}) {
    const std::lock_guard lock(step.mutex);
    step.is_taken.store(is_taken);
    step.issuer.store(std::this_thread::get_id());
    // Several windows of 4,096 operations. No transport sends as fast as this
    // loop issues them.
    for (int i = 0; i < 20'000; ++i) {
      EXPECT(acp_copy(block.at(right, 64), block.mine(), 64, ACP_HANDLE_NULL) !=
             ACP_HANDLE_NULL);
    }
    step.issuer.store(std::thread::id());
  }
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
  EXPECT_EQ(acpx_remove_progress(take_lock, &step), 0);
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(progress_issues,
          "progress steps: a step issues; a full window is ACPX_AGAIN") {
  for (const Memory memory : kMemories) {
    const Block block(memory, 128);
    Issuer issuer{.block = &block,
                  .peer = spmd::right_of(acp_rank()),
                  .wanted = spmd::scaled(50'000, 10'000)};
    EXPECT_EQ(acpx_add_progress(issue_step, &issuer), 0);
    EXPECT_EQ(acpx_wait_until(has_issued_all, &issuer, spmd::kPatience), 0);
    EXPECT_EQ(acpx_remove_progress(issue_step, &issuer), 0);
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(block.word(0).load(), issuer.wanted);
  }
}

SPMD_CASE(progress_with_threads,
          "progress steps: two threads wait, steps stay one at a time") {
  Steps one;
  Steps two;
  one.result = 1;
  two.result = 1;
  EXPECT_EQ(acpx_add_progress(count_step, &one), 0);
  EXPECT_EQ(acpx_add_progress(count_step, &two), 0);
  std::thread other([&] {
    EXPECT_EQ(acpx_wait_until(has_run_ten_times, &two, spmd::kPatience), 0);
  });
  EXPECT_EQ(acpx_wait_until(has_run_ten_times, &one, spmd::kPatience), 0);
  other.join();
  EXPECT_EQ(acpx_remove_progress(count_step, &two), 0);
  EXPECT_EQ(acpx_remove_progress(count_step, &one), 0);
  EXPECT(!one.has_overlapped.load());
  EXPECT(!two.has_overlapped.load());
}

SPMD_CASE(acpx_count_names,
          "acpx_count: a name is needed, and a job that counts nothing has no "
          "use for it") {
  EXPECT_EQ(acpx_count("steps", 1), 0);
  EXPECT_EQ(acpx_count("steps", UINT64_MAX), 0);
  EXPECT_FAILS(acpx_count("", 1), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_count(nullptr, 1), -1, ACPX_INVALID_ARGUMENT);
}

SPMD_CASE(acpx_setting_values,
          "acpx_setting: numbers, choices by position, no texts") {
  std::uint64_t value = 7;
  EXPECT_EQ(acpx_setting("ACP_CH_BUFFER", &value), 0);
  EXPECT_EQ(value, 65536U);
  EXPECT_EQ(acpx_setting("ACP_MALLOC_DEBUG", &value), 0);
  EXPECT_EQ(value, 0U);
  value = 7;
  EXPECT_FAILS(acpx_setting("ACP_NO_SUCH", &value), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_setting("ACP_UDP_FAULTS", &value), -1, ACPX_UNSUPPORTED);
  EXPECT_FAILS(acpx_setting(nullptr, &value), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_setting("ACP_NET", nullptr), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(value, 7U);
}

SPMD_CASE(acpx_log_ignores, "acpx_log: hidden levels, no text") {
  acpx_log(ACPX_LOG_TRACE, "not shown by default");
  acpx_log(ACPX_LOG_ERROR, nullptr);
}
