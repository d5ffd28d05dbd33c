// Views of a running job: what acprun tells acp_top over a Unix socket. A
// viewer sends one byte and waits for one answer.
//
//   offset 0  u32 magic      'ACPV'
//          4  u32 version    kViewVersion
//          8  u32 bytes      of the view that follows
//         12  the view       encode_view() has the order of its fields
//
// Numbers are in the byte order of the machine, because both ends are on one
// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/host_segment.h"
#include "protocol/traffic.h"

namespace acp::protocol {

/// Raised when a view changes. acprun and acp_top with different numbers refuse
/// each other.
inline constexpr std::uint32_t kViewVersion = 1;
/// Ranks of the largest job whose ranks a view has: 15 MiB for each look. A
/// view of a larger job has none.
inline constexpr std::uint32_t kMostViewRanks = 65'536;

/// The byte that a viewer sends. It sends the next one after the answer.
enum class ViewRequest : char {
  kJob = 'J',    ///< Facts about the job. Costs no look at the ranks.
  kRanks = 'R',  ///< That, and a look at every rank.
};

/// How far a rank has come.
enum class RankStage : std::uint8_t {
  kStarting,  ///< It has not called acp_init.
  kRunning,
  kFinished,  ///< It is past acp_finalize.
  kEnded,     ///< Its process has ended.
};

/// One rank at the moment of a look. Plain value.
struct RankView {
  std::uint32_t launch_rank = 0;  ///< Number at launch.
  std::uint32_t rank = 0;         ///< Present number; acp_reset changes it.
  std::uint32_t host = 0;         ///< Index in JobView::hosts.
  std::uint32_t pid = 0;
  std::uint32_t core = kNoSlot;  ///< Where it ran last; kNoSlot: unknown.
  RankStage stage = RankStage::kStarting;
  bool was_seen = false;         ///< False: its host has not answered.
  bool is_stopped = false;       ///< By a signal or a debugger.
  bool is_running = false;       ///< The thread that waits uses a processor.
  std::string call;              ///< The function that it waits in; "": none.
  std::uint32_t peer = kNoSlot;  ///< Present number of the rank waited for.
  /// Time for which acprun has seen this wait. It may have begun before.
  std::uint64_t waited_ms = 0;
  std::uint64_t waits = 0;     ///< Waits begun plus waits ended.
  std::uint64_t arrivals = 0;  ///< Passes of progress that found work.
  Traffic traffic;

  bool operator==(const RankView&) const = default;
};

/// A job at one moment. Plain value.
struct JobView {
  std::uint32_t acprun_pid = 0;
  std::uint32_t procs = 0;  ///< Ranks of the job.
  std::string program;      ///< The command, as one line.
  std::uint64_t age_ms = 0;
  std::string end;  ///< Why the job ends; "" while it runs.
  std::vector<std::string> hosts;
  /// In the order of the numbers at launch. Empty: nobody asked, or the job has
  /// more than kMostViewRanks.
  std::vector<RankView> ranks;

  bool operator==(const JobView&) const = default;
};

inline constexpr std::size_t kViewHeaderBytes = 12;

/// The view behind its header.
std::string encode_view(const JobView& view);

/// The first bytes of an answer.
struct ViewHeader {
  bool is_view = false;  ///< The magic number is there.
  std::uint32_t version = 0;
  std::uint32_t bytes = 0;  ///< Size of the view behind the header.
};

/// Precondition: `bytes` has at least kViewHeaderBytes.
ViewHeader decode_view_header(std::string_view bytes);

/// Reads the bytes behind a header. All texts of the result are printable.
/// nullopt: bytes that no acprun of this version would send.
std::optional<JobView> decode_view(std::string_view bytes);

}  // namespace acp::protocol
