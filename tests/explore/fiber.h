// Fibers: ranks that take turns in one thread. Called by World alone.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <functional>
#include <memory>

namespace explore {

/// A function with a stack of its own, which runs until it suspends itself.
///
/// A fiber that is suspended may be forgotten: start() uses its stack again.
/// Destructors of the objects on the stack do not run then, so their memory has
/// to come from the arena, which begins anew with each schedule. Used by one
/// thread.
class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Sets the function that the next resume() runs. It must not throw.
  void start(std::function<void()> body);

  /// Runs the fiber until it suspends itself or ends. Called from outside of
  /// all fibers.
  void resume();

  /// Returns from the resume() that runs this fiber. Called inside of it.
  void suspend();

 private:
  static void enter();

  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;

  std::byte* stack_ = nullptr;
  std::function<void()> body_;
  bool has_begun_ = false;
  std::jmp_buf inside_{};   ///< Where the fiber goes on.
  std::jmp_buf outside_{};  ///< Where resume() goes on.
};

}  // namespace explore
