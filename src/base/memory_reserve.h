// Memory that this process keeps for the moment in which the system refuses
// more. An operation that has begun cannot be undone half-way, for example
// while other ranks wait for its message or for a lock that it holds. So a
// public function begins only with a full reserve, and what it begins it can
// end.
#pragma once

#include <cstddef>

namespace acp {

/// More than a call or a pass of the progress thread allocates, unless the
/// caller's own sizes decide. Address space only: its pages are not touched.
inline constexpr std::size_t kMemoryReserveBytes = 1 << 20;

/// The type of a function that ends the job. It may allocate some KiB, and does
/// not return.
using NoMemoryAction = void (*)() noexcept;

/// Takes the reserve, and sets the process's handler of failed allocations
/// (std::set_new_handler). The handler gives parts of the reserve back to the
/// system until the allocation succeeds. When the reserve is used up, `action`
/// ends the job, if the thread is inside a MustNotFail. Otherwise the handler
/// that was there before runs, or the allocation throws std::bad_alloc, after a
/// line on standard error. False: there is no memory for it, and nothing has
/// changed. One thread at a time calls this function and the next.
[[nodiscard]] bool take_memory_reserve(NoMemoryAction action) noexcept;
void give_back_memory_reserve() noexcept;

/// Fills the reserve if parts of it were used. False: the system refuses that,
/// so a call that begins now might not be able to end. True without a reserve,
/// and inside of a MustNotFail: the call is part of one that has begun already.
/// Thread-safe.
bool has_memory_reserve() noexcept;

/// While it lives, an allocation of this thread ends the job when the reserve
/// is used up. They nest.
class MustNotFail {
 public:
  MustNotFail() noexcept { enter(); }

  MustNotFail(const MustNotFail&) = delete;
  MustNotFail& operator=(const MustNotFail&) = delete;

  ~MustNotFail() { leave(); }

  // For a class whose objects live as long, and whose header stays as it is.
  static void enter() noexcept;
  static void leave() noexcept;
};

/// While it lives, an allocation of this thread that fails throws
/// std::bad_alloc, and leaves the reserve alone: the thread can do without.
class MayFail {
 public:
  MayFail() noexcept;
  MayFail(const MayFail&) = delete;
  MayFail& operator=(const MayFail&) = delete;
  ~MayFail();
};

}  // namespace acp
