// The one interface between the ordered engine and a wire.
//
// A wire delivers byte strings ("messages") exactly once to the peer's agent,
// which executes them and answers with messages. An endpoint may besides
// reach the peer's registered memory by itself: transfer() does it in the
// call, post() on the way.
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
#include "protocol/operation.h"

namespace acp::transport {

/// A process of the job by its number at launch. Ranks change in acp_reset,
/// process numbers never do; wires know only these.
using ProcId = std::uint32_t;
using Color = std::uint32_t;

/// What this transport can do; fixed once it is open.
struct Capabilities {
  std::size_t max_message = 0;  ///< Bytes of one message, all parts.
  std::size_t max_posted = 0;   ///< Bytes of one posted step; 0: no post().
  Color colors = 1;             ///< Independent paths to one peer.
  /// post() does atomics of 8 bytes, in color 0, also on memory of my own, and
  /// they are atomic with no others: no agent may execute one.
  bool executes_atomics = false;
};

/// Memory of this process that peers may reach: a live entry of its key table.
struct Region {
  std::uint32_t key = 0;    ///< Which entry.
  std::uint64_t state = 0;  ///< protocol::KeyEntry::state; no two regions of a
                            ///< key have the same.
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  Color color = 0;         ///< By which peers reach it.
  bool is_sparse = false;  ///< Most of it is never touched.
};

/// Offsets of global addresses count from a region's address rounded down to
/// this.
inline constexpr std::uint64_t kOffsetAlignment = 64;

/// A step that a wire does in a peer's memory without the peer. The caller has
/// checked only its own side.
struct RemoteStep {
  protocol::Opcode opcode = protocol::Opcode::kPut;  ///< Not kCopy.
  std::uint8_t width = 8;                            ///< Of an atomic, bytes.
  std::uint16_t flags = 0;                           ///< protocol::kSignalFlag.
  std::uint32_t key = 0;         ///< Entry of the peer's key table, whose
  std::uint64_t state = 0;       ///< state has to have these bits
  std::uint64_t state_mask = 0;  ///< where this has ones.
  std::uint64_t offset = 0;      ///< See kOffsetAlignment.
  std::byte* local = nullptr;    ///< Source, or where the result goes; null:
                                 ///< kPut8, or the old value is not wanted.
  std::uint32_t local_key = 0;   ///< My region that holds it.
  std::uint64_t size = 0;        ///< Of a put or get: not 0.
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
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

  /// One message, once. `bytes` is valid during the call only. May call send()
  /// and reclaim() of any endpoint, never Transport::poll.
  virtual void on_message(ProcId from,
                          Color color,
                          std::span<const std::byte> bytes) = 0;

  /// The steps given to Endpoint::post with this token are done: their effects
  /// are in the peer's memory, their results in mine.
  virtual void on_posted_done(std::uint64_t /*token*/) {}

  /// Nothing will reach or come from this peer any more; what was posted to it
  /// touches no memory of mine any more. This process itself, when what it
  /// needs to reach others is gone. `why` is for people.
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

  /// The same, except that the last part may be read until reclaim() instead of
  /// being copied. What it holds may change meanwhile: the peer gets all of it
  /// as it was at some moment.
  [[nodiscard]] virtual Status send_in_place(
      std::span<const std::span<const std::byte>> parts, Ordering ordering) {
    return send(parts, ordering);
  }

  /// What was given to send_in_place() from within `memory` is not read any
  /// more. The same after Transport::on_unregistered and the peer's failure.
  virtual void reclaim(std::span<const std::byte> /*memory*/) noexcept {}

  /// Copies between `local` and the peer's own address `remote_address`; done
  /// when it returns. The caller has checked bounds and rights.
  /// kUnsupported: never possible on this path, use messages.
  /// kBadAddress: the peer has no memory there. kPeerDead: it is gone.
  [[nodiscard]] virtual Status transfer(Direction direction,
                                        std::span<std::byte> local,
                                        std::uint64_t remote_address);

  /// Takes steps for execution in order: all of them, or none. What `local`
  /// points to stays the wire's until the end.
  /// kOk: MessageSink::on_posted_done(token) follows, once, and not from
  /// within this call; or the peer is reported as failed.
  /// kAgain: no room now; poll, then offer them again.
  /// kUnsupported: not these, or not now; use a message. The peer answers to
  /// that also what is wrong with the steps, if something is. With an atomic
  /// among them that is the wire's (Capabilities::executes_atomics) it means
  /// never: one by one, where there are several, and of one the peer's agent
  /// says what is wrong.
  [[nodiscard]] virtual Status post(std::span<const RemoteStep> steps,
                                    std::uint64_t token);
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

  /// Moves the wire forward: receives, hands messages and what was posted and
  /// is done to `sink`, finds what is to be sent again. Returns how many of
  /// both it handed over. Never blocks; bounded work. flush() follows, most
  /// often at once.
  virtual std::size_t poll(MessageSink& sink) = 0;

  /// Sends what send() kept back for batching.
  virtual void flush() = 0;

  /// The same, except that messages to a peer that has something to answer may
  /// wait on.
  virtual void flush_idle() { flush(); }

  /// Peers may ask for this region from now on, post() use it here, and
  /// send_in_place() read it.
  virtual void on_registered(const Region& /*region*/) {}

  /// Nobody may any more: from the first call on no send here and no peer
  /// begins to use it. True when nobody does, which is final; else poll, and
  /// call again.
  virtual bool on_unregistered(std::uint32_t /*key*/, std::uint64_t /*state*/) {
    return true;
  }

  /// acp_reset: no region of any process is there any more. Nothing is under
  /// way, and nobody posts before all have called this.
  virtual void forget_regions() {}

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
