// Watches pages by their protection. The handler of the fault runs on a stack
// of its own, because stacks of fibers are small.
#include "explore/snapshot.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace explore {

namespace {

constexpr std::size_t kPage = 4096;
/// Pages that all schedules of an exploration write at most.
constexpr std::size_t kMostPages = 8192;

Snapshot* g_snapshot = nullptr;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

}  // namespace

/// hot_ never grows in the handler, which may not allocate.
Snapshot::Snapshot() {
  hot_.reserve(kMostPages);
  void* copies = ::mmap(nullptr, kMostPages * kPage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  constexpr std::size_t kSignalStack = 65536;
  stack_t stack{};
  stack.ss_sp = std::malloc(kSignalStack);
  stack.ss_size = kSignalStack;

  struct sigaction action {};

  action.sa_sigaction =
      reinterpret_cast<void (*)(int, siginfo_t*, void*)>(&on_fault);
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  if (copies == MAP_FAILED || ::sigaltstack(&stack, nullptr) != 0 ||
      ::sigaction(SIGSEGV, &action, nullptr) != 0) {
    give_up("explore: cannot watch memory");
  }
  copies_ = static_cast<std::byte*>(copies);
  g_snapshot = this;
}

void Snapshot::add(void* begin, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  ranges_.push_back({first, first + bytes});
}

void Snapshot::take() {
  hot_.clear();
  for (const Range& range : ranges_) {
    if (::mprotect(reinterpret_cast<void*>(range.begin),
                   range.end - range.begin, PROT_READ) != 0) {
      give_up("explore: cannot protect memory");
    }
  }
}

void Snapshot::restore() {
  for (std::size_t i = 0; i < hot_.size(); ++i) {
    std::memcpy(hot_[i], copies_ + i * kPage, kPage);
  }
}

bool Snapshot::keep(std::uintptr_t address) {
  for (const Range& range : ranges_) {
    if (address < range.begin || address >= range.end) {
      continue;
    }
    auto* page = reinterpret_cast<std::byte*>(address & ~(kPage - 1));
    if (hot_.size() == kMostPages) {
      return false;
    }
    std::memcpy(copies_ + hot_.size() * kPage, page, kPage);
    hot_.push_back(page);
    return ::mprotect(page, kPage, PROT_READ | PROT_WRITE) == 0;
  }
  return false;
}

/// A fault outside of the ranges is an error of the tested code, and ends the
/// process as usual.
void Snapshot::on_fault(int signal, void* info, void* /*context*/) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(static_cast<siginfo_t*>(info)->si_addr);
  if (g_snapshot != nullptr && g_snapshot->keep(address)) {
    return;
  }
  ::signal(signal, SIG_DFL);
}

}  // namespace explore
