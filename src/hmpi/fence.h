// The order of a store and a later load, between two sides of which one does
// this often and the other seldom.
//
// A process that writes a message then asks whether its reader sleeps. A reader
// that goes to sleep says so, and then looks for a message once more. Each side
// has a fence between its store and its load, or both would miss what the other
// one has stored. A fence waits until the store has reached the memory, which
// takes longer than all else of a short message. So the writer does without:
// the reader has the kernel put a fence into all threads that run, of all
// processes of the host (membarrier), once for each sleep.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace hmpi {

class Fences {
 public:
  /// Whether the kernel puts fences into this process from now on, and into
  /// others for it.
  static bool register_process() noexcept {
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
  }

  /// Whether in_all_threads() works from now on.
  static bool register_threads() noexcept {
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  }

  /// A fence in all threads of this process.
  static void in_all_threads() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  }

  /// All processes of the host are registered.
  void rely_on_kernel() noexcept { has_kernel_ = true; }

  /// The fence of the side that runs often.
  void often() const noexcept {
    if (has_kernel_) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
  }

  /// The fence of the other side.
  void seldom() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (has_kernel_) {
      membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    }
  }

 private:
  static bool membarrier(int command) noexcept {
    return ::syscall(SYS_membarrier, command, 0, 0) == 0;
  }

  bool has_kernel_ = false;
};

}  // namespace hmpi
