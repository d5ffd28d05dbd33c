// The counts of a transport, as values for its launcher and as a file for
// people and scripts (ACP_STATS). Used by UdpTransport.
#pragma once

#include <span>
#include <string>

#include "protocol/traffic.h"
#include "udp/endpoint.h"

namespace acp::udp {

/// The counts of the whole transport.
protocol::Traffic traffic_of(const SharedState& shared) noexcept;

/// The contents of the file: one object with the sums, and one for each peer.
/// Pure.
std::string statistics_as_json(const SharedState& shared,
                               std::span<Endpoint* const> endpoints);

/// Writes FILE.N for process N. Whoever opens FILE.N reads all of it, also when
/// the process is killed meanwhile. A file that cannot be written is a warning.
void write_statistics(const std::string& file,
                      const SharedState& shared,
                      std::span<Endpoint* const> endpoints);

}  // namespace acp::udp
