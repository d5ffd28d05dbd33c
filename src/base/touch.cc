// Accesses memory under a signal handler. The agent and the engine call
// can_touch() before they copy registered memory, and the udp transport calls
// copy_if_mapped(). Code in the handler only uses functions that a signal
// handler may use.
#include "base/touch.h"

#include <pthread.h>
#include <ucontext.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <mutex>

#include "base/fault_actions.h"

namespace acp {

namespace {

constexpr std::size_t kPageBytes =
    4096;  // on larger pages some are accessed twice

std::mutex g_mutex;  // guards g_handlers and the installation
int g_handlers = 0;
FaultActions g_before;  // the program's actions

/// The point at which a thread continues after a fault in these bytes.
struct Landing {
  sigjmp_buf* point;
  std::uintptr_t begin;
  std::size_t size;
};

/// Null outside of try_access(). The signal handler reads it, so the access
/// must not allocate.
thread_local constinit Landing* volatile t_landing
    __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit bool t_takes_faults
    __attribute__((tls_model("initial-exec"))) = false;

/// A signal handler of the program may interrupt try_access(), and its faults
/// are its own.
void on_fault(int signal, siginfo_t* info, void* context) {
  Landing* const landing = t_landing;
  if (landing != nullptr && info->si_code > 0 &&
      reinterpret_cast<std::uintptr_t>(info->si_addr) - landing->begin <
          landing->size) {
    // Restores the signal mask at the fault. ThreadSanitizer, which calls this
    // handler, may have blocked signals, and a fault whose signal is blocked
    // ends the process.
    const auto* at_fault = static_cast<const ucontext_t*>(context);
    ::pthread_sigmask(SIG_SETMASK, &at_fault->uc_sigmask, nullptr);
    siglongjmp(*landing->point, 1);  // leaves try_access()
  }
  g_before.pass_on(signal, info, context);
}

/// Unblocks the signals of a fault in this thread: a fault whose signal is
/// blocked ends the process.
void take_faults() {
  sigset_t faults;
  ::sigemptyset(&faults);
  for (const int signal : FaultActions::kSignals) {
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

/// Sanitizers must not judge this: the bytes may be freed, or change meanwhile.
/// They would see a call of memcpy, so each aligned word is read on its own.
__attribute__((no_sanitize("address", "thread"))) void copy_words(
    std::byte* to, const std::byte* from, std::size_t size) noexcept {
  using Word [[gnu::may_alias]] = std::uint64_t;
  std::size_t at = 0;
  while (at < size) {
    const bool is_word = size - at >= sizeof(Word) &&
                         reinterpret_cast<std::uintptr_t>(from + at) % 8 == 0;
    if (is_word) {
      const Word word = *reinterpret_cast<const volatile Word*>(from + at);
      __builtin_memcpy(to + at, &word, sizeof word);
    } else {
      to[at] = std::byte{
          *reinterpret_cast<const volatile unsigned char*>(from + at)};
    }
    at += is_word ? sizeof(Word) : 1;
  }
}

/// Runs `access`, which may fault in these bytes. A fault leaves it by
/// siglongjmp, so it has no object with a destructor. False: it faulted.
template <typename Function>
bool try_access(const std::byte* bytes,
                std::size_t size,
                Function access) noexcept {
  if (!t_takes_faults) {
    take_faults();
  }
  sigjmp_buf point;
  Landing landing{&point, reinterpret_cast<std::uintptr_t>(bytes), size};
  if (sigsetjmp(point, 0) != 0) {
    t_landing = nullptr;
    return false;
  }
  t_landing = &landing;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // with on_fault
  access();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_landing = nullptr;
  return true;
}

}  // namespace

FaultHandler::FaultHandler() noexcept {
  const std::lock_guard lock(g_mutex);
  if (g_handlers++ == 0) {
    g_before.install(on_fault);
  }
}

FaultHandler::~FaultHandler() {
  const std::lock_guard lock(g_mutex);
  if (--g_handlers == 0) {
    g_before.remove(on_fault);
  }
}

bool can_touch(std::byte* address, std::size_t size, Access access) noexcept {
  return try_access(address, size, [&] { touch_pages(address, size, access); });
}

bool copy_if_mapped(std::byte* to,
                    const std::byte* from,
                    std::size_t size) noexcept {
  return try_access(from, size, [&] { copy_words(to, from, size); });
}

}  // namespace acp
