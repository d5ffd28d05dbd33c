// Wraps a datagram socket, and loses, doubles, reorders, damages and delays the
// datagrams that arrive on it. For tests of real jobs (ACP_UDP_FAULTS).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "udp/datagram_socket.h"
#include "udp/delay_line.h"
#include "udp/fault_plan.h"

namespace acp::udp {

/// One thread at a time. Allocates: it is for tests only.
class FaultySocket final : public DatagramSocket {
 public:
  /// `me` is mixed into the seed, so that each process has its own faults.
  /// `clock` outlives the socket.
  FaultySocket(std::unique_ptr<DatagramSocket> inner,
               const FaultPlan& plan,
               transport::ProcId me,
               const Clock& clock);

  std::span<const Address> addresses() const noexcept override {
    return inner_->addresses();
  }

  std::size_t receive_buffer_bytes() const noexcept override {
    return inner_->receive_buffer_bytes();
  }

  std::size_t longest_train() const noexcept override {
    return inner_->longest_train();
  }

  Status send(transport::Color color,
              const Address& to,
              const Datagram& datagram) override {
    return inner_->send(color, to, datagram);
  }

  int send_error() const noexcept override { return inner_->send_error(); }

  std::span<const std::uint16_t> send_ports() const noexcept override {
    return inner_->send_ports();
  }

  bool connect(std::size_t index,
               transport::Color color,
               const Address& to) override {
    return inner_->connect(index, color, to);
  }

  Status send_connected(std::size_t index, const Datagram& datagram) override {
    return inner_->send_connected(index, datagram);
  }

  void disconnect(std::size_t index) override { inner_->disconnect(index); }

  std::optional<Arrival> receive(transport::Color color,
                                 std::span<std::byte> buffer) override;
  bool has_backlog() const noexcept override;
  TimePoint next_due() const noexcept override;

  std::span<const int> descriptors() const noexcept override {
    return inner_->descriptors();
  }

 private:
  /// A datagram that is delivered late, or a second time.
  struct Kept {
    Address from;
    std::vector<std::byte> bytes;
    int wait = 0;  ///< Calls of receive() until it is delivered.
  };

  std::optional<Arrival> next_of_path(transport::Color color,
                                      std::span<std::byte> buffer);
  std::optional<Arrival> release_kept(transport::Color color,
                                      std::span<std::byte> buffer);
  void keep(transport::Color color, const Arrival& arrival);

  // The engine's mutex guards these fields. Only receive() and its steps write
  // them.
  std::unique_ptr<DatagramSocket> inner_;
  FaultPlan plan_;  ///< Written by the constructor alone.
  FaultDice dice_;
  const Clock& clock_;
  std::vector<std::deque<Kept>> kept_;  ///< By color; in order of delivery.
  std::vector<DelayLine> lines_;        ///< By color.
};

}  // namespace acp::udp
