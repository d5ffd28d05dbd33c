// How often a receiver of this host had no buffer for what arrived, as its
// devices have counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace acp::verbs {

/// Of all devices; nothing when none of them counts that. The kernel may show
/// the state of some milliseconds ago.
inline std::optional<std::uint64_t> count_not_ready() {
  namespace fs = std::filesystem;
  std::optional<std::uint64_t> sum;
  std::error_code error;
  for (const auto& device :
       fs::directory_iterator("/sys/class/infiniband", error)) {
    // As rxe calls it, and as mlx5 does.
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
