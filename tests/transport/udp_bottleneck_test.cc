// Streams through one link of limited rate, with a queue before it. The tests
// measure how much of the link they use, how they share it, and how long the
// queue becomes.
#include <algorithm>
#include <array>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"
#include "udp/endpoint.h"

namespace acp::test {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using transport::Ordering;

struct Path {
  std::uint64_t rate = 0;  ///< Bytes a second.
  Duration round_trip{};

  std::uint64_t product() const {
    return rate * static_cast<std::uint64_t>(round_trip.count()) /
           1'000'000'000;
  }
};

/// Processes 0 and 2 send to 1 and 3 as fast as they can.
class Streams {
 public:
  explicit Streams(const Path& path, std::uint64_t window_bytes = 0)
      : job_(plan_for(path, window_bytes)) {
    for (const transport::ProcId receiver : {1U, 3U}) {
      job_.sink(receiver).message = [this, receiver](auto, auto, auto bytes) {
        arrived_[receiver / 2] += bytes.size();
      };
    }
  }

  FakeJob& job() { return job_; }

  /// The window of the first stream.
  std::uint64_t window() {
    return static_cast<udp::Endpoint&>(job_.endpoint(0, 1)).sender().window();
  }

  void start(std::size_t stream) { is_on_[stream] = true; }

  /// Bytes that each stream has brought during this time.
  std::array<std::uint64_t, 2> run(Duration time) {
    const auto before = arrived_;
    const TimePoint end = job_.network().clock().now() + time;
    const bool is_over = job_.run_until([&] {
      pump();
      return job_.network().clock().now() >= end;
    });
    REQUIRE(is_over);
    return {arrived_[0] - before[0], arrived_[1] - before[1]};
  }

 private:
  static FakeJobPlan plan_for(const Path& path, std::uint64_t window_bytes) {
    FakeJobPlan plan;
    plan.procs = 4;
    plan.datagram_bytes = 1'472;
    plan.first_grant = udp::kFirstGrant;
    plan.window_bytes = window_bytes;
    plan.network.has_hosts = true;
    plan.network.mtu = 1'472;
    plan.network.delay = path.round_trip / 2;
    plan.network.link_rate = path.rate;
    return plan;
  }

  void pump() {
    for (std::size_t stream = 0; stream < 2; ++stream) {
      const auto from = static_cast<transport::ProcId>(2 * stream);
      transport::Endpoint& endpoint = job_.endpoint(from, from + 1);
      while (is_on_[stream]) {
        body_.resize(endpoint.good_message());
        const std::array parts = {std::span<const std::byte>(body_)};
        if (endpoint.send(parts, Ordering::kFree) != Status::kOk) {
          break;
        }
      }
    }
  }

  FakeJob job_;
  std::vector<std::byte> body_;
  std::array<bool, 2> is_on_{};
  std::array<std::uint64_t, 2> arrived_{};
};

double share(std::uint64_t bytes, const Path& path, Duration time) {
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(path.rate) /
         static_cast<double>(time.count());
}

}  // namespace

// The paths hold less than the 256 fragments that a stream may have under way.
TEST_CASE("udp bottleneck: one stream fills the link and no queue",
          "[udp][bottleneck]") {
  const Path path = GENERATE(Path{10'000'000, milliseconds(20)},
                             Path{100'000'000, milliseconds(3)},
                             Path{300'000'000, milliseconds(1)},
                             Path{1'000'000'000, microseconds(200)});
  CAPTURE(path.rate, path.round_trip.count(), path.product());
  Streams streams(path);
  streams.start(0);
  streams.run(20 * path.round_trip);
  const std::uint64_t queue_at_start =
      streams.job().network().counts().longest_queue;
  streams.job().network().forget_queue();
  const Duration time =
      std::max<Duration>(100 * path.round_trip, milliseconds(200));
  const auto bytes = streams.run(time);
  CAPTURE(queue_at_start, streams.job().network().counts().longest_queue,
          share(bytes[0], path, time));
  CHECK(share(bytes[0], path, time) > 0.7);
  CHECK(queue_at_start <= 2 * path.product());
  CHECK(streams.job().network().counts().longest_queue <= 2 * path.product());
}

TEST_CASE("udp bottleneck: a second stream gets its share",
          "[udp][bottleneck]") {
  const Path path = GENERATE(Path{10'000'000, milliseconds(20)},
                             Path{100'000'000, milliseconds(2)},
                             Path{100'000'000, milliseconds(6)});
  CAPTURE(path.rate, path.round_trip.count(), path.product());
  Streams streams(path);
  streams.start(0);
  streams.run(100 * path.round_trip);
  streams.start(1);
  streams.run(300 * path.round_trip);
  const auto bytes = streams.run(300 * path.round_trip);
  const auto [least, most] = std::minmax(bytes[0], bytes[1]);
  CAPTURE(bytes[0], bytes[1],
          share(bytes[0] + bytes[1], path, 300 * path.round_trip));
  CHECK(most <= 2 * least);
  CHECK(share(bytes[0] + bytes[1], path, 300 * path.round_trip) > 0.7);
  CHECK(streams.job().network().counts().longest_queue <= 2 * path.product());
}

// ACP_UDP_WINDOW: neither a queue nor a path that holds more changes it. A
// queue that is longer than the path holds shows that such a window is really
// filled. The sizes are whole KiB, as grants are.
TEST_CASE("udp bottleneck: a window that is set stays as it is",
          "[udp][bottleneck]") {
  const Path path{10'000'000, milliseconds(2)};
  const std::uint64_t window =
      GENERATE(std::uint64_t{10} << 10, std::uint64_t{150} << 10);
  Streams streams(path, window);
  streams.start(0);
  streams.run(100 * path.round_trip);
  for (int i = 0; i < 50; ++i) {
    streams.run(path.round_trip);
    REQUIRE(streams.window() == window);
  }
  const std::uint64_t queue = streams.job().network().counts().longest_queue;
  CAPTURE(window, queue, path.product());
  CHECK(queue <= window);
  CHECK((queue > 2 * path.product()) == (window > 4 * path.product()));
}

}  // namespace acp::test
