// Datagrams that one call sends or receives together: which fragments leave in
// a train, and how the kernel's sockets carry one.
#include <poll.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"
#include "support/local_socket.h"
#include "udp/sender.h"

namespace acp::test {

namespace {

using transport::Ordering;
using udp::Fragment;
using udp::Sender;

constexpr std::size_t kFull = 1'000;
/// The bytes of the window that a full fragment takes.
constexpr std::uint64_t kCharged =
    udp::charge(kFull + udp::kMessagePrefixBytes);

/// A Sender with fragments that were closed and not sent.
struct TrainBench {
  explicit TrainBench(Sender::Window window = Sender::Window::kFixed)
      : sender(pool, limits, window) {}

  void append(std::size_t bytes) {
    const std::vector<std::byte> message(bytes);
    const std::array parts = {std::span<const std::byte>(message)};
    REQUIRE(sender.append(parts, bytes, Ordering::kFree) == Status::kOk);
    sender.close();
  }

  /// The seqs of the next train, which is then sent.
  std::vector<std::uint64_t> send_train(std::size_t longest = 8) {
    std::array<Fragment*, 8> room{};
    const std::size_t count =
        sender.next_train(std::span(room).first(longest), now);
    std::vector<std::uint64_t> seqs;
    for (Fragment* fragment : std::span(room).first(count)) {
      seqs.push_back(fragment->seq);
      (void)sender.flags_for(*fragment);
      sender.on_transmitted(*fragment, ++txno, now);
    }
    return seqs;
  }

  /// Acknowledges all below `next`. The answer took `taken`, of which it was
  /// `held` in the peer's host and `waited` in this one.
  void ack(std::uint64_t next, Duration taken, Duration held, Duration waited) {
    now += taken;
    udp::PacketView packet;
    packet.header.ack = static_cast<std::uint32_t>(next);
    packet.header.echo = txno;
    packet.header.held_us = static_cast<std::uint16_t>(held.count() / 1000);
    packet.waited = waited;
    sender.on_heard(now);
    sender.on_ack(packet, now);
  }

  static udp::StreamLimits make_limits() {
    udp::StreamLimits limits;
    limits.fragment_bytes = 1'300;
    limits.window_bytes = 1 << 20;
    limits.first_grant = limits.window_bytes;
    return limits;
  }

  udp::StreamLimits limits = make_limits();
  udp::FragmentPool pool{1'400, 1024};
  Sender sender;
  TimePoint now{std::chrono::seconds(100)};
  std::uint64_t txno = 0;
};

using Seqs = std::vector<std::uint64_t>;

/// The datagrams that arrive within a second, until there are `count`.
std::vector<std::vector<std::byte>> take(udp::KernelSocket& socket,
                                         std::size_t count) {
  std::vector<std::vector<std::byte>> taken;
  std::vector<std::byte> buffer(2'000);
  std::array<pollfd, 1> ready = {pollfd{socket.descriptors()[0], POLLIN, 0}};
  while (taken.size() < count &&
         (socket.has_backlog() ||
          ::poll(ready.data(), ready.size(), 1'000) == 1)) {
    const auto arrival = socket.receive(0, buffer);
    if (arrival) {
      REQUIRE(arrival->datagram.size() == arrival->bytes);
      REQUIRE(arrival->has_next_of_train == socket.has_backlog());
      REQUIRE(arrival->from == socket.addresses()[0]);
      REQUIRE(arrival->waited < std::chrono::minutes(1));
      taken.emplace_back(arrival->datagram.begin(), arrival->datagram.end());
    }
  }
  return taken;
}

/// `count` datagrams of `step` bytes, but for a last one of `last` bytes.
std::vector<std::byte> make_train(std::size_t count,
                                  std::size_t step,
                                  std::size_t last) {
  std::vector<std::byte> bytes((count - 1) * step + last);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i * 31 + i / step);
  }
  return bytes;
}

/// Sends a train from a socket to itself, and checks that each datagram of it
/// arrives alone.
void check_train(udp::KernelSocket& socket,
                 std::size_t count,
                 std::size_t step,
                 std::size_t last) {
  const std::vector<std::byte> bytes = make_train(count, step, last);
  // The pieces end anywhere in the datagrams.
  const std::span<const std::byte> all = bytes;
  const std::array pieces = {all.first(all.size() / 3),
                             all.subspan(all.size() / 3)};
  udp::Datagram train;
  train.train = pieces;
  train.train_step = step;
  REQUIRE(train.datagrams() == count);
  REQUIRE(socket.send(0, socket.addresses()[0], train) == Status::kOk);
  const auto taken = take(socket, count);
  REQUIRE(taken.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = bytes.begin() + static_cast<long>(i * step);
    REQUIRE(taken[i].size() == (i + 1 == count ? last : step));
    REQUIRE(std::equal(taken[i].begin(), taken[i].end(), begin));
  }
}

}  // namespace

TEST_CASE("udp train: equal fragments and one smaller last leave together",
          "[udp][train]") {
  TrainBench bench;
  for (const std::size_t bytes : {kFull, kFull, kFull, kFull - 1, kFull}) {
    bench.append(bytes);
  }
  CHECK(bench.send_train() == Seqs{0, 1, 2, 3});
  CHECK(bench.send_train() == Seqs{4});
}

TEST_CASE("udp train: a larger fragment begins another one", "[udp][train]") {
  TrainBench bench;
  for (const std::size_t bytes : {kFull, kFull, kFull + 1, kFull + 1}) {
    bench.append(bytes);
  }
  CHECK(bench.send_train() == Seqs{0, 1});
  CHECK(bench.send_train() == Seqs{2, 3});
}

TEST_CASE("udp train: no longer than the socket takes", "[udp][train]") {
  TrainBench bench;
  for (int i = 0; i < 7; ++i) {
    bench.append(kFull);
  }
  CHECK(bench.send_train(3) == Seqs{0, 1, 2});
  CHECK(bench.send_train(1) == Seqs{3});
  CHECK(bench.send_train(8) == Seqs{4, 5, 6});
}

TEST_CASE("udp train: a fragment that is sent again travels alone",
          "[udp][train]") {
  TrainBench bench;
  bench.append(kFull);
  bench.send_train();
  bench.now = bench.sender.deadline();
  bench.sender.on_timer(bench.now);
  bench.append(kFull);
  CHECK(bench.send_train() == Seqs{0});
  CHECK(bench.send_train() == Seqs{1});
}

TEST_CASE("udp train: the rate of the path divides a train", "[udp][train]") {
  TrainBench bench(Sender::Window::kAdaptive);
  // 40 ms round trip: the window grows to some 40 packets in a few rounds.
  std::uint64_t next = 0;
  for (int round = 0; round < 4; ++round) {
    while (bench.sender.window() / 2'500 > bench.sender.fragments_in_window()) {
      bench.append(kFull);
      ++next;
    }
    while (bench.sender.has_pending()) {
      bench.now = std::max(bench.now, bench.sender.deadline());
      if (bench.sender.may_send(bench.now)) {
        bench.send_train();
      }
    }
    bench.ack(next, std::chrono::milliseconds(40), {}, {});
  }
  REQUIRE(bench.sender.window() > 30 * 2'500);
  for (int i = 0; i < 8; ++i) {
    bench.append(kFull);
  }
  CHECK(bench.send_train().size() < 8);
}

TEST_CASE("udp train: time in the hosts does not count as the path's",
          "[udp][train][congestion]") {
  using std::chrono::microseconds;
  // The first round trip, of 50 us, is that of an empty path.
  const auto window_after = [](Duration taken, Duration held, Duration waited) {
    TrainBench bench(Sender::Window::kAdaptive);
    std::uint64_t next = 0;
    for (int round = 0; round < 40; ++round) {
      while (bench.sender.window() >
                 bench.sender.fragments_in_window() * kCharged &&
             bench.sender.fragments_in_window() < 200) {
        bench.append(kFull);
        ++next;
      }
      for (; bench.sender.has_pending(); bench.now += microseconds(10)) {
        if (bench.sender.may_send(bench.now)) {
          bench.send_train();
        }
      }
      const bool is_first = round == 0;
      bench.ack(next, is_first ? microseconds(50) : taken,
                is_first ? Duration(0) : held, is_first ? Duration(0) : waited);
    }
    return bench.sender.window();
  };
  const Duration taken = microseconds(1'000);
  const std::uint64_t queue = window_after(taken, {}, {});
  CHECK(window_after(taken, microseconds(940), {}) > 4 * queue);
  CHECK(window_after(taken, {}, microseconds(940)) > 4 * queue);
  CHECK(window_after(taken, microseconds(400), microseconds(540)) > 4 * queue);
}

// The network counts calls and datagrams apart. With loss only the arrival is
// checked.
TEST_CASE("udp train: a large copy needs few calls, and arrives whole",
          "[udp][train]") {
  const std::size_t longest = GENERATE(1, 2, 17, 64);
  FakeJobPlan plan;
  plan.network.has_hosts = true;
  plan.network.mtu = 1'400;
  plan.network.longest_train = longest;
  plan.network.faults.loss = GENERATE(0.0, 0.05);
  FakeJob job(plan);
  std::set<std::uint64_t> arrived;
  job.sink(1).message = [&](auto, auto, auto bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    REQUIRE(arrived.insert(number).second);
  };
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  constexpr std::uint64_t kMessages = 2'000;
  std::uint64_t sent = 0;
  std::vector<std::byte> message(1'000);
  const bool is_done = job.run_until([&] {
    while (sent < kMessages) {
      std::memcpy(message.data(), &sent, sizeof sent);
      const std::array parts = {std::span<const std::byte>(message)};
      if (endpoint.send(parts, Ordering::kFree) != Status::kOk) {
        break;
      }
      ++sent;
    }
    return arrived.size() == kMessages;
  });
  REQUIRE(is_done);
  const NetworkCounts& counts = job.network().counts();
  CAPTURE(longest, counts.sent, counts.calls);
  if (longest == 1) {
    CHECK(counts.calls == counts.sent);
  } else if (plan.network.faults.loss == 0.0) {
    CHECK(counts.calls < counts.sent / std::min<std::size_t>(longest, 5) * 2);
  }
}

TEST_CASE("udp train: the kernel delivers each datagram of one",
          "[udp][train][socket]") {
  const char* const address = GENERATE("127.0.0.1", "::1");
  auto socket = open_socket(address);
  REQUIRE(socket.ok());
  REQUIRE((*socket)->longest_train() > 1);
  check_train(**socket, 40, 1'400, 1'400);
  check_train(**socket, 3, 1'400, 7);
}

TEST_CASE("udp train: one that the kernel refuses goes as single datagrams",
          "[udp][train][socket]") {
  auto socket = open_socket("127.0.0.1");
  REQUIRE(socket.ok());
  // No kernel takes so many parts.
  for (int i = 0; i < 8; ++i) {
    REQUIRE((*socket)->longest_train() > 1);
    check_train(**socket, 300, 8, 8);
  }
  CHECK((*socket)->longest_train() == 1);
}

TEST_CASE("udp train: datagrams that were received as one are told apart",
          "[udp][train][socket]") {
  const auto known = transport::list_local_addresses();
  REQUIRE(known.ok());
  const auto outside =
      std::ranges::find_if(*known, [](const transport::LocalAddress& one) {
        return !transport::is_loopback(one.address) && one.scope == 0;
      });
  if (outside == known->end()) {
    WARN("this host has no interface but the loopback");
    return;
  }
  auto socket = udp::KernelSocket::open(std::span(&*outside, 1), false);
  REQUIRE(socket.ok());
  check_train(**socket, 40, 1'400, 1'400);
  check_train(**socket, 40, 1'399, 3);
  check_train(**socket, 1, 500, 500);
  check_train(**socket, 64, 1, 1);
}

}  // namespace acp::test
