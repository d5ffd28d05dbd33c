// The division of a lattice among nodes, for QMP_layout_grid. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace qmp {

/// The rule by which one of several divisions is taken.
enum class Layout {
  /// The division whose parts have the least surface. When several have, it is
  /// the one of kPublished if that is among them, or else the one that leaves
  /// the first axes whole.
  kLeastSurface,
  /// The prime factors of the number of nodes, largest first, each divide the
  /// largest extent left that they divide. Where extents are equal, it is the
  /// later
  /// axis, until that is split. The published library divides so.
  kPublished,
};

/// The number of nodes along each axis of the lattice. Their product is
/// `nodes`, and each divides its extent. Nothing when there is no such
/// division, or a node would get more than INT_MAX sites.
///
/// `lattice` has extents of 1 or more, `nodes` is 1 or more. The time grows
/// with the number of axes and the square of the number of divisors of `nodes`.
std::optional<std::vector<int>> divide_lattice(std::span<const int> lattice,
                                               int nodes,
                                               Layout layout);

/// The number of sites of other nodes that border on the part of a node.
/// `divided` is a result of divide_lattice for this lattice.
std::int64_t surface_of(std::span<const int> lattice,
                        std::span<const int> divided);

}  // namespace qmp
