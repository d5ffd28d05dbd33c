// Fuzz target: any bytes as a launcher's PMI_process_mapping. A text that is
// accepted gives every rank a host.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/host_group.h"
#include "runtime/node_map.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  constexpr std::uint32_t kRanks = 100;
  const auto map = acp::runtime::decode_process_mapping(
      {reinterpret_cast<const char*>(data), size}, kRanks);
  if (!map) return 0;
  if (map->size() != kRanks) std::abort();
  std::size_t leaders = 0;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const auto group = acp::runtime::group_of(*map, rank);
    if (group.ranks.empty() || group.leader != group.ranks.front()) {
      std::abort();
    }
    leaders = group.others.size() + 1;
  }
  if (leaders == 0 || leaders > kRanks) std::abort();
  return 0;
}
