// The messages between a rank and its launcher. They go over one SOCK_SEQPACKET
// socket for each rank, and one packet is one message:
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
//                    exit status, text: message), Finalized; in a job of
//                    several hosts Absent (value: Absence::word());
//                    from macprun's join command Ended (value: wait status of
//                    the rank's program); WantAddress (value: number of a
//                    process)
// launcher -> rank   Welcome (value: process number; the host segment's
//                    descriptor is attached), Go (value: phase), Ending
//                    (text: why the job ends), Address (value: bytes that
//                    now are in the rank's room for a fetched address card)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acp::protocol {

/// Environment variable with the descriptor of the rank's end of the socket.
inline constexpr const char* kBootstrapFdVariable = "ACP_BOOTSTRAP_FD";
/// Environment variables for programs that ask before acp_init, or without it.
/// They have the rank at launch and the number of ranks, in the job and on the
/// host.
inline constexpr const char* kRankVariable = "ACP_RANK";
inline constexpr const char* kProcsVariable = "ACP_PROCS";
inline constexpr const char* kLocalRankVariable = "ACP_LOCAL_RANK";
inline constexpr const char* kLocalProcsVariable = "ACP_LOCAL_PROCS";
inline constexpr std::uint32_t kBootstrapMagic = 0x42504341;
inline constexpr std::uint16_t kBootstrapVersion = 5;
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
  kAbsent = 8,        ///< This rank is in a call that ends others' barriers.
  kEnded = 9,         ///< The program of this rank has ended; the last message.
  kWantAddress = 10,  ///< This rank asks for an address card, one at a time.
  kAddress = 11,      ///< The answer; 0 bytes: that process has published none.
};

/// Collective points at which the launcher waits for every rank. A rank
/// passes them in this order, kCollective any number of times.
enum class Phase : std::uint64_t {
  kNetwork = 4,     ///< On several hosts: all have proposed a network.
  kInit = 1,        ///< All address cards are in the host segment.
  kCollective = 2,  ///< A barrier inside acp_reset.
  kFinalize = 3,    ///< All operations of all ranks are complete.
};

struct BootstrapMessage {
  BootstrapType type = BootstrapType::kHello;
  std::uint64_t value = 0;
  std::string text;  ///< At most kBootstrapMaxText bytes.
};

/// Decodes one packet; nullopt when no rank or launcher of this version would
/// send it.
std::optional<BootstrapMessage> decode_bootstrap(
    std::span<const std::byte> bytes);

/// Encodes one packet. Text beyond kBootstrapMaxText bytes is left out.
std::vector<std::byte> encode_bootstrap(const BootstrapMessage& message);

}  // namespace acp::protocol
