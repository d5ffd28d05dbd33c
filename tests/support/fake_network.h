// A network inside one process with a clock of its own. Datagrams between any
// number of datagram sockets are lost, doubled, delayed, reordered and damaged
// from a fixed seed. Time passes only when no process has anything left to do.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
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

/// How the network treats datagrams. Tests may change it while they run.
struct NetworkPlan {
  udp::FaultPlan faults;
  Duration delay = std::chrono::microseconds(10);
  /// Most that is added to the delay of a reordered datagram.
  Duration reorder_delay = std::chrono::microseconds(100);
  /// Models a firewall that passes only datagrams from listening addresses.
  bool blocks_connected = false;
  bool has_connected = true;  ///< Connected sockets can be opened.
  int send_error = 0;  ///< errno value with which every unconnected send fails.
  bool refuses_connected = false;  ///< Every send by connected sockets fails.
  bool is_full = false;            ///< No socket has room for a datagram.
  /// Receive buffer of each color. A datagram that does not fit is lost.
  std::size_t buffer_bytes = std::size_t{8} << 20;
  /// The processes are on different hosts; otherwise on one host.
  bool has_hosts = false;
  /// Datagrams that one call may send together.
  std::size_t longest_train = 64;
  /// Larger datagrams are lost, unless they may be divided; 0: none is.
  std::size_t mtu = 0;
  /// Bytes a second of the link that all datagrams pass; 0: no limit. Its two
  /// directions have a queue each: to a process of a higher number, and back.
  std::uint64_t link_rate = 0;
  /// Queue before that link. A datagram that does not fit is lost.
  std::uint64_t queue_bytes = std::uint64_t{1} << 40;
};

/// Datagrams that the network has sent, lost and kept waiting.
struct NetworkCounts {
  std::uint64_t calls = 0;  ///< Each sends a datagram or a train.
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;  ///< By loss, damage, MTU, queue or full buffer.
  std::uint64_t longest_queue = 0;  ///< Bytes before the link, at the most.
};

/// Not thread-safe. Its datagram sockets must not outlive it.
class FakeNetwork {
 public:
  /// A datagram that was sent, for observe().
  struct Event {
    TimePoint time;
    udp::Address from;
    udp::Address to;
    std::span<const std::byte> bytes;
  };

  explicit FakeNetwork(const NetworkPlan& plan = {});

  VirtualClock& clock() noexcept { return clock_; }

  NetworkPlan& plan() noexcept { return plan_; }

  const NetworkCounts& counts() const noexcept { return counts_; }

  /// Forgets the longest queue, for a test of what follows.
  void forget_queue() noexcept { counts_.longest_queue = 0; }

  /// A datagram socket of process `proc` with addresses of its own.
  std::unique_ptr<udp::DatagramSocket> make_socket(transport::ProcId proc,
                                                   transport::Color colors);

  /// From now on all datagrams from and to this process are lost.
  void disconnect(transport::ProcId proc) { disconnected_.insert(proc); }

  void reconnect(transport::ProcId proc) { disconnected_.erase(proc); }

  /// Number of connected sockets that this process has open.
  std::size_t open_connections(transport::ProcId proc) const;

  /// Puts a datagram on the network as if `from` had sent it; no faults.
  void inject(const udp::Address& from,
              const udp::Address& to,
              std::span<const std::byte> datagram);

  /// Sets a function that sees each datagram that is sent, before the faults.
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
    Duration waited{};  ///< Since it has arrived; set by take().
  };

  /// Datagrams on their way to one address, by time of arrival.
  struct Mailbox {
    std::multimap<TimePoint, Datagram> datagrams;
    std::uint64_t bytes = 0;
  };

  using AddressKey = std::uint32_t;  ///< Process and color, from the address.

  static AddressKey key_of(const udp::Address& address) noexcept;
  void send(const udp::Address& from,
            const udp::Address& to,
            std::span<const std::byte> datagram,
            bool may_be_fragmented);
  bool is_lost(const udp::Address& from,
               const udp::Address& to,
               std::size_t bytes,
               bool may_be_fragmented);
  std::optional<Duration> pass_link(TimePoint& link_free, std::size_t bytes);
  void post(const udp::Address& from,
            const udp::Address& to,
            std::vector<std::byte> bytes,
            Duration delay);
  std::optional<Datagram> take(const udp::Address& at);

  NetworkPlan plan_;
  NetworkCounts counts_;
  /// By direction: the link has sent everything by then.
  std::array<TimePoint, 2> link_free_{};
  VirtualClock clock_;
  udp::FaultDice dice_;
  std::map<AddressKey, Mailbox> mailboxes_;
  std::set<transport::ProcId> disconnected_;
  std::map<transport::ProcId, std::size_t> open_connections_;
  std::function<void(const Event&)> observer_;
};

/// A sink that calls the functions that the test has set.
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
  NetworkPlan network{};
  std::size_t datagram_bytes = 1400;
  std::uint64_t first_seq = 0;
  std::size_t max_fragments = 0;
  std::uint32_t ranks_per_core = 1;
  Duration silence = std::chrono::seconds(10);
  udp::Security security = udp::Security::kOff;
  /// UdpOptions::aes by process; the last one for those beyond. Empty: the
  /// default of UdpOptions.
  std::vector<const transport::AesGcm*> aes{};
  std::uint64_t first_grant = std::uint64_t{1} << 20;
  std::uint64_t window_bytes = 0;  ///< A stream's; 0: found by its path.
  udp::PathPlan path{};  ///< Applied by a FaultySocket of each process.
  bool fetches_cards = false;
  std::string stats_file{};  ///< UdpOptions::stats_file of each process.
};

/// A job of several processes, each with its transport, over one network.
/// Not thread-safe.
class FakeJob {
 public:
  static constexpr std::uint32_t kEpoch = 0x5eed;
  static constexpr protocol::JobSecret kSecret = {1, 2, 3};

  explicit FakeJob(const FakeJobPlan& plan);

  FakeNetwork& network() noexcept { return network_; }

  udp::UdpTransport& transport(transport::ProcId proc) {
    return *transports_[proc];
  }

  FunctionSink& sink(transport::ProcId proc) { return sinks_[proc]; }

  /// The counts that the process has published last.
  const protocol::Traffic& traffic(transport::ProcId proc) const {
    return traffic_[proc];
  }

  udp::Address address(transport::ProcId proc, transport::Color color) const;

  /// How often the process has read the address card of another one.
  int card_reads(transport::ProcId proc) const { return card_reads_[proc]; }

  /// From now on the process has no address card.
  void take_card(transport::ProcId proc) { address_cards_[proc].clear(); }

  /// Answer to the transport of `proc` when it asks which peers are waited for.
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

  /// Runs until nothing is under way and no time-out is pending.
  bool run_until_idle(Duration limit = std::chrono::hours(1));

  void run_for(Duration duration);

 private:
  TimePoint next_event() const noexcept;

  NetworkPlan plan_;  ///< At the start; addresses depend on it.
  FakeNetwork network_;
  std::vector<std::vector<std::byte>> address_cards_;
  std::vector<int> card_reads_;
  std::vector<protocol::Traffic> traffic_;  ///< Written until they end.
  std::vector<std::unique_ptr<udp::UdpTransport>> transports_;
  std::vector<FunctionSink> sinks_;
  std::vector<transport::WaitedFor> waited_for_;
};

}  // namespace acp::test
