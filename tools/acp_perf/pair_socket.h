// The UDP sockets of ranks 0 and 1. Raw rows measure with them the time that
// the kernel's UDP takes without ACP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host_address.h"
#include "row.h"

namespace acp::perf {

/// A raw UDP row is skipped with this reason when PairSocket::meet() fails.
inline constexpr const char* kNoPair =
    "no UDP between ranks 0 and 1; ACP_UDP_INTERFACES names the interface";

/// A non-blocking UDP socket, closed by the destructor. On one host both are on
/// the loopback. Not thread-safe.
class PairSocket {
 public:
  explicit PairSocket(Context& context);
  PairSocket(const PairSocket&) = delete;
  PairSocket& operator=(const PairSocket&) = delete;
  ~PairSocket();

  /// Connects the sockets of ranks 0 and 1, which both call it at the same
  /// time, and sends a datagram each way. False when none arrives within a
  /// second, on rank 1 when the row is over.
  bool meet();

  /// Sends one datagram. A full send buffer loses it; the caller sends again.
  void send(std::span<const std::byte> bytes) const;

  /// Sends datagrams of `step` bytes, and a last one of what is left, with one
  /// call if the system can (UDP_SEGMENT), else each alone.
  void send_train(std::span<const std::byte> bytes, std::size_t step);

  /// Receives a datagram of exactly this size; false when none has arrived.
  bool receive(std::span<std::byte> bytes) const;

  /// From now on receive_some() may return several datagrams together
  /// (UDP_GRO).
  void take_trains() const;

  /// Receives a datagram of at most this size. Returns its bytes, 0 when none
  /// has arrived.
  std::size_t receive_some(std::span<std::byte> bytes) const;

  /// Asks for a receive buffer of `bytes`; returns the bytes granted. In the
  /// kernel's accounting a datagram takes up to twice its size.
  std::size_t grow_buffer(int bytes) const;

  /// The largest datagram, in bytes, that goes to the peer as one IP packet.
  /// Precondition: meet() was true.
  std::size_t packet_bytes() const;

 private:
  bool connect_to(std::uint64_t port) const;
  bool greet_rank_one() const;
  bool greet_rank_zero() const;

  Context& context_;
  SocketAddress own_;
  int fd_ = -1;
  bool has_trains_ = true;  ///< Until the system refuses one.
};

}  // namespace acp::perf
