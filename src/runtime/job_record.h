// Records that the first rank of the job, and the first rank of each host, put
// into a launcher's key-value space when the job starts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/host_segment.h"
#include "runtime/leader_message.h"
#include "runtime/secret_exchange.h"

namespace acp::runtime {

/// Rank 0 tells it to the leaders of all hosts. A plain value.
struct JobRecord {
  std::uint32_t version = protocol::kHostVersion;
  std::uint32_t procs = 0;
  protocol::HostSizes sizes{};
  std::array<std::uint8_t, 16> id{};  ///< JobIdentity::id. Public.
  /// Admits the leaders of hosts to rank 0: HostConnections.
  LeaderKey leader_key{};
  std::uint32_t leader_protocol = kLeaderProtocol;
};

/// The leader of a host tells it to the ranks of its host. Leaders of other
/// hosts read rank 0's record, and others only until one gives a route. Rank 0
/// reads all, for their seal keys. A plain value.
struct HostRecord {
  std::string door;  ///< Where the ranks of the host meet: Door::name().
  std::string host_name;
  std::string boot;                    ///< The kernel's boot id.
  std::uint64_t network = 0;           ///< Number of the network namespace.
  std::vector<std::string> addresses;  ///< Numeric, not loopback.
  std::uint16_t port = 0;  ///< HostConnections::port(); 0: not rank 0.
  SealKey seal_key{};      ///< Rank 0 seals the secret of the job by it.
};

std::string encode_record(const JobRecord& record);
std::string encode_record(const HostRecord& record);

/// Nothing: bytes that no rank of this version writes.
std::optional<JobRecord> decode_job_record(std::string_view bytes);
std::optional<HostRecord> decode_host_record(std::string_view bytes);

/// The record of this host; `door` may be "". Asks the kernel, sends nothing.
HostRecord describe_this_host(std::string door);

/// Pure: whether both are on one machine and in one network namespace.
bool are_together(const HostRecord& one, const HostRecord& other) noexcept;

/// Pure: HostPlan::route_to of the host `own`: an address of `other` that `own`
/// does not have itself. "": are_together(), or there is no such
/// address.
std::string route_between(const HostRecord& own, const HostRecord& other);

/// Pure: HostPlan::why_no_route of the host `own`, for which route_between() is
/// "" although the two are not together.
std::string why_no_route(const HostRecord& own, const HostRecord& other);

}  // namespace acp::runtime
