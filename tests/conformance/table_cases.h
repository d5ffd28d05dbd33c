// Helpers of the tests of sets and maps: memory to put from and to read to.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "acp.h"
#include "acp/extension.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace table {

using Bytes = std::vector<std::byte>;

inline std::vector<int> all_ranks() {
  std::vector<int> ranks(static_cast<std::size_t>(acp_procs()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

class Scratch {
 public:
  Scratch() : block_(spmd::Memory::kLibrary, 1 << 17) {}

  acp_ga_t ga(std::size_t at = 0) const { return block_.mine(at); }

  acp_ga_t of(int rank, std::size_t at = 0) const {
    return block_.at(rank, at);
  }

  std::byte* data() const { return block_.data(); }

  Bytes get(acp_element_t element) const {
    std::byte* to = data() + 100'000;
    EXPECT(element.size <= 20'000);
    if (element.size != 0) {
      EXPECT_DONE(
          acp_copy(ga(100'000), element.ga, element.size, ACP_HANDLE_NULL));
    }
    return Bytes(to, to + element.size);
  }

  acp_element_t put(const Bytes& bytes, std::size_t at) const {
    if (!bytes.empty()) std::memcpy(data() + at, bytes.data(), bytes.size());
    return {ga(at), bytes.size()};
  }

  acp_element_t put_word(std::uint64_t word, std::size_t at) const {
    std::memcpy(data() + at, &word, 8);
    return {ga(at), 8};
  }

 private:
  spmd::Block block_;
};

}  // namespace table
