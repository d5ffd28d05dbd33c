// The seeds of random models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

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

/// ACP_TEST_SEED, which gives random programs other numbers; without it 0.
inline std::uint64_t chosen_seed() {
  const char* text = std::getenv("ACP_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

}  // namespace acp::test
