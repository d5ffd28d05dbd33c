// The credit of a connection, as one of its ends keeps it. It tells which
// packets this end may send, and which it lets the other end send. Pure state
// without devices, used by Endpoint. docs/verbs.md, "Flow control", has the
// protocol.
//
// The immediate data of each SEND, from the lowest bit:
//
//   16 bits  consumed   packets consumed from the other end, modulo 2^16
//    5 bits  window     packets that the other end may send after those
//    1 bit   is_short   a message had to wait for credit since the last SEND
//    1 bit   gives_up   the sender keeps credit for kIdleWindow packets
//    1 bit   moves      last SEND to come on this queue pair
//    8 bits  given_up   SENDs with gives_up read from the other end, modulo 2^8
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace acp::verbs {

/// Packets of one direction that may be sent and not yet consumed: on a
/// connection that is not used, and at most.
inline constexpr std::uint32_t kIdleWindow = 1;
inline constexpr std::uint32_t kWindow = 16;
/// Largest window of a connection whose queue pair is small.
inline constexpr std::uint32_t kSmallWindow = 2;
/// Empty packets of one direction that can be unread.
inline constexpr std::uint32_t kEmptyPackets = 2;
/// Receive buffers that one connection may need at once.
inline constexpr std::uint32_t kReceivesPerConnection = kWindow + kEmptyPackets;
/// Receive buffers that it may need while its queue pair is small.
inline constexpr std::uint32_t kReceivesOfSmall = kSmallWindow + kEmptyPackets;

/// The immediate data of a SEND. A plain value.
struct CreditNote {
  std::uint16_t consumed = 0;
  std::uint8_t window = 0;
  bool is_short = false;
  bool gives_up = false;
  bool moves = false;
  std::uint8_t given_up = 0;

  friend bool operator==(const CreditNote&, const CreditNote&) = default;
};

std::uint32_t encode_credit(const CreditNote& note) noexcept;
/// Nothing when no end would have written these bits.
std::optional<CreditNote> decode_credit(std::uint32_t bits) noexcept;

/// Whether a packet has frames. Only such packets need credit.
enum class Load : std::uint8_t { kNone, kFrames };

/// One end. All counts are modulo 2^32 and count packets with frames.
/// Invariants:
/// 1. acknowledged_ <= sent_ <= limit_ <= the other end's granted_.
/// 2. consumed_ <= received_ <= granted_ <= received_ + window_.
/// 3. The owner has window_ receive buffers posted for this connection, and
///    others for empty packets.
/// The endpoint that has the object is the only one to use it, under the
/// engine's mutex.
class Credit {
 public:
  /// Whether this end may send a packet with frames.
  bool may_send() const noexcept { return sent_ != limit_; }

  /// A message has to wait for credit. The next SEND tells the other end.
  void want_more() noexcept { is_short_ = true; }

  /// The immediate data of the packet that is posted next. Grants the other end
  /// all that its window allows. Precondition for kFrames: may_send().
  std::uint32_t on_send(Load load) noexcept;

  /// Whether this end has more credit than an idle connection needs.
  bool has_spare() const noexcept { return limit_ - sent_ > kIdleWindow; }

  /// Keeps credit for kIdleWindow packets. Returns the immediate data of the
  /// empty packet that tells so. Precondition: has_spare().
  std::uint32_t give_up() noexcept;

  /// The immediate data of the last packet on a queue pair, which is empty.
  std::uint32_t move() noexcept;

  /// A packet of the other end has arrived. False: it breaks a rule.
  [[nodiscard]] bool on_arrival(std::uint32_t bits, Load load) noexcept;

  /// A packet with frames is consumed, and its receive buffer is free again.
  void on_consumed() noexcept;

  /// Whether an empty packet has to return credit now.
  bool is_due() const noexcept;

  /// Whether the other end needs a larger window.
  bool needs_growth() const noexcept;

  /// Doubles the window of the other end. Precondition: window() more receive
  /// buffers are posted.
  void grow() noexcept;

  std::uint32_t window() const noexcept { return window_; }

  /// All counts, for the report of a broken rule.
  std::string describe() const;

 private:
  std::uint32_t note() noexcept;

  // Packets to the other end. Written by on_send() and give_up() when a packet
  // is posted, by on_arrival() when one is read, and by want_more().
  std::uint32_t sent_ = 0;
  std::uint32_t acknowledged_ = 0;     ///< Consumed there, as last read.
  std::uint32_t limit_ = kIdleWindow;  ///< Packets that may be sent in all.
  std::uint8_t given_up_ = 0;          ///< Calls of give_up().
  bool is_short_ = false;              ///< want_more() since the last SEND.

  // Packets from the other end. Written by on_arrival(), on_consumed() and
  // grow(). on_send() writes granted_.
  std::uint32_t received_ = 0;
  std::uint32_t consumed_ = 0;
  std::uint32_t granted_ = kIdleWindow;  ///< Packets that it may send in all.
  std::uint32_t window_ = kIdleWindow;
  std::uint32_t used_up_ = 0;       ///< Times without credit in this window.
  std::uint8_t read_given_up_ = 0;  ///< Packets with gives_up.
  bool is_wanted_ = false;          ///< It was short of credit in this window.
};

}  // namespace acp::verbs
