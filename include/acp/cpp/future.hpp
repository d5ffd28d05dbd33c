// Operations under way: orders between them, and futures to wait for. Include
// <acp/acp.hpp>.
#ifndef ACP_CPP_FUTURE_HPP
#define ACP_CPP_FUTURE_HPP

#include <chrono>
#include <climits>
#include <coroutine>
#include <deque>
#include <utility>

#include "acp/cpp/landing.hpp"

namespace acp {
inline namespace face {

/// When an operation may start; docs/ordering.md has the promises. A future
/// becomes the order "when that operation is complete".
class order {
 public:
  /// At once, in any order to others.
  constexpr order() = default;

  constexpr explicit order(acp_handle_t handle) : handle_(handle) {}

  /// When everything that this rank issued before is complete.
  static constexpr order all() { return order(ACP_HANDLE_ALL); }

  /// Behind the operation that was issued just before.
  static constexpr order cont() { return order(ACP_HANDLE_CONT); }

  constexpr acp_handle_t handle() const { return handle_; }

 private:
  acp_handle_t handle_ = ACP_HANDLE_NULL;
};

namespace detail {

/// The limit of a wait as C has it: milliseconds, rounded up.
inline int limit_of(std::chrono::nanoseconds time) {
  using std::chrono::milliseconds;
  const auto limit = std::chrono::ceil<milliseconds>(time);
  return limit.count() < 0               ? 0
         : limit > milliseconds(INT_MAX) ? INT_MAX
                                         : static_cast<int>(limit.count());
}

/// Waits for an operation and all before it. Throws the first failure among
/// them that no call has reported before.
inline void complete(acp_handle_t handle) {
  if (acpx_complete_timeout(handle, -1) != 0) [[unlikely]] {
    fail("acp_complete");
  }
}

/// The handle of an operation that a call has issued.
inline acp_handle_t issued(const char* function, acp_handle_t handle) {
  if (handle == ACP_HANDLE_NULL) [[unlikely]] {
    fail(function);
  }
  return handle;
}

/// A coroutine of this thread that waits for an operation.
struct waiter {
  acp_handle_t handle;
  std::coroutine_handle<> coroutine;
};

inline thread_local std::deque<waiter> t_waiters;

/// The functions that all futures have.
class future_base {
 public:
  future_base() = default;

  explicit future_base(acp_handle_t handle) : handle_(handle) {}

  /// Whether the operation and all before it are complete. Makes progress, does
  /// not block. A failed operation is complete; wait() reports it.
  bool ready() const { return acp_inquire(handle_) == 0; }

  /// Blocks until the operation, and all that this rank issued before, are
  /// complete. Not in a progress step.
  ///
  /// Throws the first failure among these that no wait has reported yet, such
  /// as ACPX_BAD_ADDRESS; ACPX_PEER_DEAD, ACPX_ABORTED.
  void wait() const { complete(handle_); }

  /// wait() with a limit. False: not complete yet.
  bool wait_for(std::chrono::nanoseconds time) const {
    const int answer = acpx_complete_timeout(handle_, limit_of(time));
    if (answer < 0) {
      fail("acpx_complete_timeout");
    }
    return answer == 0;
  }

  /// The handle of C.
  acp_handle_t handle() const { return handle_; }

  operator order() const { return order(handle_); }

  /// Calls `next` with the order behind this operation, and returns its result,
  /// mostly a future. Does not wait.
  template <typename Next>
  auto then(Next&& next) const {
    return std::forward<Next>(next)(order(handle_));
  }

  bool await_ready() const { return ready(); }

  void await_suspend(std::coroutine_handle<> coroutine) const {
    t_waiters.push_back({handle_, coroutine});
  }

 private:
  acp_handle_t handle_ = ACP_HANDLE_NULL;
};

}  // namespace detail

/// An operation under way that gives a value, such as async_get(). It has
/// memory of the heap for the value, so its destructor waits for the operation.
template <typename T = void>
class future : public detail::future_base {
 public:
  future() = default;

  /// Functions of this header call it. The value arrives in `block`.
  future(acp_handle_t handle, detail::heap_block block)
      : future_base(handle), block_(std::move(block)) {}

  future(future&&) noexcept = default;

  future& operator=(future&& other) noexcept {
    finish();
    future_base::operator=(other);
    block_ = std::move(other.block_);
    return *this;
  }

  ~future() { finish(); }

  /// Waits, and returns the value. May be called again.
  T get() const {
    wait();
    return detail::load<T>(
        static_cast<const std::byte*>(acp_query_address(block_.ga())));
  }

  T await_resume() const { return get(); }

 private:
  /// The value must not arrive in a block that is in other hands. A failure is
  /// left for the next wait.
  void finish() noexcept {
    if (!block_.is_alive()) {
      return;
    }
    const auto is_complete = [](void* self) {
      return static_cast<future*>(self)->ready() ? 1 : 0;
    };
    // It fails when the job is ending. The block then stays with the operation.
    if (acpx_wait_until(is_complete, this, -1) != 0) {
      block_.abandon();
    }
    block_ = detail::heap_block();
  }

  detail::heap_block block_;
};

/// An operation under way without a value. Copyable; its end waits for nothing.
template <>
class future<void> : public detail::future_base {
 public:
  using future_base::future_base;

  void get() const { wait(); }

  void await_resume() const { wait(); }
};

/// Waits for everything that all threads of this rank have issued so far.
/// Throws as future::wait().
inline void wait_all() {
  detail::complete(ACP_HANDLE_ALL);
}

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_FUTURE_HPP
