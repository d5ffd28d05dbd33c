#include "qmp/layout.h"

#include <algorithm>
#include <climits>
#include <numeric>

namespace qmp {

namespace {

constexpr std::int64_t kImpossible = INT64_MAX;

/// Prime factors, largest first.
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

/// In ascending order.
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

/// The axis to split by `factor`, or -1: the largest extent that it divides; of
/// equal ones the later, an axis that is not split yet before one that is.
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

/// Sites of a node's part; nothing above INT_MAX. A division exists.
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

/// The least surface over all divisions. The sections across one axis depend
/// on how often that axis is divided and on nothing else, because each part has
/// the same number of sites. So the best way to divide the last axes among a
/// given number of nodes is the same for every way to divide the axes before,
/// and one table of (axis, number of nodes that are left) has the answer.
class LeastSurface {
 public:
  LeastSurface(std::span<const int> lattice, int nodes, std::int64_t sites)
      : lattice_(lattice), sites_(sites), divisors_(divisors_of(nodes)) {
    least_.assign(lattice.size() + 1,
                  std::vector<std::int64_t>(divisors_.size(), kImpossible));
    least_.back().front() = 0;  // no axis is left, and one node
    for (std::size_t axis = lattice.size(); axis-- > 0;) {
      for (std::size_t i = 0; i < divisors_.size(); ++i) {
        least_[axis][i] = least_by_division(axis, i).sections;
      }
    }
  }

  /// Half the surface: the sections of a node's part.
  std::int64_t sections() const { return least_.front().back(); }

  /// Of equal divisions the one with the smallest numbers on the first axes.
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
    int parts = 1;         ///< Of the axis.
    std::size_t left = 0;  ///< Index of the nodes that remain for the others.
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
  std::int64_t sites_;  ///< Of a node's part.
  std::vector<int> divisors_;
  /// [axis][i]: for this axis and those behind it, among divisors_[i] nodes.
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

std::optional<std::vector<int>> divide_lattice(std::span<const int> lattice,
                                               int nodes,
                                               Layout layout) {
  // It finds a division wherever there is one: each prime factor needs only an
  // axis that has it, and no other prime factor takes it away.
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
