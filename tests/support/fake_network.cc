// Implements FakeNetwork and FakeJob, over which the udp tests run. A whole
// test runs in one thread.
#include "support/fake_network.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/assert.h"
#include "udp/faulty_socket.h"

namespace acp::test {

namespace {

udp::Address address_for(const NetworkPlan& plan,
                         transport::ProcId proc,
                         transport::Color color) {
  udp::Address address;
  address.family = udp::Family::kIpv4;
  address.bytes[0] = plan.has_hosts ? 10 : 127;
  address.bytes[2] = static_cast<std::uint8_t>(proc >> 8);
  address.bytes[3] = static_cast<std::uint8_t>(proc);
  address.port = static_cast<std::uint16_t>(kFirstPort + color);
  return address;
}

transport::ProcId proc_of(const udp::Address& address) {
  return transport::ProcId{address.bytes[2]} << 8 | address.bytes[3];
}

}  // namespace

/// The datagram socket of one process; it sends through the network's
/// mailboxes.
class FakeSocket final : public udp::DatagramSocket {
 public:
  FakeSocket(FakeNetwork& network,
             transport::ProcId proc,
             transport::Color colors)
      : network_(network), open_connections_(network.open_connections_[proc]) {
    for (transport::Color color = 0; color < colors; ++color) {
      addresses_.push_back(address_for(network.plan(), proc, color));
      send_ports_.push_back(static_cast<std::uint16_t>(kFirstSendPort + color));
    }
  }

  std::span<const udp::Address> addresses() const noexcept override {
    return addresses_;
  }

  std::size_t receive_buffer_bytes() const noexcept override {
    return network_.plan().buffer_bytes;
  }

  std::size_t longest_train() const noexcept override {
    return network_.plan().longest_train;
  }

  Status send(transport::Color color,
              const udp::Address& to,
              const udp::Datagram& datagram) override {
    return send_error() != 0 ? Status::kSystem
                             : post(addresses_[color], to, datagram);
  }

  int send_error() const noexcept override {
    return network_.plan().send_error;
  }

  std::span<const std::uint16_t> send_ports() const noexcept override {
    return send_ports_;
  }

  bool connect(std::size_t index,
               transport::Color color,
               const udp::Address& to) override {
    Connected& connected = connected_[index];
    ACP_ASSERT(connected.from.port == 0);
    if (!network_.plan().has_connected) {
      return false;
    }
    connected.from = addresses_[color];
    connected.from.port = send_ports_[color];
    connected.to = to;
    ++open_connections_;
    return true;
  }

  Status send_connected(std::size_t index,
                        const udp::Datagram& datagram) override {
    const Connected& connected = connected_[index];
    ACP_ASSERT(connected.from.port != 0);
    if (network_.plan().refuses_connected) {
      return Status::kSystem;
    }
    return post(connected.from, connected.to, datagram);
  }

  void disconnect(std::size_t index) override {
    ACP_ASSERT(connected_[index].from.port != 0);
    connected_[index] = {};
    --open_connections_;
  }

  std::optional<Arrival> receive(transport::Color color,
                                 std::span<std::byte> buffer) override {
    const auto datagram = network_.take(addresses_[color]);
    if (!datagram) {
      return std::nullopt;
    }
    const std::size_t kept = std::min(buffer.size(), datagram->bytes.size());
    std::copy_n(datagram->bytes.begin(), kept, buffer.begin());
    return Arrival{.bytes = datagram->bytes.size(),
                   .from = datagram->from,
                   .waited = datagram->waited,
                   .datagram = buffer.first(kept)};
  }

  std::span<const int> descriptors() const noexcept override { return {}; }

 private:
  struct Connected {
    udp::Address from;
    udp::Address to;
  };

  /// Joins the pieces as a kernel does, and sends each datagram of the train on
  /// its own. One call counts once.
  Status post(const udp::Address& from,
              const udp::Address& to,
              const udp::Datagram& datagram) {
    if (network_.plan().is_full) {
      return Status::kAgain;
    }
    std::vector<std::byte> bytes(datagram.head.begin(), datagram.head.end());
    bytes.insert(bytes.end(), datagram.tail.begin(), datagram.tail.end());
    for (const std::span<const std::byte> piece : datagram.train) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    ACP_ASSERT(datagram.datagrams() <= longest_train());
    const std::size_t step =
        datagram.train_step == 0 ? bytes.size() : datagram.train_step;
    std::span<const std::byte> left = bytes;
    ++network_.counts_.calls;
    do {
      const auto one = left.first(std::min(step, left.size()));
      network_.send(from, to, one, datagram.may_be_fragmented);
      left = left.subspan(one.size());
    } while (!left.empty());
    return Status::kOk;
  }

  FakeNetwork& network_;
  std::size_t& open_connections_;  ///< The network's count for this process.
  std::vector<udp::Address> addresses_;
  std::vector<std::uint16_t> send_ports_;
  std::array<Connected, udp::kConnections> connected_;
};

FakeNetwork::FakeNetwork(const NetworkPlan& plan)
    : plan_(plan), dice_(plan.faults.seed) {}

std::unique_ptr<udp::DatagramSocket> FakeNetwork::make_socket(
    transport::ProcId proc, transport::Color colors) {
  return std::make_unique<FakeSocket>(*this, proc, colors);
}

FakeNetwork::AddressKey FakeNetwork::key_of(
    const udp::Address& address) noexcept {
  return proc_of(address) << 16 | address.port;
}

bool FakeNetwork::is_lost(const udp::Address& from,
                          const udp::Address& to,
                          std::size_t bytes,
                          bool may_be_fragmented) {
  return disconnected_.contains(proc_of(from)) ||
         disconnected_.contains(proc_of(to)) ||
         (plan_.blocks_connected && is_connected(from)) ||
         (plan_.mtu != 0 && bytes > plan_.mtu && !may_be_fragmented) ||
         dice_.hits(plan_.faults.loss);
}

/// The time until the datagram has left the link. Nothing: the queue is full.
std::optional<Duration> FakeNetwork::pass_link(TimePoint& link_free,
                                               std::size_t bytes) {
  if (plan_.link_rate == 0) {
    return Duration::zero();
  }
  const auto time_for = [this](std::uint64_t count) {
    return Duration(
        static_cast<std::int64_t>(count * 1'000'000'000 / plan_.link_rate));
  };
  const Duration wait = std::max(link_free - clock_.now(), Duration::zero());
  const std::uint64_t queue = static_cast<std::uint64_t>(wait.count()) *
                              plan_.link_rate / 1'000'000'000;
  if (queue + bytes > plan_.queue_bytes) {
    return std::nullopt;
  }
  counts_.longest_queue = std::max(counts_.longest_queue, queue + bytes);
  link_free = clock_.now() + wait + time_for(bytes);
  return wait + time_for(bytes);
}

/// Applies the faults in a fixed order, so that a seed always gives the same
/// run: loss, duplication, then per copy reordering and damage.
void FakeNetwork::send(const udp::Address& from,
                       const udp::Address& to,
                       std::span<const std::byte> datagram,
                       bool may_be_fragmented) {
  if (observer_) {
    observer_({clock_.now(), from, to, datagram});
  }
  ++counts_.sent;
  const udp::FaultPlan& faults = plan_.faults;
  const bool is_lost_here =
      is_lost(from, to, datagram.size(), may_be_fragmented);
  TimePoint& link_free = link_free_[proc_of(from) < proc_of(to) ? 0 : 1];
  const auto passage =
      is_lost_here ? std::nullopt : pass_link(link_free, datagram.size());
  if (!passage) {
    ++counts_.lost;
    return;
  }
  const int copies = dice_.hits(faults.duplicate) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    Duration delay = plan_.delay + *passage;
    if (dice_.hits(faults.reorder)) {
      delay += Duration(static_cast<std::int64_t>(
          dice_.roll() %
          static_cast<std::uint64_t>(plan_.reorder_delay.count())));
    }
    std::vector<std::byte> bytes(datagram.begin(), datagram.end());
    if (dice_.hits(faults.corrupt)) {
      dice_.damage(bytes);
      counts_.lost += i == 0 ? 1 : 0;
    }
    post(from, to, std::move(bytes), delay);
  }
}

std::size_t FakeNetwork::open_connections(transport::ProcId proc) const {
  const auto found = open_connections_.find(proc);
  return found == open_connections_.end() ? 0 : found->second;
}

void FakeNetwork::inject(const udp::Address& from,
                         const udp::Address& to,
                         std::span<const std::byte> datagram) {
  post(from, to, {datagram.begin(), datagram.end()}, plan_.delay);
}

void FakeNetwork::post(const udp::Address& from,
                       const udp::Address& to,
                       std::vector<std::byte> bytes,
                       Duration delay) {
  Mailbox& mailbox = mailboxes_[key_of(to)];
  const std::uint64_t charged = udp::charge(bytes.size());
  if (mailbox.bytes + charged > plan_.buffer_bytes) {
    ++counts_.lost;  // the receive buffer overflows
    return;
  }
  mailbox.bytes += charged;
  mailbox.datagrams.emplace(clock_.now() + delay,
                            Datagram{from, std::move(bytes), {}});
}

std::optional<FakeNetwork::Datagram> FakeNetwork::take(const udp::Address& at) {
  Mailbox& mailbox = mailboxes_[key_of(at)];
  const auto first = mailbox.datagrams.begin();
  if (first == mailbox.datagrams.end() || first->first > clock_.now()) {
    return std::nullopt;
  }
  Datagram datagram = std::move(first->second);
  datagram.waited = clock_.now() - first->first;
  mailbox.bytes -= udp::charge(datagram.bytes.size());
  mailbox.datagrams.erase(first);
  return datagram;
}

TimePoint FakeNetwork::next_arrival() const noexcept {
  TimePoint next = TimePoint::max();
  for (const auto& [key, mailbox] : mailboxes_) {
    if (!mailbox.datagrams.empty()) {
      next = std::min(next, mailbox.datagrams.begin()->first);
    }
  }
  return next;
}

/// A transport reads the address cards of its peers only when it makes an
/// endpoint. So the processes may be made, and publish theirs, one by one.
FakeJob::FakeJob(const FakeJobPlan& plan)
    : plan_(plan.network),
      network_(plan.network),
      address_cards_(plan.procs),
      card_reads_(plan.procs),
      traffic_(plan.procs),
      sinks_(plan.procs),
      waited_for_(plan.procs) {
  for (transport::ProcId proc = 0; proc < plan.procs; ++proc) {
    udp::UdpOptions options;
    options.me = proc;
    options.procs = plan.procs;
    options.epoch = kEpoch;
    options.security = plan.security;
    if (!plan.aes.empty()) {
      options.aes = plan.aes[std::min<std::size_t>(proc, plan.aes.size() - 1)];
    }
    options.first_grant = plan.first_grant;
    options.window_bytes = plan.window_bytes;
    options.secret = &kSecret;
    options.fetches_cards = plan.fetches_cards;
    options.stats_file = plan.stats_file;
    options.card_of = [this, proc](transport::ProcId peer) {
      ++card_reads_[proc];
      return std::span<const std::byte>(address_cards_[peer]);
    };
    options.datagram_bytes = plan.datagram_bytes;
    options.ranks_per_core = plan.ranks_per_core;
    options.silence = plan.silence;
    options.waited_for = [this, proc] {
      return waited_for_[proc];
    };
    options.publish = [this, proc](const protocol::Traffic& traffic) {
      traffic_[proc] = traffic;
    };
    options.first_seq = plan.first_seq;
    options.max_fragments = plan.max_fragments;
    auto socket = network_.make_socket(proc, plan.colors);
    if (plan.path.is_active()) {
      socket = std::make_unique<udp::FaultySocket>(
          std::move(socket), udp::FaultPlan{.path = plan.path}, proc,
          network_.clock());
    }
    transports_.push_back(std::make_unique<udp::UdpTransport>(
        options, std::move(socket), network_.clock()));
    const auto card = transports_.back()->card();
    address_cards_[proc].assign(card.begin(), card.end());
  }
}

udp::Address FakeJob::address(transport::ProcId proc,
                              transport::Color color) const {
  return address_for(plan_, proc, color);
}

transport::Endpoint& FakeJob::endpoint(transport::ProcId from,
                                       transport::ProcId to,
                                       transport::Color color) {
  const auto endpoint = transports_[from]->endpoint(to, color);
  ACP_ASSERT(endpoint.ok());
  return *endpoint.value();
}

std::size_t FakeJob::step() {
  std::size_t delivered = 0;
  for (std::size_t proc = 0; proc < transports_.size(); ++proc) {
    delivered += transports_[proc]->poll(sinks_[proc]);
    transports_[proc]->flush();
  }
  return delivered;
}

TimePoint FakeJob::next_event() const noexcept {
  TimePoint next = network_.next_arrival();
  for (const auto& transport : transports_) {
    next = std::min(next, transport->next_deadline());
  }
  return next;
}

bool FakeJob::run_until(const std::function<bool()>& is_done, Duration limit) {
  const TimePoint end = network_.clock().now() + limit;
  while (!is_done()) {
    step();
    if (is_done()) {
      return true;
    }
    const TimePoint next = next_event();
    if (next == TimePoint::max() || next > end) {
      return false;
    }
    network_.clock().advance_to(next);
  }
  return true;
}

bool FakeJob::run_until_idle(Duration limit) {
  return run_until([this] { return next_event() == TimePoint::max(); }, limit);
}

void FakeJob::run_for(Duration duration) {
  const TimePoint end = network_.clock().now() + duration;
  run_until([this, end] { return network_.clock().now() >= end; }, duration);
  network_.clock().advance_to(end);
  step();
}

}  // namespace acp::test
