// The ranks of a host, kept as runs of neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace acp::launcher {

/// Ascending ranks. Placement gives a host neighbours, so the memory does not
/// grow with the ranks. Plain value.
class RankRuns {
 public:
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;  ///< 1 or more.

    bool operator==(const Run&) const = default;
  };

  /// Adds `count` neighbours, of which `first` is greater than every rank here.
  /// Precondition: `count` is 1 or more.
  void append(std::uint32_t first, std::uint32_t count = 1);

  bool empty() const noexcept { return runs_.empty(); }

  std::span<const Run> runs() const noexcept { return runs_; }

  /// All ranks, ascending.
  std::vector<std::uint32_t> list() const;

 private:
  std::vector<Run> runs_;  ///< Ascending, with a gap between any two.
};

}  // namespace acp::launcher
