// The numbers of hosts: their ranks, and the neighbours of this host on a
// torus. Pure.
#pragma once

#include <vector>

namespace lqcd {

/// Plain value.
class Hosts {
 public:
  Hosts() = default;
  /// Hosts 0 to count - 1 are the ranks, without a topology.
  explicit Hosts(int count);
  /// `rank_of_host` has each rank once; the product of the sizes is their
  /// number.
  Hosts(std::vector<int> sizes, std::vector<int> rank_of_host, int own_rank);

  int count() const { return static_cast<int>(ranks_.size()); }

  bool is_host(int host) const { return host >= 0 && host < count(); }

  int rank_of(int host) const {
    return ranks_.at(static_cast<std::size_t>(host));
  }

  bool has_topology() const { return !sizes_.empty(); }

  int axes() const { return static_cast<int>(sizes_.size()); }

  /// The host one step away along axis |relative| - 1. `relative` is not 0, and
  /// names an axis that exists. x varies fastest; the torus wraps around.
  int neighbour(int relative) const;

 private:
  std::vector<int> sizes_;
  std::vector<int> ranks_;
  int own_host_ = 0;
};

}  // namespace lqcd
