// What a rank and its launcher say to each other over one SOCK_SEQPACKET
// socket. One packet is one message:
//
//   offset 0  u32 magic      'ACPB'
//          4  u16 version    kBootstrapVersion
//          6  u16 type       BootstrapType
//          8  u64 value      meaning by type
//         16  u32 size       bytes of text that follow
//         20  u32 zero
//         24  text
//
// rank -> launcher   Hello (value: pid), Arrive (value: phase), Abort (value:
//                    exit status, text: message), Finalized
// launcher -> rank   Welcome (value: process number; the host segment's
//                    descriptor rides along), Go (value: phase), Ending
//                    (text: why the job ends)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acp::protocol {

/// Environment variable with the number of the rank's end of the socket.
inline constexpr const char* kBootstrapFdVariable = "ACP_BOOTSTRAP_FD";
/// Variables by which a rank knows its place before acp_init, or without it.
/// Its number at launch, and the number of ranks; then the same among the ranks
/// of its host.
inline constexpr const char* kRankVariable = "ACP_RANK";
inline constexpr const char* kProcsVariable = "ACP_PROCS";
inline constexpr const char* kLocalRankVariable = "ACP_LOCAL_RANK";
inline constexpr const char* kLocalProcsVariable = "ACP_LOCAL_PROCS";
inline constexpr std::uint32_t kBootstrapMagic = 0x42504341;
inline constexpr std::uint16_t kBootstrapVersion = 1;
inline constexpr std::size_t kBootstrapHeaderBytes = 24;
inline constexpr std::size_t kBootstrapMaxText = 2048;

enum class BootstrapType : std::uint16_t {
  kHello = 1,
  kWelcome = 2,
  kArrive = 3,
  kGo = 4,
  kAbort = 5,
  kFinalized = 6,
  kEnding = 7,
};

/// Collective points at which the launcher waits for every rank. A rank
/// passes them in this order, kCollective any number of times.
enum class Phase : std::uint64_t {
  kInit = 1,        ///< All cards are written: the job's tables are complete.
  kCollective = 2,  ///< A collective step between hosts (acp_reset).
  kFinalize = 3,    ///< All operations of all ranks are complete.
};

struct BootstrapMessage {
  BootstrapType type = BootstrapType::kHello;
  std::uint64_t value = 0;
  std::string text;  ///< At most kBootstrapMaxText bytes.
};

/// Pure: bytes to message; nothing when no peer of ours would send them.
std::optional<BootstrapMessage> decode_bootstrap(
    std::span<const std::byte> bytes);

/// Text beyond kBootstrapMaxText is cut.
std::vector<std::byte> encode_bootstrap(const BootstrapMessage& message);

}  // namespace acp::protocol
