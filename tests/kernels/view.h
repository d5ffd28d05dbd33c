// The knowledge of a thread about memory: the oldest store of each location
// that it may still read, and the steps of all threads that happened before.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kernels {

inline constexpr std::size_t kMostThreads = 4;

/// The place of a store in the order of the stores to its location. A later
/// store has a larger stamp. Stamps have gaps, so that a store can be put
/// between two of them.
using Stamp = std::uint64_t;

/// Plain value. A view only grows.
class View {
 public:
  /// The oldest store of a location that this view allows to read.
  Stamp oldest(std::size_t location) const {
    return location < oldest_.size() ? oldest_[location] : 0;
  }

  void see(std::size_t location, Stamp stamp) {
    if (oldest_.size() <= location) {
      oldest_.resize(location + 1, 0);
    }
    oldest_[location] = std::max(oldest_[location], stamp);
  }

  /// Takes over which stores are too old.
  void see_all(const View& other) {
    for (std::size_t i = 0; i < other.oldest_.size(); ++i) {
      see(i, other.oldest_[i]);
    }
  }

  /// Takes over all. Steps that happened before `other` happened before this.
  void join(const View& other) {
    see_all(other);
    for (std::size_t i = 0; i < kMostThreads; ++i) {
      clock[i] = std::max(clock[i], other.clock[i]);
    }
  }

  /// Steps of each thread that happened before.
  std::array<std::uint32_t, kMostThreads> clock{};

 private:
  std::vector<Stamp> oldest_;  ///< By number of the location.
};

}  // namespace kernels
