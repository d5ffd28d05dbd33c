// A network inside one process with a clock of its own: datagrams between any
// number of wires are lost, doubled, delayed, reordered and damaged from a
// fixed seed, and time passes only when nothing is left to do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "udp/datagram_socket.h"
#include "udp/fault_plan.h"
#include "udp/udp_transport.h"

namespace acp::test {

/// A clock that is set by hand.
class VirtualClock final : public Clock {
 public:
  TimePoint now() const noexcept override { return now_; }

  void advance_to(TimePoint time) noexcept { now_ = time > now_ ? time : now_; }

  void advance(Duration duration) noexcept { now_ += duration; }

 private:
  TimePoint now_{std::chrono::seconds(1000)};
};

/// Color c listens at 1000 + c, and its connected sockets send from 2000 + c.
inline constexpr std::uint16_t kFirstPort = 1000;
inline constexpr std::uint16_t kFirstSendPort = 2000;

inline bool is_connected(const udp::Address& from) {
  return from.port >= kFirstSendPort;
}

/// How the network treats datagrams, besides the faults.
struct NetworkPlan {
  udp::FaultPlan faults;
  Duration delay = std::chrono::microseconds(10);
  /// Added to a datagram that is reordered: up to this.
  Duration reorder_delay = std::chrono::microseconds(100);
  /// A firewall that knows only the addresses that processes listen at.
  bool blocks_connected = false;
  bool has_connected = true;  ///< Connected sockets can be opened.
  int send_error = 0;  ///< errno value by which the system refuses datagrams.
  bool refuses_connected = false;  ///< They can, and cannot be sent by.
  /// Receive buffer of each color; what does not fit is lost.
  std::size_t buffer_bytes = std::size_t{8} << 20;
};

/// Not thread-safe. Wires must not outlive it.
class FakeNetwork {
 public:
  /// What happened to a datagram, for observe().
  struct Event {
    TimePoint time;
    udp::Address from;
    udp::Address to;
    std::span<const std::byte> bytes;
  };

  explicit FakeNetwork(const NetworkPlan& plan = {});

  VirtualClock& clock() noexcept { return clock_; }

  NetworkPlan& plan() noexcept { return plan_; }

  /// A wire of process `proc` with addresses of its own.
  std::unique_ptr<udp::DatagramSocket> make_socket(transport::ProcId proc,
                                                   transport::Color colors);

  /// Everything from and to this process is lost from now on.
  void cut(transport::ProcId proc) { cut_.insert(proc); }

  void mend(transport::ProcId proc) { cut_.erase(proc); }

  /// Connected sockets that this process has now.
  std::size_t open_connections(transport::ProcId proc) const;

  /// Puts a datagram on the network as if `from` had sent it; no faults.
  void inject(const udp::Address& from,
              const udp::Address& to,
              std::span<const std::byte> datagram);

  /// Sees each datagram that is sent, before the faults.
  void observe(std::function<void(const Event&)> observer) {
    observer_ = std::move(observer);
  }

  /// When the next datagram arrives; max() when none is under way.
  TimePoint next_arrival() const noexcept;

 private:
  friend class FakeSocket;

  struct Datagram {
    udp::Address from;
    std::vector<std::byte> bytes;
  };

  /// What lies before one address, by time of arrival.
  struct Mailbox {
    std::multimap<TimePoint, Datagram> datagrams;
    std::uint64_t bytes = 0;
  };

  using AddressKey = std::uint32_t;  ///< Process and color, from the address.

  static AddressKey key_of(const udp::Address& address) noexcept;
  void send(const udp::Address& from,
            const udp::Address& to,
            std::span<const std::byte> datagram);
  void post(const udp::Address& from,
            const udp::Address& to,
            std::vector<std::byte> bytes,
            Duration delay);
  std::optional<Datagram> take(const udp::Address& at);

  NetworkPlan plan_;
  VirtualClock clock_;
  udp::FaultDice dice_;
  std::map<AddressKey, Mailbox> mailboxes_;
  std::set<transport::ProcId> cut_;
  std::map<transport::ProcId, std::size_t> open_connections_;
  std::function<void(const Event&)> observer_;
};

/// A sink that hands everything to functions, if they are set.
// Never deleted through its base, whose destructor is protected.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor)
class FunctionSink final : public transport::MessageSink {
 public:
  std::function<void(
      transport::ProcId, transport::Color, std::span<const std::byte>)>
      message;
  std::function<void(transport::ProcId, std::string_view)> failed;

  void on_message(transport::ProcId from,
                  transport::Color color,
                  std::span<const std::byte> bytes) override {
    if (message) {
      message(from, color, bytes);
    }
  }

  void on_peer_failed(transport::ProcId peer, std::string_view why) override {
    if (failed) {
      failed(peer, why);
    }
  }
};

/// How to make the processes of a FakeJob.
struct FakeJobPlan {
  std::uint32_t procs = 2;
  transport::Color colors = 1;
  NetworkPlan network;
  std::size_t datagram_bytes = 1400;
  std::uint64_t first_seq = 0;
  std::size_t max_fragments = 0;
  std::uint32_t ranks_per_core = 1;
  Duration silence = std::chrono::seconds(10);
};

/// A job of several processes, each with its transport, over one network.
/// Not thread-safe.
class FakeJob {
 public:
  static constexpr std::uint32_t kEpoch = 0x5eed;

  explicit FakeJob(const FakeJobPlan& plan);

  FakeNetwork& network() noexcept { return network_; }

  udp::UdpTransport& transport(transport::ProcId proc) {
    return *transports_[proc];
  }

  FunctionSink& sink(transport::ProcId proc) { return sinks_[proc]; }

  udp::Address address(transport::ProcId proc, transport::Color color) const;

  /// What the transport of `proc` is told when it asks.
  transport::WaitedFor& waited_for(transport::ProcId proc) {
    return waited_for_[proc];
  }

  transport::Endpoint& endpoint(transport::ProcId from,
                                transport::ProcId to,
                                transport::Color color = 0);

  /// Polls every process once. Returns the messages delivered.
  std::size_t step();

  /// Lets the job work until `is_done`; time jumps to the next event when
  /// nothing else is left to do. False when `limit` of virtual time passed or
  /// nothing will ever happen any more.
  bool run_until(const std::function<bool()>& is_done,
                 Duration limit = std::chrono::hours(1));

  /// Until nothing is under way and no time-out is pending.
  bool run_until_idle(Duration limit = std::chrono::hours(1));

  void run_for(Duration duration);

 private:
  TimePoint next_event() const noexcept;

  FakeNetwork network_;
  std::vector<std::vector<std::byte>> cards_;
  std::vector<std::unique_ptr<udp::UdpTransport>> transports_;
  std::vector<FunctionSink> sinks_;
  std::vector<transport::WaitedFor> waited_for_;
};

}  // namespace acp::test
