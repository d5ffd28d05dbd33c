// The messages between the leaders of hosts under launchers other than acprun.
// A greeting comes first on each connection. docs/launcher.md, "Absences under
// other launchers", has their order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace acp::runtime {

/// A random number of the job. It keeps strangers out; whoever knows it can do
/// no more than end the job.
using LeaderKey = std::array<std::uint8_t, 16>;

enum class LeaderMessageType : std::uint32_t {
  kGoodbye = 'G',  ///< The end of this connection means nothing from now on.
  kAbsent = 'A',   ///< A rank is absent.
  kStuck = 'S',  ///< To rank 0: a rank waits in acp_reset for that absent one.
  kWritten = 'W',  ///< From rank 0: it has written the line of the verdict.
};

/// A message between leaders, in the byte order of the machine:
///
///   offset 0  u32 type      LeaderMessageType
///          4  u32 waiting   kStuck: the number at launch of a rank that waits
///          8  u64 absence   kAbsent, kStuck: Absence::word()
///         16  u64 meetings  kAbsent: how often that rank had come to the
///                           launcher in acp_reset
struct LeaderMessage {
  LeaderMessageType type = LeaderMessageType::kGoodbye;
  std::uint32_t waiting = 0;
  std::uint64_t absence = 0;
  std::uint64_t meetings = 0;
};

static_assert(sizeof(LeaderMessage) == 24);
static_assert(offsetof(LeaderMessage, absence) == 8);

/// The first bytes of a connection, from the leader that has connected.
struct LeaderGreeting {
  LeaderKey key;
  std::uint32_t rank;
};

static_assert(sizeof(LeaderGreeting) == 20);

/// Leaders of one job need the same LeaderGreeting, LeaderMessage and records
/// (job_record.h). JobRecord carries this number, so that rank 0 of another
/// build is refused.
inline constexpr std::uint32_t kLeaderProtocol = 4;

}  // namespace acp::runtime
