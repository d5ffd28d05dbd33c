// The processor's hint that a thread is spinning.
#pragma once

namespace acp {

/// Waits a few cycles between two looks at memory, and leaves the core's units
/// to its other hardware thread meanwhile.
inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace acp
