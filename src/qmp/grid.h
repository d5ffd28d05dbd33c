// A torus of nodes: numbers, coordinates, neighbours. Pure.
#pragma once

#include <span>
#include <vector>

namespace qmp {

/// Node numbers run fastest along the first axis of the map.
class Grid {
 public:
  Grid() = default;
  /// `map` names axes, fastest first; axes that it leaves out follow in order.
  /// The arguments have passed is_valid().
  Grid(std::span<const int> dims, std::span<const int> map);

  /// Whether the sizes are 1 or more with product `nodes`, and the map names
  /// different axes.
  static bool is_valid(std::span<const int> dims,
                       std::span<const int> map,
                       int nodes);

  int axes() const { return static_cast<int>(dims_.size()); }

  const std::vector<int>& dims() const { return dims_; }

  /// Writes axes() numbers to `coordinates`.
  void coordinates_of(int node, int* coordinates) const;
  /// Takes coordinates of any value: they wrap around.
  int node_at(std::span<const int> coordinates) const;
  /// The neighbour along an axis; `sign` is 1 or -1.
  int neighbour(int node, int axis, int sign) const;

 private:
  std::vector<int> dims_;
  std::vector<int> order_;
};

}  // namespace qmp
