// HMPI_DEBUG=on: pages of a buffer that OPI_Give has passed on are protected in
// the giver, until the buffer comes back. A use ends the process with a line
// that says so.
#pragma once

#include <atomic>
#include <cstddef>

#include "hmpi/lock.h"
#include "hmpi/pages.h"

namespace hmpi {

/// Thread-safe. One for the process, never destroyed. Does nothing unless
/// begin() was called.
class Protection {
 public:
  constexpr Protection() = default;

  /// Installs a handler of SIGSEGV.
  void begin();

  bool is_on() const noexcept { return is_on_.load(std::memory_order_relaxed); }

  /// The whole pages of the buffer are protected from now on.
  void forbid(void* buffer, std::size_t bytes, int rank, int tag);
  /// The buffer is this process's again, or the engine copies to or from it for
  /// its owner of now.
  void allow(const void* buffer, std::size_t bytes) noexcept;

  /// Whether this process has given the buffer, and has not got it back.
  bool has_given(const void* buffer) noexcept;

  /// Writes the line for an address that a process has used after a give.
  void explain(const void* address) noexcept;

 private:
  struct Given {
    Pages pages;
    int rank;
    int tag;
  };

  bool make_room() noexcept;

  std::atomic<bool> is_on_ = false;
  Lock lock_;
  Given* given_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;  ///< Entries that `given_` has memory for.
};

extern Protection g_protection;

}  // namespace hmpi
