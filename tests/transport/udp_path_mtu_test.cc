// The search for the size of datagrams, against paths of every size.
#include <chrono>
#include <cstdint>

#include <catch2/catch.hpp>

#include "udp/path_mtu.h"

namespace acp::udp {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTimeout = milliseconds(20);

/// A path that carries datagrams up to `size` and loses larger ones.
struct Path {
  std::size_t size = 0;
  TimePoint now{seconds(100)};
  std::uint64_t txno = 0;
  std::size_t probes = 0;

  /// Sends probes, and waits for the lost ones, until none is due any more.
  void search(PathMtu& mtu) {
    for (std::size_t bytes = mtu.probe_due(now); bytes != 0;
         bytes = mtu.probe_due(now)) {
      ++probes;
      mtu.on_probe_sent(++txno, kTimeout, now);
      if (bytes <= size) {
        mtu.on_probe_acked(txno);
      } else {
        now = mtu.deadline();
      }
    }
  }
};

}  // namespace

TEST_CASE("udp path size: nothing is probed before a large copy",
          "[udp][mtu]") {
  PathMtu mtu(PathMtu::kBase, 8'972);
  CHECK(mtu.bytes() == PathMtu::kBase);
  CHECK(mtu.probe_due(TimePoint(seconds(1))) == 0);
  CHECK(mtu.deadline() == TimePoint::max());
}

TEST_CASE("udp path size: one probe finds that all of it passes",
          "[udp][mtu]") {
  PathMtu mtu(PathMtu::kBase, 8'972);
  Path path{9'000};
  mtu.want();
  path.search(mtu);
  CHECK(path.probes == 1);
  CHECK(mtu.bytes() == 8'972);
}

TEST_CASE("udp path size: the largest usual size that passes is found",
          "[udp][mtu]") {
  for (const std::size_t size :
       {8'972U, 4'028U, 1'472U, 1'452U, 1'400U, 1'300U, 1'200U}) {
    INFO("path " << size);
    PathMtu mtu(PathMtu::kBase, 8'972);
    Path path{size};
    mtu.want();
    path.search(mtu);
    CHECK(mtu.bytes() == size);
    CHECK(mtu.probe_due(path.now) == 0);
  }
}

TEST_CASE("udp path size: one lost probe says nothing", "[udp][mtu]") {
  PathMtu mtu(PathMtu::kBase, 1'472);
  TimePoint now{seconds(1)};
  mtu.want();
  REQUIRE(mtu.probe_due(now) == 1'472);
  mtu.on_probe_sent(1, kTimeout, now);
  CHECK(mtu.probe_due(now) == 0);
  now += kTimeout;
  REQUIRE(mtu.probe_due(now) == 1'472);
  mtu.on_probe_sent(2, kTimeout, now);
  mtu.on_probe_acked(1);  // the lost one comes late: it was given up
  CHECK(mtu.bytes() == PathMtu::kBase);
  mtu.on_probe_acked(2);
  CHECK(mtu.bytes() == 1'472);
}

TEST_CASE("udp path size: a path that shrinks is searched again after a while",
          "[udp][mtu]") {
  PathMtu mtu(PathMtu::kBase, 8'972);
  Path path{8'972};
  mtu.want();
  path.search(mtu);
  REQUIRE(mtu.bytes() == 8'972);
  mtu.on_black_hole(path.now);
  CHECK(mtu.bytes() == PathMtu::kBase);
  path.size = 1'472;
  mtu.want();
  path.search(mtu);
  CHECK(mtu.bytes() == PathMtu::kBase);
  path.now += seconds(10);
  path.search(mtu);
  CHECK(mtu.bytes() == 1'472);
}

TEST_CASE("udp path size: sizes that the system refuses are skipped",
          "[udp][mtu]") {
  PathMtu mtu(PathMtu::kBase, 8'972);
  mtu.want();
  REQUIRE(mtu.probe_due(TimePoint(seconds(1))) == 8'972);
  mtu.on_probe_refused();
  CHECK(mtu.probe_due(TimePoint(seconds(1))) == 8'952);
}

TEST_CASE("udp path size: small limits are kept", "[udp][mtu]") {
  PathMtu mtu(PathMtu::kBase, 600);
  CHECK(mtu.bytes() == 600);
  mtu.on_black_hole(TimePoint(seconds(1)));
  CHECK(mtu.bytes() == 600);
}

}  // namespace acp::udp
