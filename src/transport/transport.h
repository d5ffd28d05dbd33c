// The one interface between the ordered engine and a wire.
//
// A wire delivers byte strings ("messages") exactly once to the peer's agent,
// which executes them and answers with messages. An endpoint may besides
// transfer bytes to and from the peer's registered memory by itself.
// Library memory of ranks on this host is mapped: the engine loads and stores
// there without asking a transport (gmm/address_space.h).
//
// Threads: one thread at a time calls into a transport and its endpoints;
// the engine's lock sees to that. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace acp::transport {

/// A process of the job by its number at launch. Ranks change in acp_reset,
/// process numbers never do; wires know only these.
using ProcId = std::uint32_t;
using Color = std::uint32_t;

/// What this transport can do; fixed once it is open.
struct Capabilities {
  std::size_t max_message = 0;  ///< Bytes of one message, all parts.
  Color colors = 1;             ///< Independent paths to one peer.
};

enum class Ordering : std::uint8_t {
  kFree,     ///< May be delivered before or after others.
  kOrdered,  ///< After every message sent earlier on this endpoint.
};

enum class Direction : std::uint8_t { kPut, kGet };

/// Where received messages go; implemented by the agent.
class MessageSink {
 public:
  MessageSink() = default;
  MessageSink(const MessageSink&) = delete;
  MessageSink& operator=(const MessageSink&) = delete;

  /// One message, once. `bytes` is valid during the call only. May call
  /// Endpoint::send of any endpoint, never Transport::poll.
  virtual void on_message(ProcId from,
                          Color color,
                          std::span<const std::byte> bytes) = 0;

  /// Nothing will reach or come from this peer any more. `why` is for people.
  virtual void on_peer_failed(ProcId peer, std::string_view why) = 0;

 protected:
  ~MessageSink() = default;
};

/// The path to one peer in one color. Made on first use, lives as long as its
/// transport.
class Endpoint {
 public:
  Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  virtual ~Endpoint() = default;

  /// Takes one message, given in parts that are copied before the return.
  /// kOk: it will be delivered exactly once, or the peer reported as failed.
  /// kAgain: no room now; poll, then offer the same message again.
  /// kPeerDead: never. kTooLarge: above max_message. Messages may wait for
  /// company until flush() or flush_idle().
  [[nodiscard]] virtual Status send(
      std::span<const std::span<const std::byte>> parts, Ordering ordering) = 0;

  /// Copies between `local` and the peer's own address `remote_address`; done
  /// when it returns. The caller has checked bounds and rights.
  /// kUnsupported: never possible on this path, use messages.
  /// kBadAddress: the peer has no memory there. kPeerDead: it is gone.
  [[nodiscard]] virtual Status transfer(Direction direction,
                                        std::span<std::byte> local,
                                        std::uint64_t remote_address);
};

/// A wire. See the top of this file for threads.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual std::string_view name() const noexcept = 0;
  virtual const Capabilities& capabilities() const noexcept = 0;

  /// The path to a peer; the same pointer for the same arguments.
  /// kBadColor, kBadRank, kNoMemory.
  virtual Result<Endpoint*> endpoint(ProcId peer, Color color) = 0;

  /// Moves the wire forward: receives, hands messages to `sink`, finds what is
  /// to be sent again. Returns how many messages it handed over. Never blocks;
  /// bounded work. flush() follows, most often at once.
  virtual std::size_t poll(MessageSink& sink) = 0;

  /// Sends what send() kept back for company.
  virtual void flush() = 0;

  /// The same, except that messages to a peer that has something to answer may
  /// wait on.
  virtual void flush_idle() { flush(); }

  /// When poll() has to be called although nothing arrives (a time-out);
  /// TimePoint::max() for never.
  virtual TimePoint next_deadline() const noexcept = 0;

  /// Descriptors that become readable when poll() has something to receive.
  /// Valid as long as the transport.
  virtual std::span<const int> descriptors() const noexcept = 0;

  /// Called before sleeping on the descriptors. Returns false when something
  /// has arrived already: poll again instead of sleeping.
  virtual bool arm() = 0;
  /// Called after sleeping.
  virtual void disarm() = 0;
};

}  // namespace acp::transport
