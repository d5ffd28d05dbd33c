// Coroutines that await futures, so that one thread has many chains of
// dependent operations under way. Include <acp/acp.hpp>.
#ifndef ACP_CPP_TASK_HPP
#define ACP_CPP_TASK_HPP

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "acp/cpp/future.hpp"

namespace acp {
inline namespace face {

/// Resumes the coroutine of this thread that has waited for the longest time,
/// once its operation is complete. Blocks until then. False: none waits.
inline bool resume_next() {
  if (detail::t_waiters.empty()) {
    return false;
  }
  const detail::waiter next = detail::t_waiters.front();
  detail::t_waiters.pop_front();
  // The coroutine waits once more, and throws there if the operation failed.
  if (acp_inquire(next.handle) != 0) {
    acpx_wait_until(
        [](void* handle) {
          return acp_inquire(*static_cast<const acp_handle_t*>(handle)) == 0
                     ? 1
                     : 0;
        },
        const_cast<acp_handle_t*>(&next.handle), -1);
  }
  next.coroutine.resume();
  return true;
}

template <typename T = void>
class task;

namespace detail {

/// The members that the promises of all tasks have.
class promise_base {
 public:
  std::suspend_never initial_suspend() const noexcept { return {}; }

  /// Goes on with the coroutine that awaits this one.
  auto final_suspend() const noexcept {
    struct awaiter {
      std::coroutine_handle<> next;

      bool await_ready() const noexcept { return false; }

      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<>) const noexcept {
        return next ? next : std::noop_coroutine();
      }

      void await_resume() const noexcept {}
    };

    return awaiter{next_};
  }

  void unhandled_exception() { failure_ = std::current_exception(); }

  void set_next(std::coroutine_handle<> next) { next_ = next; }

 protected:
  void rethrow() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  std::coroutine_handle<> next_;
  std::exception_ptr failure_;
};

template <typename T>
class promise : public promise_base {
 public:
  task<T> get_return_object();

  void return_value(T value) { value_.emplace(std::move(value)); }

  T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class promise<void> : public promise_base {
 public:
  task<void> get_return_object();

  void return_void() const {}

  void take() const { rethrow(); }
};

}  // namespace detail

/// A coroutine that runs at once, until it awaits a future that is not ready.
/// get() of any task resumes all tasks of the thread in turn. Used by the
/// thread that made it.
///
///     acp::task<> walk(acp::global_ptr<node> p) {
///       while (p) p = (co_await acp::async_get(p)).next;
///     }
template <typename T>
class task {
 public:
  using promise_type = detail::promise<T>;

  explicit task(std::coroutine_handle<promise_type> coroutine)
      : coroutine_(coroutine) {}

  task(task&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)) {}

  task& operator=(task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }

  /// Runs the task to its end, since its operations write to its memory.
  ~task() {
    if (coroutine_) {
      run();
      coroutine_.destroy();
    }
  }

  bool ready() const { return coroutine_.done(); }

  /// Waits for the end, and returns the result or throws what the task threw.
  /// Call it once.
  T get() {
    run();
    return coroutine_.promise().take();
  }

  // Another task may await this one, once.
  bool await_ready() const { return ready(); }

  void await_suspend(std::coroutine_handle<> next) const {
    coroutine_.promise().set_next(next);
  }

  T await_resume() { return coroutine_.promise().take(); }

 private:
  void run() const {
    while (!coroutine_.done() && resume_next()) {
    }
  }

  std::coroutine_handle<promise_type> coroutine_;
};

template <typename T>
task<T> detail::promise<T>::get_return_object() {
  return task<T>(std::coroutine_handle<promise<T>>::from_promise(*this));
}

inline task<void> detail::promise<void>::get_return_object() {
  return task<void>(std::coroutine_handle<promise<void>>::from_promise(*this));
}

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_TASK_HPP
