// How QMP_layout_grid divides a lattice among nodes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace qmp {

/// Which division is taken, where there are several.
enum class Layout {
  /// The one whose parts have the least surface. Of several such ones the
  /// division of kPublished, or else the one that leaves the first axes whole.
  kLeastSurface,
  /// The prime factors of the number of nodes, largest first, each divide the
  /// largest extent left that they divide; of equal extents the later axis,
  /// until it is split. The published library divides so.
  kPublished,
};

/// How many nodes each axis of the lattice gets, such that their product is
/// `nodes` and each divides the extent. Nothing where that cannot be, or where
/// a node would get more than INT_MAX sites.
///
/// `lattice` has extents of 1 or more, `nodes` is 1 or more. The time grows
/// with the axes times the square of the number of divisors of `nodes`.
std::optional<std::vector<int>> divide_lattice(std::span<const int> lattice,
                                               int nodes,
                                               Layout layout);

/// How many sites of its neighbours each node sees: twice the sections of its
/// part across each axis that is divided. Both spans have one length, and
/// `divided` is a result of divide_lattice for this lattice.
std::int64_t surface_of(std::span<const int> lattice,
                        std::span<const int> divided);

}  // namespace qmp
