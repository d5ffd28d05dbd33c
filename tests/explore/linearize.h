// Looks for an order of concurrent operations that explains their results.
#pragma once

#include <cstdint>
#include <vector>

#include "explore/model.h"

namespace explore {

/// One operation of a schedule.
struct Call {
  int rank = 0;
  Operation operation;
  std::uint64_t begin = 0;  ///< Its place among all begins and ends.
  std::uint64_t end = 0;    ///< 0: it did not return.
  std::uint64_t result = 0;
};

/// Looks for an order of the calls that has all results and leads to `content`.
/// A call that had ended before another began comes before it. A call that did
/// not return may have had its effect or not. `content` null: it is not looked
/// at.
bool is_linearizable(const Model& before,
                     const std::vector<Call>& calls,
                     const std::vector<std::uint64_t>* content);

}  // namespace explore
