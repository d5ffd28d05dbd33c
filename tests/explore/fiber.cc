// Fibers by ucontext and setjmp. makecontext() gives a fiber its first step
// on a stack of its own. Later switches use _setjmp and _longjmp, because
// swapcontext() enters the kernel each time, to save the signal mask.
#include "explore/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace explore {

namespace {

Fiber* g_starting = nullptr;  // Handed to enter(), which has no arguments.

}  // namespace

/// A page without access lies below the stack, so an overflow is seen.
Fiber::Fiber() {
  constexpr std::size_t kGuard = 4096;
  void* memory = ::mmap(nullptr, kStackBytes + kGuard, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, kGuard, PROT_NONE) != 0) {
    std::perror("explore: no memory for a stack");
    std::exit(1);
  }
  stack_ = static_cast<std::byte*>(memory) + kGuard;
}

Fiber::~Fiber() {
  constexpr std::size_t kGuard = 4096;
  ::munmap(stack_ - kGuard, kStackBytes + kGuard);
}

void Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  has_begun_ = false;
}

void Fiber::enter() {
  Fiber& self = *g_starting;
  self.body_();
  std::longjmp(self.outside_, 1);
}

void Fiber::resume() {
  if (_setjmp(outside_) != 0) {
    return;
  }
  if (has_begun_) {
    std::longjmp(inside_, 1);
  }
  has_begun_ = true;
  g_starting = this;
  ucontext_t context{};
  ::getcontext(&context);
  context.uc_stack.ss_sp = stack_;
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  ::makecontext(&context, &Fiber::enter, 0);
  ::setcontext(&context);
}

void Fiber::suspend() {
  if (_setjmp(inside_) == 0) {
    std::longjmp(outside_, 1);
  }
}

}  // namespace explore
