// The times that a row has collected, and their percentiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acp::perf {

/// Nanoseconds per operation, one entry per timed batch. Not thread-safe.
class Samples {
 public:
  /// Entries beyond this many are refused: a row stops measuring then.
  static constexpr std::size_t kCapacity = std::size_t{1} << 18;

  /// Adds a batch of `ops` operations that took `ns` nanoseconds, the time of
  /// reading the clock subtracted. A negative time, due to an unusually fast
  /// reading, counts as 0. Returns false when full.
  bool add(double ns, std::uint64_t ops);

  /// Adds the entries of `other`, up to the capacity.
  void merge(const Samples& other);

  bool empty() const noexcept { return ns_per_op_.empty(); }

  bool full() const noexcept { return ns_per_op_.size() >= kCapacity; }

  /// Operations timed in all batches.
  std::uint64_t ops() const noexcept { return ops_; }

  /// Batches timed.
  std::size_t batches() const noexcept { return ns_per_op_.size(); }

  /// The nearest-rank percentile of nanoseconds per operation; `fraction` in
  /// 0..1. 0 when empty.
  double percentile(double fraction) const;

 private:
  std::vector<double> ns_per_op_;  ///< One entry per batch.
  std::uint64_t ops_ = 0;          ///< Operations of all batches.
};

}  // namespace acp::perf
