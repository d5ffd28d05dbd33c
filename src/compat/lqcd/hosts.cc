// Arithmetic of host numbers. Called by lqcd_api.cc and machine.cc. Pure; the
// caller has checked the numbers.
#include "compat/lqcd/hosts.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace lqcd {

Hosts::Hosts(int count) : ranks_(static_cast<std::size_t>(count)) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

Hosts::Hosts(std::vector<int> sizes,
             std::vector<int> rank_of_host,
             int own_rank)
    : sizes_(std::move(sizes)),
      ranks_(std::move(rank_of_host)),
      own_host_(static_cast<int>(
          std::find(ranks_.begin(), ranks_.end(), own_rank) - ranks_.begin())) {
}

int Hosts::neighbour(int relative) const {
  const auto axis = static_cast<std::size_t>(std::abs(relative) - 1);
  int pitch = 1;
  for (std::size_t below = 0; below < axis; ++below) {
    pitch *= sizes_[below];
  }
  const int size = sizes_.at(axis);
  const int at = own_host_ / pitch % size;
  const int to = (at + (relative > 0 ? 1 : size - 1)) % size;
  return own_host_ + (to - at) * pitch;
}

}  // namespace lqcd
