// Accesses pages under a signal handler. The agent and the engine call it
// before they copy registered memory; code in the handler only uses what a
// signal handler may use.
#include "gmm/touch.h"

#include <pthread.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <mutex>

namespace acp::gmm {

namespace {

constexpr std::size_t kPageBytes =
    4096;  // on larger pages some are accessed twice
constexpr std::array kSignals = {SIGSEGV, SIGBUS};

std::mutex g_mutex;  // guards g_handlers and the installation
int g_handlers = 0;

/// The actions of the program before the library's. They are written before the
/// handler is installed.
std::array<struct sigaction, kSignals.size()> g_before;

/// The point at which this thread continues after a fault; null outside of
/// can_touch(). The signal handler reads it, so the access must not allocate.
thread_local constinit sigjmp_buf* volatile t_landing
    __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit bool t_takes_faults
    __attribute__((tls_model("initial-exec"))) = false;

/// Passes a fault to the handler that the program had installed.
void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = g_before[signal == SIGBUS ? 1 : 0];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
    return;
  }
  const bool is_sent =
      info->si_code <= 0;  // sent by kill(): it will not fault again
  if (before.sa_handler == SIG_IGN && is_sent) {
    return;
  }
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
    return;
  }

  // The instruction runs and faults again, so that a core dump shows it.
  struct sigaction none {};

  none.sa_handler = SIG_DFL;
  ::sigaction(signal, &none, nullptr);
  if (is_sent) {
    ::raise(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (t_landing != nullptr && info->si_code > 0) {
    // Restores the signal mask at the fault. ThreadSanitizer, which calls this
    // handler, may have blocked signals, and a fault whose signal is blocked
    // ends the process.
    const auto* at_fault = static_cast<const ucontext_t*>(context);
    ::pthread_sigmask(SIG_SETMASK, &at_fault->uc_sigmask, nullptr);
    siglongjmp(*t_landing, 1);  // leaves touch_pages()
  }
  pass_on(signal, info, context);
}

/// Unblocks the signals of a fault in this thread: a fault whose signal is
/// blocked ends the process.
void take_faults() {
  sigset_t faults;
  ::sigemptyset(&faults);
  for (const int signal : kSignals) {
    ::sigaddset(&faults, signal);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  t_takes_faults = true;
}

void touch_page(std::byte* address, Access access) noexcept {
  auto* byte = reinterpret_cast<volatile unsigned char*>(address);
  if (access == Access::kRead) {
    (void)__atomic_load_n(byte, __ATOMIC_RELAXED);
  } else {
    // One atomic instruction, so that no store of another thread is lost.
    (void)__atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
  }
}

/// A fault leaves this function by siglongjmp, so it has no object with a
/// destructor.
void touch_pages(std::byte* address, std::size_t size, Access access) noexcept {
  touch_page(address, access);
  const std::size_t in_page =
      reinterpret_cast<std::uintptr_t>(address) % kPageBytes;
  for (std::size_t at = kPageBytes - in_page; at < size; at += kPageBytes) {
    touch_page(address + at, access);
  }
}

}  // namespace

FaultHandler::FaultHandler() noexcept {
  const std::lock_guard lock(g_mutex);
  if (g_handlers++ != 0) {
    return;
  }

  struct sigaction mine {};

  mine.sa_sigaction = on_fault;
  // SA_NODEFER, because the handler of the program may leave by longjmp, too.
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &g_before[i]);
    ::sigaction(kSignals[i], &mine, nullptr);
  }
}

FaultHandler::~FaultHandler() {
  const std::lock_guard lock(g_mutex);
  if (--g_handlers != 0) {
    return;
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};

    ::sigaction(kSignals[i], nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) {
      ::sigaction(kSignals[i], &g_before[i], nullptr);
    }
  }
}

bool can_touch(std::byte* address, std::size_t size, Access access) noexcept {
  if (!t_takes_faults) {
    take_faults();
  }
  sigjmp_buf landing;
  if (sigsetjmp(landing, 0) != 0) {
    t_landing = nullptr;
    return false;
  }
  t_landing = &landing;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // with on_fault
  touch_pages(address, size, access);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_landing = nullptr;
  return true;
}

}  // namespace acp::gmm
