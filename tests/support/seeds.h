// How many seeds a random model is run with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace acp::test {

/// A tenth of them with tsan, which has nothing to see in a model of one thread
/// and takes minutes for it.
constexpr std::uint32_t seeds_of_one_thread(std::uint32_t all) {
#ifdef __SANITIZE_THREAD__
  return std::max(1U, all / 10);
#else
  return all;
#endif
}

}  // namespace acp::test
