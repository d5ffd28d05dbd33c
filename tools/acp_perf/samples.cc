// Implements Samples; the report reads it afterwards. Rows may add to it only
// between two timed batches, because adding may allocate.
#include "samples.h"

#include <algorithm>
#include <cmath>

namespace acp::perf {

bool Samples::add(double ns, std::uint64_t ops) {
  if (full()) return false;
  ns_per_op_.push_back(std::max(0.0, ns) / static_cast<double>(ops));
  ops_ += ops;
  return true;
}

void Samples::merge(const Samples& other) {
  const std::size_t room = kCapacity - ns_per_op_.size();
  const std::size_t taken = std::min(room, other.ns_per_op_.size());
  ns_per_op_.insert(
      ns_per_op_.end(), other.ns_per_op_.begin(),
      other.ns_per_op_.begin() +
          static_cast<std::vector<double>::difference_type>(taken));
  ops_ += other.ops_;
}

double Samples::percentile(double fraction) const {
  if (ns_per_op_.empty()) return 0;
  const double rank =
      std::ceil(fraction * static_cast<double>(ns_per_op_.size())) - 1;
  const auto index = static_cast<std::size_t>(std::max(0.0, rank));
  std::vector<double> sorted = ns_per_op_;
  const auto nth =
      sorted.begin() + static_cast<std::vector<double>::difference_type>(index);
  std::nth_element(sorted.begin(), nth, sorted.end());
  return *nth;
}

}  // namespace acp::perf
