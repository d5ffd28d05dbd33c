// Grids of nodes: numbers and coordinates. Pure.
#pragma once

#include <span>
#include <vector>

namespace qmp {

/// A torus of nodes. Numbers run fastest along the first axis of the map.
class Grid {
 public:
  Grid() = default;
  /// `map` names axes, fastest first; those it leaves out follow in order.
  /// Both were checked by is_valid.
  Grid(std::span<const int> dims, std::span<const int> map);

  /// Sizes of 1 or more whose product is `nodes`, and axes that are different.
  static bool is_valid(std::span<const int> dims,
                       std::span<const int> map,
                       int nodes);

  int axes() const { return static_cast<int>(dims_.size()); }

  const std::vector<int>& dims() const { return dims_; }

  /// Writes axes() numbers.
  void coordinates_of(int node, int* coordinates) const;
  /// Coordinates of any value: they wrap around.
  int node_at(std::span<const int> coordinates) const;
  /// The neighbour along an axis, `sign` is 1 or -1.
  int neighbour(int node, int axis, int sign) const;

 private:
  std::vector<int> dims_;
  std::vector<int> order_;
};

}  // namespace qmp
