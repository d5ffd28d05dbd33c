// C's stdout of a rank. Called when a job begins and when it is ended early. At
// the end it may not wait for a thread of the program that holds stdout's lock.
#include "runtime/standard_output.h"

#include <pthread.h>
#include <stdio_ext.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/blocked_signals.h"
#include "base/clock.h"
#include "base/futex.h"

namespace acp::runtime {

namespace {

/// A failed job has to be over within 2 s, all steps together.
constexpr Duration kFlushLimit = std::chrono::milliseconds(500);

/// 1 when flush() is over. It and flush_output() use seq_cst, as a futex needs.
std::atomic<std::uint32_t> g_is_flushed{0};

void* flush(void* /*unused*/) {
  if (::ftrylockfile(stdout) == 0) {
    (void)::fflush_unlocked(stdout);
    ::funlockfile(stdout);
  }
  g_is_flushed.store(1, std::memory_order_seq_cst);
  futex_wake_all(g_is_flushed);
  return nullptr;
}

}  // namespace

void buffer_output_by_line(const Settings& settings) noexcept {
  if (settings.text(SettingId::kStdout) != "line") {
    return;
  }
  // stdout gets a new buffer and keeps it for ever. If the program has printed
  // already, glibc would go on filling the old buffer, and a line that putchar
  // or puts ends would stay inside. glibc writes out the old buffer first.
  if (auto* buffer = static_cast<char*>(std::malloc(BUFSIZ))) {
    (void)std::setvbuf(stdout, buffer, _IOLBF, BUFSIZ);
  }
}

/// A thread of its own writes, because a pipe that is not read blocks it for as
/// long as its reader wants. This thread writes where the system gives none.
void flush_output() noexcept {
  if (::__fpending(stdout) == 0) {
    return;
  }
  g_is_flushed.store(0, std::memory_order_relaxed);
  const BlockedSignals blocked;
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, &flush, nullptr) != 0) {
    flush(nullptr);
    return;
  }
  ::pthread_detach(thread);
  const TimePoint until = SteadyClock().now() + kFlushLimit;
  for (TimePoint now = SteadyClock().now();
       g_is_flushed.load(std::memory_order_seq_cst) == 0 && now < until;
       now = SteadyClock().now()) {
    futex_wait(g_is_flushed, 0, until - now);
  }
}

}  // namespace acp::runtime
