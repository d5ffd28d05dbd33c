// Finds plain accesses to one byte that no happens-before orders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "kernels/view.h"

namespace kernels {

/// The last plain accesses to each byte. Used by one thread.
class RaceDetector {
 public:
  void clear() { granules_.clear(); }

  /// A thread with this view accesses bytes. Returns false when another thread
  /// has accessed one of them, one of both writes, and neither happened before.
  bool access(std::size_t thread,
              const View& view,
              std::uintptr_t address,
              std::size_t size,
              bool is_write);

  /// access() of an atomic: only plain accesses race with it.
  bool is_ordered(std::size_t thread,
                  const View& view,
                  std::uintptr_t address,
                  std::size_t size,
                  bool is_write);

 private:
  static constexpr std::size_t kBytes = 8;

  struct Byte {
    std::array<std::uint32_t, kMostThreads> reads{};   ///< Clocks, or 0.
    std::array<std::uint32_t, kMostThreads> writes{};  ///< Clocks, or 0.
  };

  static bool is_ordered(const Byte& byte,
                         std::size_t thread,
                         const View& view,
                         bool is_write);

  std::unordered_map<std::uintptr_t, std::array<Byte, kBytes>> granules_;
};

}  // namespace kernels
