// The window by delay, over a model of a path: a link of a given rate with a
// queue that loses what does not fit. And the division of a receive buffer.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "udp/congestion.h"
#include "udp/fault_plan.h"
#include "udp/grant_budget.h"

namespace acp::udp {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMost = std::uint64_t{64} << 20;

/// A bottleneck, whose packets are all of CongestionWindow::kPacket.
struct Link {
  double bytes_per_us = 100;
  Duration delay = microseconds(200);  ///< Both ways, without the queue.
  Duration most_queue = milliseconds(50);
  double loss = 0;
};

/// A stream that always has something to send.
struct Stream {
  struct Packet {
    TimePoint sent;
    TimePoint arrives;
    bool is_lost;
  };

  CongestionWindow window;
  std::deque<Packet> under_way;
  std::uint64_t delivered = 0;

  std::uint64_t in_flight() const {
    return under_way.size() * CongestionWindow::kPacket;
  }
};

/// Runs streams over one link in steps of a microsecond.
class Model {
 public:
  Model(const Link& link, std::size_t streams)
      : link_(link), streams_(streams) {}

  void run(Duration duration) {
    const TimePoint end = now_ + duration;
    for (; now_ < end; now_ += microseconds(1)) {
      for (Stream& stream : streams_) {
        take_acks(stream);
        send(stream);
      }
      longest_queue_ = std::max(longest_queue_, queue());
    }
  }

  Duration queue() const { return std::max(free_at_ - now_, Duration(0)); }

  /// The longest queue since the last call.
  Duration take_longest_queue() {
    return std::exchange(longest_queue_, Duration(0));
  }

  std::vector<Stream>& streams() { return streams_; }

 private:
  void take_acks(Stream& stream) {
    while (!stream.under_way.empty() &&
           stream.under_way.front().arrives <= now_) {
      const Stream::Packet packet = stream.under_way.front();
      const std::uint64_t before = stream.in_flight();
      stream.under_way.pop_front();
      if (packet.is_lost) {
        stream.window.on_loss(CongestionWindow::kPacket, now_);
        continue;
      }
      stream.delivered += CongestionWindow::kPacket;
      stream.window.on_sample(now_ - packet.sent, now_);
      stream.window.on_ack(CongestionWindow::kPacket, before, kMost);
    }
  }

  void send(Stream& stream) {
    while (stream.in_flight() < stream.window.bytes() &&
           now_ >= stream.window.next_send()) {
      const auto time = Duration(std::chrono::nanoseconds(static_cast<int>(
          1000 * CongestionWindow::kPacket / link_.bytes_per_us)));
      const bool is_lost = queue() > link_.most_queue || dice_.hits(link_.loss);
      if (!is_lost) {
        free_at_ = std::max(free_at_, now_) + time;
      }
      stream.under_way.push_back({now_, now_ + queue() + link_.delay, is_lost});
      stream.window.on_sent(CongestionWindow::kPacket, now_);
    }
  }

  Link link_;
  std::vector<Stream> streams_;
  FaultDice dice_{7};
  TimePoint now_{seconds(1)};
  TimePoint free_at_{};
  Duration longest_queue_{};
};

/// Share of the link's capacity that the streams used in a while.
double used_share(Model& model, const Link& link, Duration duration) {
  std::uint64_t before = 0;
  for (const Stream& stream : model.streams()) {
    before += stream.delivered;
  }
  model.run(duration);
  std::uint64_t after = 0;
  for (const Stream& stream : model.streams()) {
    after += stream.delivered;
  }
  const double time_us =
      std::chrono::duration<double, std::micro>(duration).count();
  return static_cast<double>(after - before) / (link.bytes_per_us * time_us);
}

}  // namespace

TEST_CASE("udp window: fills paths of any capacity without a long queue",
          "[udp][congestion]") {
  for (const double rate : {10.0, 125.0, 1250.0}) {
    for (const Duration delay :
         {Duration(microseconds(100)), Duration(milliseconds(2)),
          Duration(milliseconds(20))}) {
      INFO(rate << " bytes/us, " << delay.count() << " ns");
      const Link link{rate, delay, milliseconds(100), 0};
      Model model(link, 1);
      model.run(50 * delay + milliseconds(20));
      model.take_longest_queue();
      CHECK(used_share(model, link, 20 * delay + milliseconds(20)) > 0.75);
      // No queue is longer than two round trips of the empty path, two packets
      // and what a host's scheduling causes.
      const auto two_packets =
          microseconds(static_cast<int>(2 * CongestionWindow::kPacket / rate));
      CHECK(model.take_longest_queue() <=
            2 * delay + two_packets + microseconds(300));
    }
  }
}

TEST_CASE("udp window: a few losses do not empty the path",
          "[udp][congestion]") {
  const Link link{125, milliseconds(1), milliseconds(100), 0.01};
  Model model(link, 1);
  model.run(milliseconds(200));
  CHECK(used_share(model, link, milliseconds(200)) > 0.7);
}

TEST_CASE("udp window: a short queue that overflows ends the growth",
          "[udp][congestion]") {
  const Link link{125, milliseconds(2), microseconds(200), 0};
  Model model(link, 1);
  model.run(milliseconds(300));
  CHECK(used_share(model, link, milliseconds(200)) > 0.6);
}

TEST_CASE("udp window: two streams share a link within a factor of two",
          "[udp][congestion]") {
  const Link link{125, milliseconds(1), milliseconds(100), 0};
  Model model(link, 2);
  model.run(milliseconds(500));
  std::vector<Stream>& streams = model.streams();
  const std::uint64_t first = streams[0].delivered;
  const std::uint64_t second = streams[1].delivered;
  model.run(seconds(1));
  const auto one = static_cast<double>(streams[0].delivered - first);
  const auto two = static_cast<double>(streams[1].delivered - second);
  CHECK(std::max(one, two) < 2 * std::min(one, two));
}

TEST_CASE("udp window: two time-outs in a row begin anew",
          "[udp][congestion]") {
  CongestionWindow window;
  window.on_timeout(1);
  CHECK(window.bytes() == CongestionWindow::kFirst);
  window.on_timeout(2);
  CHECK(window.bytes() == CongestionWindow::kLeast);
}

TEST_CASE("udp window: finds the link again after time-outs",
          "[udp][congestion]") {
  for (const double rate : {10.0, 125.0, 1250.0}) {
    for (const Duration delay :
         {Duration(microseconds(200)), Duration(milliseconds(20))}) {
      const Link link{rate, delay, milliseconds(100), 0};
      Model model(link, 1);
      model.run(50 * delay + milliseconds(20));
      CongestionWindow& window = model.streams()[0].window;
      window.on_timeout(1);
      window.on_timeout(2);
      REQUIRE(window.bytes() == CongestionWindow::kLeast);
      // The window doubles each round trip: these suffice for 64 MiB.
      model.run(16 * delay);
      const double share = used_share(model, link, 16 * delay);
      INFO(rate << " bytes/us, " << delay.count() << " ns: " << share);
      CHECK(share >= 0.75);
    }
  }
}

// More ranks than processors answer each other so. Three small packets are
// under way, and their round trip is 5 ms where 100 us are possible.
TEST_CASE("udp window: a slow answer makes no packet wait",
          "[udp][congestion]") {
  CongestionWindow window;
  constexpr std::uint64_t kSmall = 1'100;
  TimePoint now{seconds(1)};
  window.on_sample(microseconds(100), now);
  for (int i = 0; i < 100; ++i) {
    for (int packet = 0; packet < 3; ++packet) {
      CHECK(window.next_send() <= now);
      window.on_sent(kSmall, now);
    }
    now += milliseconds(5);
    window.on_sample(milliseconds(5), now);
    window.on_ack(3 * kSmall, 3 * kSmall, kMost);
  }
  CHECK(window.bytes() == CongestionWindow::kLeastByDelay);
}

namespace {

/// The stream has begun long ago, and goes on.
void go_on(GrantBudget& budget, GrantBudget::Stream& stream, TimePoint now) {
  for (std::uint64_t bytes = 0; bytes <= 2 * kIdleGrant;
       bytes += charge(1'000)) {
    budget.on_fragment(stream, 1'000, now);
  }
}

}  // namespace

TEST_CASE("udp grants: half of the buffer is divided among those who send",
          "[udp][grants]") {
  constexpr std::uint64_t kBuffer = std::uint64_t{8} << 20;
  GrantBudget budget(kBuffer, std::uint64_t{1} << 20);
  TimePoint now{seconds(5)};
  std::vector<GrantBudget::Stream> streams(100);
  for (GrantBudget::Stream& stream : streams) {
    go_on(budget, stream, now);
  }
  CHECK(budget.kib_for(streams[0]) == 4096 / 100);
  // They stop, and one goes on.
  for (int i = 0; i < 3; ++i) {
    now += kGrantAge;
    go_on(budget, streams[0], now);
  }
  CHECK(budget.kib_for(streams[0]) == 1024);
  CHECK(budget.kib_for(streams[1]) == kIdleGrant / 1024);
}

TEST_CASE("udp grants: a stream that begins gets little", "[udp][grants]") {
  constexpr std::uint64_t kBuffer = std::uint64_t{8} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  GrantBudget budget(kBuffer, kMost);
  TimePoint now{seconds(5)};
  GrantBudget::Stream stream;
  CHECK(budget.kib_for(stream) == 0);
  for (int i = 0; i < 2; ++i) {
    budget.on_fragment(stream, 60'000, now);
    CHECK(budget.kib_for(stream) == kFirstGrant / 1024);
    budget.on_fragment(stream, 60'000, now);
    CHECK(budget.kib_for(stream) == kMost / 1024);
    // It is idle while another stream sends, and begins again.
    GrantBudget::Stream other;
    for (int periods = 0; periods < 2; ++periods) {
      now += kGrantAge;
      budget.on_fragment(other, 0, now);
    }
    CHECK(budget.kib_for(stream) == kIdleGrant / 1024);
  }
}

TEST_CASE("udp grants: a stream counts as long as its sender keeps the grant",
          "[udp][grants]") {
  constexpr std::uint64_t kBuffer = 8 << 20;
  GrantBudget budget(kBuffer, kBuffer);
  GrantBudget::Stream quiet;
  GrantBudget::Stream busy;
  const TimePoint start{std::chrono::seconds(1000)};
  go_on(budget, busy, start);
  const TimePoint last = start + kGrantAge - Duration(1);
  go_on(budget, quiet, last);  // at the end of a period
  for (TimePoint now = last; now <= last + kGrantAge; now += kGrantAge / 16) {
    go_on(budget, busy, now);
    // The quiet stream has its part of the half that is for all.
    CHECK(budget.kib_for(busy) <= kBuffer * 3 / 8 / 1024);
  }
  go_on(budget, busy, last + 2 * kGrantAge);
  CHECK(budget.kib_for(busy) == kBuffer / 2 / 1024);
}

TEST_CASE("udp grants: heavy streams share a half that others have no part in",
          "[udp][grants]") {
  constexpr std::uint64_t kBuffer = std::uint64_t{4} << 20;
  constexpr std::uint64_t kHalfKib = kBuffer / 2 / 1024;
  GrantBudget budget(kBuffer, kBuffer);
  TimePoint now{seconds(5)};
  std::vector<GrantBudget::Stream> streams(16);
  const auto send_all = [&] {
    for (GrantBudget::Stream& stream : streams) {
      go_on(budget, stream, now);
    }
  };
  const auto make_heavy = [&](GrantBudget::Stream& stream) {
    for (int i = 0; i < 3; ++i) {
      budget.on_fragment(stream, 60'000, now);
    }
  };
  send_all();
  CHECK(budget.kib_for(streams[0]) == kHalfKib / 16);
  make_heavy(streams[0]);
  CHECK(budget.kib_for(streams[0]) == kHalfKib / 2 / 16 + kHalfKib / 2);
  CHECK(budget.kib_for(streams[1]) == kHalfKib / 2 / 16);
  make_heavy(streams[1]);
  CHECK(budget.kib_for(streams[0]) == kHalfKib / 2 / 16 + kHalfKib / 4);
  CHECK(budget.kib_for(streams[1]) == kHalfKib / 2 / 16 + kHalfKib / 4);
  // It keeps that share in the next period, and not in the one after that.
  now += kGrantAge;
  send_all();
  CHECK(budget.kib_for(streams[0]) == kHalfKib / 2 / 16 + kHalfKib / 4);
  now += kGrantAge;
  send_all();
  CHECK(budget.kib_for(streams[0]) == kHalfKib / 2 / 16);
  now += kGrantAge;
  send_all();
  CHECK(budget.kib_for(streams[0]) == kHalfKib / 16);
}

TEST_CASE("udp grants: a stream that sends is granted something",
          "[udp][grants]") {
  GrantBudget budget(64 << 10, 1 << 20);
  std::vector<GrantBudget::Stream> streams(1000);
  for (GrantBudget::Stream& stream : streams) {
    go_on(budget, stream, TimePoint(seconds(1)));
  }
  CHECK(budget.kib_for(streams[0]) == 1);
}

}  // namespace acp::udp
