// Arithmetic of a torus. Called for declared topologies and for the machine.
// Allocates, but keeps no state beyond the grid.
#include "qmp/grid.h"

#include <algorithm>

namespace qmp {

Grid::Grid(std::span<const int> dims, std::span<const int> map)
    : dims_(dims.begin(), dims.end()), order_(map.begin(), map.end()) {
  for (int axis = 0; axis < axes(); ++axis) {
    if (std::find(order_.begin(), order_.end(), axis) == order_.end()) {
      order_.push_back(axis);
    }
  }
}

bool Grid::is_valid(std::span<const int> dims,
                    std::span<const int> map,
                    int nodes) {
  long long product = 1;
  for (const int size : dims) {
    if (size < 1 || product > nodes) {
      return false;
    }
    product *= size;
  }
  for (std::size_t i = 0; i < map.size(); ++i) {
    const bool is_double =
        std::find(map.begin(), map.begin() + i, map[i]) != map.begin() + i;
    if (map[i] < 0 || map[i] >= static_cast<int>(dims.size()) || is_double) {
      return false;
    }
  }
  return !dims.empty() && product == nodes;
}

void Grid::coordinates_of(int node, int* coordinates) const {
  for (const int axis : order_) {
    const int size = dims_[static_cast<std::size_t>(axis)];
    coordinates[axis] = node % size;
    node /= size;
  }
}

int Grid::node_at(std::span<const int> coordinates) const {
  int node = 0;
  for (auto axis = order_.rbegin(); axis != order_.rend(); ++axis) {
    const auto a = static_cast<std::size_t>(*axis);
    const int size = dims_[a];
    node = node * size + (coordinates[a] % size + size) % size;
  }
  return node;
}

int Grid::neighbour(int node, int axis, int sign) const {
  std::vector<int> coordinates(dims_.size());
  coordinates_of(node, coordinates.data());
  coordinates[static_cast<std::size_t>(axis)] += sign;
  return node_at(coordinates);
}

}  // namespace qmp
