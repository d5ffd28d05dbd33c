// Blocks of this process's library memory, which all processes of the host have
// mapped: rings, send records, and copies of data. Blocks that were given back
// wait here for the next one of their size.
#pragma once

#include <array>
#include <cstddef>

namespace hmpi {

/// One thread at a time.
class LibraryPool {
 public:
  /// A block of at least this many bytes, aligned to 64; null: the heap is
  /// full. The bytes are not zero.
  std::byte* take(std::size_t bytes) noexcept;

  /// `block` came from take(), and no process uses it any more.
  void give_back(void* block) noexcept;

 private:
  struct Head;

  /// Blocks of 64 bytes and the further powers of two up to 1 MiB.
  static constexpr std::size_t kClasses = 15;

  std::array<Head*, kClasses> free_{};
  bool is_full_ = false;  ///< Until a block is given back.
};

}  // namespace hmpi
