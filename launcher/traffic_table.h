// Makes the table that `acprun --stats` prints, and the line about the network
// when a job ends badly.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "protocol/traffic.h"

namespace acp::launcher {

/// One row of the table. Plain value.
struct RankTraffic {
  std::uint32_t rank = 0;  ///< Number at launch.
  std::string host;
  protocol::Traffic traffic;
};

/// A row for each rank, or for each host when there are more than 64 ranks, and
/// a row for all. Jobs without packets get one line that says so. Pure.
std::string traffic_table(std::span<const RankTraffic> ranks);

/// Whether a packet was sent again or dropped. It always was when a rank gave a
/// peer up, so a bad end without losses has other reasons than the network.
/// Pure.
bool has_losses(std::span<const RankTraffic> ranks);

/// One line for the whole job; "" when it has sent no packet. Pure.
std::string traffic_line(std::span<const RankTraffic> ranks);

}  // namespace acp::launcher
