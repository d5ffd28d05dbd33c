// The two rules of layout.h. Only topology_api.cc and tests call them. Pure, so
// all nodes get equal divisions.
#include "qmp/layout.h"

#include <algorithm>
#include <climits>
#include <numeric>

namespace qmp {

namespace {

constexpr std::int64_t kImpossible = INT64_MAX;

/// The prime factors of a number, largest first.
std::vector<int> factors_of(int number) {
  std::vector<int> factors;
  for (int prime = 2; prime <= number / prime; ++prime) {
    while (number % prime == 0) {
      factors.push_back(prime);
      number /= prime;
    }
  }
  if (number > 1) {
    factors.push_back(number);
  }
  std::reverse(factors.begin(), factors.end());
  return factors;
}

/// The divisors of a number in ascending order.
std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int i = 1; i <= number / i; ++i) {
    if (number % i == 0) {
      divisors.push_back(i);
      if (i != number / i) {
        divisors.push_back(number / i);
      }
    }
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

/// The axis that `factor` splits: the largest extent that it divides, and of
/// equal ones the later axis that is not split yet. -1: it divides none.
int axis_to_split(const std::vector<int>& left,
                  const std::vector<int>& nodes,
                  int factor) {
  int best = -1;
  for (int axis = 0; axis < static_cast<int>(left.size()); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (left[a] % factor != 0) {
      continue;
    }
    const auto b = static_cast<std::size_t>(std::max(best, 0));
    if (best < 0 || left[a] > left[b] ||
        (left[a] == left[b] && nodes[a] == 1)) {
      best = axis;
    }
  }
  return best;
}

std::optional<std::vector<int>> divide_as_published(
    std::span<const int> lattice, int nodes) {
  std::vector<int> left(lattice.begin(), lattice.end());
  std::vector<int> result(lattice.size(), 1);
  for (const int factor : factors_of(nodes)) {
    const int axis = axis_to_split(left, result, factor);
    if (axis < 0) {
      return std::nullopt;
    }
    left[static_cast<std::size_t>(axis)] /= factor;
    result[static_cast<std::size_t>(axis)] *= factor;
  }
  return result;
}

/// The number of sites of a part; nothing when it is above INT_MAX.
std::optional<std::int64_t> sites_of_part(std::span<const int> lattice,
                                          std::span<const int> divided) {
  std::int64_t sites = 1;
  for (std::size_t axis = 0; axis < lattice.size(); ++axis) {
    sites *= lattice[axis] / divided[axis];
    if (sites > INT_MAX) {
      return std::nullopt;
    }
  }
  return sites;
}

/// Finds the least surface over all divisions. All parts have one number of
/// sites, so the sections across an axis depend only on how often that axis is
/// divided. The best division of the last axes among some nodes therefore does
/// not depend on the axes before. So one table of (axis, number of nodes left)
/// has all answers.
class LeastSurface {
 public:
  LeastSurface(std::span<const int> lattice, int nodes, std::int64_t sites)
      : lattice_(lattice), sites_(sites), divisors_(divisors_of(nodes)) {
    least_.assign(lattice.size() + 1,
                  std::vector<std::int64_t>(divisors_.size(), kImpossible));
    least_.back().front() = 0;  // No axis is left for one node.
    for (std::size_t axis = lattice.size(); axis-- > 0;) {
      for (std::size_t i = 0; i < divisors_.size(); ++i) {
        least_[axis][i] = least_by_division(axis, i).sections;
      }
    }
  }

  /// Half of the surface: the sections of a part.
  std::int64_t sections() const { return least_.front().back(); }

  /// The division found. Of equal ones it is the one with the smallest numbers
  /// on the first axes.
  std::vector<int> division() const {
    std::vector<int> result;
    std::size_t left = divisors_.size() - 1;
    for (std::size_t axis = 0; axis < lattice_.size(); ++axis) {
      const Choice choice = least_by_division(axis, left);
      result.push_back(choice.parts);
      left = choice.left;
    }
    return result;
  }

 private:
  struct Choice {
    std::int64_t sections = kImpossible;
    int parts = 1;         ///< Parts of this axis.
    std::size_t left = 0;  ///< Index of the nodes left for the other axes.
  };

  Choice least_by_division(std::size_t axis, std::size_t nodes) const {
    Choice best;
    for (const int parts : divisors_) {
      if (divisors_[nodes] % parts != 0 || lattice_[axis] % parts != 0) {
        continue;
      }
      const std::size_t left = index_of(divisors_[nodes] / parts);
      const std::int64_t others = least_[axis + 1][left];
      if (others == kImpossible) {
        continue;
      }
      const std::int64_t across =
          parts > 1 ? sites_ / (lattice_[axis] / parts) : 0;
      if (others + across < best.sections) {
        best = {others + across, parts, left};
      }
    }
    return best;
  }

  std::size_t index_of(int divisor) const {
    return static_cast<std::size_t>(
        std::lower_bound(divisors_.begin(), divisors_.end(), divisor) -
        divisors_.begin());
  }

  std::span<const int> lattice_;
  std::int64_t sites_;  ///< Sites of one part.
  std::vector<int> divisors_;
  /// [axis][i]: least sections across this axis and later ones, among
  /// divisors_[i] nodes.
  std::vector<std::vector<std::int64_t>> least_;
};

std::int64_t sections_of(std::span<const int> lattice,
                         std::span<const int> divided) {
  const std::int64_t sites = sites_of_part(lattice, divided).value_or(0);
  std::int64_t sections = 0;
  for (std::size_t axis = 0; axis < lattice.size(); ++axis) {
    if (divided[axis] > 1) {
      sections += sites / (lattice[axis] / divided[axis]);
    }
  }
  return sections;
}

}  // namespace

/// The published division comes first, also for the other layout: it shows
/// whether there is a division at all. It stays if no other one has a smaller
/// surface.
std::optional<std::vector<int>> divide_lattice(std::span<const int> lattice,
                                               int nodes,
                                               Layout layout) {
  // This rule finds a division wherever there is one. A prime factor only needs
  // an axis that has it, and no other prime takes it away.
  auto published = divide_as_published(lattice, nodes);
  if (!published) {
    return std::nullopt;
  }
  const auto sites = sites_of_part(lattice, *published);
  if (!sites) {
    return std::nullopt;
  }
  if (layout == Layout::kPublished) {
    return published;
  }
  const LeastSurface least(lattice, nodes, *sites);
  return sections_of(lattice, *published) == least.sections()
             ? published
             : least.division();
}

std::int64_t surface_of(std::span<const int> lattice,
                        std::span<const int> divided) {
  return 2 * sections_of(lattice, divided);
}

}  // namespace qmp
