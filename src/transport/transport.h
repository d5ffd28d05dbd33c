// The one interface between the ordered engine and a transport.
//
// A transport delivers messages (byte strings) exactly once to the peer's
// agent, which executes them and answers with messages. Some endpoints also
// reach the peer's registered memory without the peer: copy_cross_memory()
// copies before it returns, post() copies later and reports completion. The
// library memory of ranks on this host is mapped, so the engine loads and
// stores there without a transport (gmm/address_space.h).
//
// Threads: one thread at a time calls into a transport and its endpoints; the
// engine calls them with its mutex held. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "protocol/operation.h"
#include "status/result.h"

namespace acp::transport {

/// The number that a process of the job got at launch. acp_reset changes ranks
/// but not process numbers, so transports know processes by this number only.
using ProcId = std::uint32_t;
using Color = std::uint32_t;

/// Every endpoint takes messages of this size at any time, and divides them no
/// further. A datagram of 576 bytes, the smallest of all packets, has room for
/// one.
inline constexpr std::size_t kLeastMessage = 480;

/// The abilities and limits of a transport; fixed once it is open.
struct Capabilities {
  /// Bytes of one message, all parts; at least kLeastMessage.
  std::size_t max_message = 0;
  std::size_t max_posted = 0;  ///< Bytes of one posted step; 0: no post().
  Color colors = 1;            ///< Independent paths to one peer.
  /// Endpoints take steps by post_behind(). A step that was posted, by this
  /// call or by post(), fails only with the peer.
  bool orders_posts = false;
  /// The device executes 8-byte atomics: post() takes them in color 0, also for
  /// this process's own memory. They are atomic only with each other, so no
  /// agent may execute an 8-byte atomic.
  bool executes_atomics = false;
};

/// Memory of this process that peers may reach: one live entry of the
/// process's key table.
struct Region {
  std::uint32_t key = 0;    ///< Index of the entry in the key table.
  std::uint64_t state = 0;  ///< protocol::KeyEntry::state; differs between all
                            ///< regions that have used this entry.
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  Color color = 0;         ///< The color in which peers reach the region.
  bool is_sparse = false;  ///< Most pages of the region are never touched.
};

/// Alignment in bytes. The offset in a global address counts from the region's
/// address rounded down to this alignment.
inline constexpr std::uint64_t kOffsetAlignment = 64;

/// A step that a transport executes in a peer's memory without the peer's
/// agent. Its ends are as a device needs them, because a device knows no global
/// address. Any step but kCopy; a put or get has at least one byte. The caller
/// has checked only its own end.
struct RemoteStep : protocol::Step {
  std::uint32_t key = 0;         ///< Index of an entry of the peer's key table.
  std::uint32_t local_key = 0;   ///< This process's region of `local_memory`.
  std::uint64_t state = 0;       ///< The state that the entry must have,
  std::uint64_t state_mask = 0;  ///< compared at the bits of this mask.
  std::uint64_t offset = 0;      ///< See kOffsetAlignment.
  std::byte* local_memory = nullptr;  ///< Source of a put, or memory for the
                                      ///< result. Null: kPut8, or no old value
                                      ///< is wanted.
};

/// A part of a region of this process.
struct LocalBytes {
  std::uint32_t key = 0;     ///< Index of the entry in the key table.
  std::uint64_t offset = 0;  ///< See kOffsetAlignment.
  std::uint64_t size = 0;
};

enum class Ordering : std::uint8_t {
  kFree,     ///< May be delivered before or after other messages.
  kOrdered,  ///< Delivered after every message sent earlier on this endpoint.
};

enum class Direction : std::uint8_t { kPut, kGet };

/// Receives what a transport's poll() finds; the runtime implements it and
/// passes requests to the agent, replies and completions to the engine.
class MessageSink {
 public:
  MessageSink() = default;
  MessageSink(const MessageSink&) = delete;
  MessageSink& operator=(const MessageSink&) = delete;

  /// Takes one message; each message arrives once. `bytes` is valid during the
  /// call only. The implementation may call send() and reclaim() of any
  /// endpoint, but never Transport::poll.
  virtual void on_message(ProcId from,
                          Color color,
                          std::span<const std::byte> bytes) = 0;

  /// The steps given to Endpoint::post with this token are complete: their
  /// effects are in the peer's memory, and their results in this process's.
  virtual void on_posted_done(std::uint64_t /*token*/) {}

  /// The peer is lost. Nothing will reach it or come from it, and no step that
  /// was posted to it touches memory of this process any more. `peer` is this
  /// process itself when it can reach no peer at all, for example because its
  /// device was removed. `why` goes into the message to the user.
  virtual void on_peer_failed(ProcId peer, std::string_view why) = 0;

 protected:
  ~MessageSink() = default;
};

/// The path to one peer in one color. The transport makes it on first use and
/// owns it.
class Endpoint {
 public:
  Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  virtual ~Endpoint() = default;

  /// Sends one message, whose parts are copied before the call returns. The
  /// message may wait for others to share a packet (batching) until flush() or
  /// flush_idle().
  /// kOk: the message will be delivered exactly once, or the peer is reported
  /// as failed. kAgain: there is no room now; poll, then offer the message
  /// again. kPeerDead: the peer is lost. kTooLarge: the message is above
  /// max_message.
  [[nodiscard]] virtual Status send(
      std::span<const std::span<const std::byte>> parts, Ordering ordering) = 0;

  /// Sends one message as send() does, except that the transport may read the
  /// last part later, until reclaim(), instead of copying it now. The program
  /// may write that part meanwhile; the peer then gets old or new bytes.
  [[nodiscard]] virtual Status send_in_place(
      std::span<const std::span<const std::byte>> parts, Ordering ordering) {
    return send(parts, ordering);
  }

  /// Sends one message as send() does, except that the transport may read the
  /// last part later, until the peer has acknowledged it. That part is memory
  /// of the library or of a region. Nobody waits for the end of the reading, so
  /// the memory may change meanwhile, and the peer gets old or new bytes.
  /// Memory that the program has unmapped is left out of a message that has to
  /// be sent again.
  [[nodiscard]] virtual Status send_from_region(
      std::span<const std::span<const std::byte>> parts, Ordering ordering) {
    return send(parts, ordering);
  }

  /// Bytes of a message that suits the path now. Larger messages are sent as
  /// well, but cost more: a copy is best divided into messages of this size.
  /// May be above Capabilities::max_message, and may change with every send.
  virtual std::size_t good_message() const noexcept { return SIZE_MAX; }

  /// Ends all reading by send_in_place() from within `memory`. After
  /// Transport::on_unregistered has returned true, after forget_regions(), and
  /// after the peer has failed, the transport reads no such memory either, nor
  /// that of send_from_region().
  virtual void reclaim(std::span<const std::byte> /*memory*/) noexcept {}

  /// The peer is about to access these bytes. A transport whose peers have to
  /// learn how to reach memory tells the peer, in front of the next message.
  virtual void announce(const LocalBytes& /*bytes*/) {}

  /// A cross-memory copy: between `local` and `remote_address`, an address of
  /// the peer's own address space. It is complete when the call returns. The
  /// caller has checked bounds and rights.
  /// kUnsupported: this endpoint can never do it; the caller sends messages.
  /// kBadAddress: the peer has no memory there. kPeerDead: the peer is lost.
  [[nodiscard]] virtual Status copy_cross_memory(Direction direction,
                                                 std::span<std::byte> local,
                                                 std::uint64_t remote_address);

  /// Posts steps for execution in order: all of them, or none. The memory at
  /// `local_memory` is the transport's until the steps are complete. kOk:
  /// MessageSink::on_posted_done(token) follows once, after this call has
  /// returned; or the peer is reported as failed. kAgain: there is no room now;
  /// poll, then post the steps again. kUnsupported: the endpoint does not take
  /// these steps, now or ever. The caller sends them as a message, and the
  /// peer's agent reports what is wrong with them if anything is. Steps with an
  /// atomic that only the device may execute (Capabilities::executes_atomics)
  /// are different. The caller posts several one by one, and sends a refused
  /// single one only to learn the error.
  [[nodiscard]] virtual Status post(std::span<const RemoteStep> steps,
                                    std::uint64_t token);

  /// Posts steps as post() does, except that they take effect behind all steps
  /// that were posted earlier on this endpoint. At both ends they read the
  /// bytes that earlier steps have written, and change no memory that an
  /// earlier step has yet to read.
  /// kUnsupported: the endpoint does not keep that order for these steps now,
  /// or post() refuses them. The caller waits for the earlier steps.
  [[nodiscard]] virtual Status post_behind(std::span<const RemoteStep> steps,
                                           std::uint64_t token);

  /// Posts steps as post() does, and sends one message behind them as send()
  /// does: both, or neither. The peer takes the message when the effects of
  /// these steps, and of all puts posted before them, are in its memory.
  /// kOk: as for post() and send(); the answer to the message may arrive before
  /// on_posted_done(token).
  /// kAgain: there is no room now; poll, then make the call again.
  /// kUnsupported: the endpoint does not take these steps with a message. The
  /// caller posts the steps, and sends the message when they are complete.
  [[nodiscard]] virtual Status post_then_send(
      std::span<const RemoteStep> steps,
      std::uint64_t token,
      std::span<const std::span<const std::byte>> message);
};

/// Makes endpoints and moves their traffic. The top of this file says which
/// threads may call.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual std::string_view name() const noexcept = 0;
  virtual const Capabilities& capabilities() const noexcept = 0;

  /// Describes the network that the transport is on, for ACP_NET=auto: with
  /// equal texts two processes reach each other. "": unknown.
  virtual std::string fabric() const { return {}; }

  /// Describes this process's end of a color for people: the device or the
  /// interface, and its address. "": unknown.
  virtual std::string describe_color(Color /*color*/) const { return {}; }

  /// Describes for people how packets are protected against strangers. "": the
  /// network does that, and not the transport.
  virtual std::string protection() const { return {}; }

  /// Says for people why agents execute atomics although the transport has
  /// devices. "": it has none, or its devices execute atomics.
  virtual std::string why_agents() const { return {}; }

  /// Returns the endpoint of a peer in a color; equal arguments give the same
  /// pointer. Fails with kBadColor, with kNoMemory, and with kBadRank for a
  /// process that does not exist. A network may also fail when the peer's
  /// address card does not fit, which it logs, and with kUnsupported for this
  /// process itself.
  virtual Result<Endpoint*> endpoint(ProcId peer, Color color) = 0;

  /// Moves the traffic forward: receives, hands messages and completions of
  /// posted steps to `sink`, and finds what has to be sent again. Returns how
  /// many messages and completions it handed over. Does a bounded amount of
  /// work. The caller calls flush() or flush_idle() afterwards.
  virtual std::size_t poll(MessageSink& sink) = 0;

  /// Whether the last poll() has worked for a peer without handing anything
  /// over, as a device would have. More may come soon, so a caller that waits
  /// stays awake.
  virtual bool has_served() const noexcept { return false; }

  /// Sends every message that send() kept back for batching.
  virtual void flush() = 0;

  /// Sends what send() kept back, except for messages to a peer that owes an
  /// answer. Such messages may wait for the answer's acknowledgement to share a
  /// packet.
  virtual void flush_idle() { flush(); }

  /// A region was registered: from now on peers may access it, and post(),
  /// send_in_place() and send_from_region() may use it here.
  virtual void on_registered(const Region& /*region*/) {}

  /// A region is being unregistered: after the first call no send here and no
  /// peer begins to use it. Returns true, once and for all, when every use has
  /// ended; until then the caller polls and calls again.
  virtual bool on_unregistered(std::uint32_t /*key*/, std::uint64_t /*state*/) {
    return true;
  }

  /// acp_reset: no process has any region any more. Nothing is in flight, and
  /// no process posts before all processes have called this.
  virtual void forget_regions() {}

  /// The time at which poll() has to be called even if nothing arrives, because
  /// of a time-out; TimePoint::max() when there is none.
  virtual TimePoint next_deadline() const noexcept = 0;

  /// Descriptors that become readable when poll() has something to receive.
  /// They are valid as long as the transport.
  virtual std::span<const int> descriptors() const noexcept = 0;

  /// The caller is about to sleep on the descriptors. Returns false when
  /// something has arrived already; the caller then polls instead of sleeping.
  virtual bool arm() = 0;
  /// The caller has slept, or has decided not to.
  virtual void disarm() = 0;
};

}  // namespace acp::transport
