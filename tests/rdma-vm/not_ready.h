// Reads a counter of the RDMA devices of this host: how often a message found
// no receive buffer ("receiver not ready").
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace acp::verbs {

/// The sum over all devices; nullopt when no device has such a counter. The
/// kernel may show the count of some milliseconds ago.
inline std::optional<std::uint64_t> count_not_ready() {
  namespace fs = std::filesystem;
  std::optional<std::uint64_t> sum;
  std::error_code error;
  for (const auto& device :
       fs::directory_iterator("/sys/class/infiniband", error)) {
    // The names of the counter in the drivers rxe and mlx5.
    for (const std::string_view name : {"send_rnr_err", "out_of_buffer"}) {
      std::uint64_t count = 0;
      if (std::ifstream(device.path() / "ports/1/hw_counters" / name) >>
          count) {
        sum = sum.value_or(0) + count;
      }
    }
  }
  return sum;
}

}  // namespace acp::verbs
