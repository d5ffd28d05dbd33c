// Gives the reserve back to the system, part by part, when an allocation fails.
// The library takes the reserve in acp_init. The handler runs in any thread,
// and may hold any lock of the library. It takes none but that of LogOutput.
#include "base/memory_reserve.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "base/log.h"

namespace acp {

namespace {

/// Small parts first: most allocations are small, and a part returns to the
/// heap. Parts of 128 KiB and more return to the system, as large ones need.
constexpr std::array<std::size_t, 22> kParts = {
    16 << 10, 16 << 10, 16 << 10,  16 << 10, 16 << 10, 16 << 10,
    16 << 10, 16 << 10, 16 << 10,  16 << 10, 16 << 10, 16 << 10,
    16 << 10, 16 << 10, 16 << 10,  16 << 10, 64 << 10, 64 << 10,
    64 << 10, 64 << 10, 256 << 10, 256 << 10};
/// The thread that ends the job gets this part.
constexpr std::size_t kLastPart = 64 << 10;

// Any thread takes a part by exchange() and puts one back by compare and swap.
// acq_rel: the partner is the other of the two.
// NOLINTBEGIN(*-global-*): a process has one memory
std::array<std::atomic<void*>, kParts.size()> g_parts;
std::atomic<void*> g_last_part;
/// Parts that are missing. Only a hint: zero may be seen late.
std::atomic<std::size_t> g_missing{0};
std::atomic<bool> g_is_taken{false};
std::atomic<bool> g_has_said_it{false};  ///< Since the reserve was full.
std::atomic<bool> g_is_ending{false};    ///< A thread runs the action.
std::atomic<NoMemoryAction> g_action{nullptr};
std::atomic<std::new_handler> g_before{nullptr};
thread_local constinit unsigned short t_must_not_fail = 0;
thread_local constinit unsigned short t_may_fail = 0;

// NOLINTEND(*-global-*)

bool give_part() noexcept {
  for (std::atomic<void*>& part : g_parts) {
    if (void* memory = part.exchange(nullptr, std::memory_order_acq_rel)) {
      g_missing.fetch_add(1, std::memory_order_relaxed);
      std::free(memory);
      return true;
    }
  }
  return false;
}

bool fill(std::atomic<void*>& part, std::size_t size) noexcept {
  if (part.load(std::memory_order_acquire) != nullptr) {
    return true;
  }
  void* memory = std::malloc(size);
  if (memory == nullptr) {
    return false;
  }
  void* expected = nullptr;
  if (part.compare_exchange_strong(expected, memory,
                                   std::memory_order_acq_rel)) {
    g_missing.fetch_sub(1, std::memory_order_relaxed);
  } else {
    std::free(memory);  // another thread was faster
  }
  return true;
}

/// The largest parts first, which are the hardest to get.
bool fill_all() noexcept {
  for (std::size_t i = kParts.size(); i > 0; --i) {
    if (!fill(g_parts[i - 1], kParts[i - 1])) {
      return false;
    }
  }
  g_has_said_it.store(false, std::memory_order_relaxed);
  return true;
}

/// Only one thread ends the job. Others that need memory meanwhile wait for the
/// end; when the ending thread itself finds none, nothing is left to try.
[[noreturn]] void end_job() noexcept {
  thread_local constinit bool is_mine = false;
  if (is_mine) {
    ::_exit(1);
  }
  if (g_is_ending.exchange(true, std::memory_order_relaxed)) {
    for (;;) {
      ::pause();
    }
  }
  is_mine = true;
  std::free(g_last_part.exchange(nullptr, std::memory_order_acq_rel));
  g_action.load(std::memory_order_relaxed)();
  ::_exit(1);
}

/// The handler of failed allocations. It returns when a new try is worth it.
void on_no_memory() {
  if (t_may_fail > 0) {
    throw std::bad_alloc();
  }
  if (give_part()) {
    return;
  }
  if (t_must_not_fail > 0) {
    end_job();
  }
  if (!g_has_said_it.exchange(true, std::memory_order_relaxed)) {
    log_last_words(
        "warning: no memory: an allocation of this process fails, and what "
        "ACP keeps in reserve is used up");
  }
  if (const std::new_handler before =
          g_before.load(std::memory_order_relaxed)) {
    before();
    return;
  }
  throw std::bad_alloc();
}

}  // namespace

bool take_memory_reserve(NoMemoryAction action) noexcept {
  g_missing.store(kParts.size(), std::memory_order_relaxed);
  g_last_part.store(std::malloc(kLastPart), std::memory_order_relaxed);
  g_is_taken.store(true, std::memory_order_relaxed);
  if (g_last_part.load(std::memory_order_relaxed) == nullptr || !fill_all()) {
    give_back_memory_reserve();
    return false;
  }
  g_action.store(action, std::memory_order_relaxed);
  g_before.store(std::set_new_handler(&on_no_memory),
                 std::memory_order_relaxed);
  return true;
}

/// A handler that the program has set meanwhile stays.
void give_back_memory_reserve() noexcept {
  if (std::get_new_handler() == &on_no_memory) {
    std::set_new_handler(g_before.load(std::memory_order_relaxed));
  }
  g_is_taken.store(false, std::memory_order_relaxed);
  while (give_part()) {
  }
  std::free(g_last_part.exchange(nullptr, std::memory_order_acq_rel));
  g_missing.store(0, std::memory_order_relaxed);
}

bool has_memory_reserve() noexcept {
  return __builtin_expect(g_missing.load(std::memory_order_relaxed) == 0, 1) ||
         t_must_not_fail > 0 || !g_is_taken.load(std::memory_order_relaxed) ||
         fill_all();
}

void MustNotFail::enter() noexcept {
  ++t_must_not_fail;
}

void MustNotFail::leave() noexcept {
  --t_must_not_fail;
}

MayFail::MayFail() noexcept {
  ++t_may_fail;
}

MayFail::~MayFail() {
  --t_may_fail;
}

}  // namespace acp
