// The messages between acprun and its daemons, which go over the standard input
// and output of a daemon. docs/launcher.md has the order of the messages.
//
//   offset 0  u32 magic      'ACPA'
//          4  u16 type       HostMessageType
//          6  u16 zero
//          8  u32 size       bytes of text that follow
//         12  u32 host       number of the host in the job
//         16  u32 rank       number at launch, or another number by type
//         20  u32 zero
//         24  i64 value      meaning by type
//         32  i64 more       meaning by type
//         40  text
//
// Before its first message a daemon sends one line, its greeting. Before the
// first message to a daemon the 32 bytes of the job's secret come (JobSecret).
// They have no header, so no buffer of messages ever has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace acp::launcher {

/// Raised when a message changes. acprun and a daemon with different numbers
/// refuse each other.
inline constexpr std::uint32_t kDaemonProtocol = 8;
inline constexpr std::uint32_t kHostMagic = 0x41504341;
inline constexpr std::size_t kHostHeaderBytes = 40;
/// The longest text. Tables, and the program that --preload copies, travel in
/// pieces.
inline constexpr std::size_t kHostMaxText = std::size_t{64} << 20;
/// HostMessage::host of a message to every host.
inline constexpr std::uint32_t kEveryHost = UINT32_MAX;

enum class HostMessageType : std::uint16_t {
  // From acprun to hosts.
  kOrders = 1,  ///< text: HostOrders.
  kProgram,     ///< text: a piece of the program that --preload copies.
  kStart,       ///< The ranks may start.
  kWelcome,     ///< rank.
  kTable,       ///< text: a published table, or a part of it, before kGo.
  kGo,          ///< value: Phase.
  kEnd,         ///< value: milliseconds until SIGKILL; text: why.
  kKill,
  kSignal,       ///< value: signal for every rank.
  kLook,         ///< Asks for kLooks. value: comes back.
  kAbsent,       ///< value: Absence::word().
  kInput,        ///< text: standard input of a rank; "" is its end.
  kCredit,       ///< value: bytes of output that may follow.
  kPause,        ///< acprun is about to be stopped: its silence is no death.
  kWantAddress,  ///< Asks for the address card of `rank`. value: rank that
                 ///< asks.
  kNoRoute,      ///< text: HostHeader::why_no_route, before kGo of kNetwork.

  // From hosts to acprun.
  kStarted = 64,  ///< rank; value: process id; text: its processors.
  kNotStarted,    ///< rank; value: exit status; more: process id; text: a
                  ///< reason and an advice.
  kExited,        ///< rank; value: wait status; more: errors of the rank.
  kRankMessage,   ///< rank; value: BootstrapType; more: value; text.
  kBadMessage,    ///< rank has sent bytes that make no sense.
  kPublished,     ///< text: published table of the host.
  kLooks,         ///< text: RankLooks of the host; value: that of kLook, or
                  ///< kLastLook.
  kOutput,        ///< rank: Output::Stream; text: whole lines.
  kSay,           ///< text: whole lines for acprun's standard error.
  kInputTaken,    ///< value: bytes that the rank has taken.
  kInputClosed,   ///< The rank has closed its standard input.
  kKeeperGone,    ///< value: wait status; more: process id. All ranks of the
                  ///< host have ended.
  kHostFailed,    ///< value: exit status; text: a reason and an advice. The
                  ///< host cannot start its ranks.
  kHostLost,      ///< text: how the connection to the host's daemon ended.
  kDone,          ///< The host has no process of the job left.
  kNetwork,       ///< text: HostNetwork, before the first kStarted.
  kCounters,      ///< text: RankCounters of a rank, before kDone. Sent with
                  ///< HostOrders::report_traffic.

  // In both directions.
  kAlive = 128,  ///< A sign of life.
  kAddress,      ///< text: address card of `rank`; value: rank that has asked.
};

/// HostMessage::value of kLooks that nobody asked for: the ranks have ended,
/// and their counts are final. Sent with HostOrders::report_traffic.
inline constexpr std::int64_t kLastLook = -1;

/// Plain value.
struct HostMessage {
  HostMessageType type = HostMessageType::kAlive;
  std::uint32_t host = 0;
  std::uint32_t rank = 0;
  std::int64_t value = 0;
  std::int64_t more = 0;
  std::string text = {};
};

/// Returns the bytes of one message.
std::string encode_host_message(const HostMessage& message);

/// A reason and an advice in one text, for kNotStarted and kHostFailed.
struct Reason {
  std::string text;
  std::string advice;
};

std::string encode_reason(const Reason& reason);
/// Both texts are printable, and of bounded length: another host has sent them.
Reason decode_reason(std::string_view text);

/// Divides a stream of bytes into messages. Makes no system call; used by one
/// thread.
class HostMessageReader {
 public:
  void feed(std::string_view bytes) { pending_.append(bytes); }

  /// Takes the next whole message; nullopt when more bytes are needed, or for
  /// ever when is_broken().
  std::optional<HostMessage> next();

  /// The other end has sent bytes that are no message of this version.
  bool is_broken() const noexcept { return is_broken_; }

 private:
  std::string pending_;
  std::size_t begin_ = 0;  ///< Bytes at the front of pending_ that are taken.
  bool is_broken_ = false;
};

/// The line that a daemon sends first: program, version, and the numbers that
/// have to be equal.
std::string daemon_greeting();

/// The greeting that acprun finds in the first bytes of a daemon.
struct Greeting {
  enum class Kind : std::uint8_t { kIncomplete, kGood, kOther, kNone };

  Kind kind = Kind::kIncomplete;
  std::string version;   ///< The daemon's, printable; with kGood and kOther.
  std::size_t size = 0;  ///< Bytes before the first message; with kGood.
};

/// Looks for the greeting. Shells may print lines of their own before it.
/// kNone: kGreetingLimit bytes have no greeting.
Greeting find_greeting(std::string_view bytes);

/// Enough for the longest notice of a login, and little to keep.
inline constexpr std::size_t kGreetingLimit = 64 << 10;

}  // namespace acp::launcher
