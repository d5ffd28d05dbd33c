// Tests the launcher's reading of the counters in a host segment.
#include "launcher/rank_counters.h"

#include <chrono>
#include <cstring>

#include <catch2/catch.hpp>

#include "protocol/host_segment.h"

namespace acp::launcher {

namespace {

using protocol::CountedKind;
using protocol::CountedWay;
using protocol::HostSegment;

constexpr auto kRelaxed = std::memory_order_relaxed;

HostSegment make_segment(std::uint32_t ranks, bool has_counters) {
  protocol::HostPlan plan;
  plan.put_all_here(ranks);
  plan.sizes.has_counters = has_counters ? 1 : 0;
  const auto fd = protocol::create_host_segment(plan);
  REQUIRE(fd.ok());
  auto segment = HostSegment::map(fd->get());
  REQUIRE(segment.ok());
  return *segment;
}

std::int64_t now_ns() {
  const std::chrono::nanoseconds since_start =
      std::chrono::steady_clock::now().time_since_epoch();
  return since_start.count();
}

protocol::CounterPart& begin(const HostSegment& segment, std::uint32_t slot) {
  protocol::CounterPart& part = *segment.counters(slot);
  part.began_ns.store(now_ns() - 1'000'000'000, kRelaxed);
  return part;
}

}  // namespace

TEST_CASE("counters: a job that counts nothing has no memory for counters",
          "[launcher][counters]") {
  const HostSegment without = make_segment(2, false);
  const HostSegment with = make_segment(2, true);
  CHECK(without.header().counter_bytes == 0);
  CHECK(without.counters(0) == nullptr);
  CHECK_FALSE(read_counters(without, 0));
  CHECK(with.header().slice_stride - without.header().slice_stride >=
        protocol::counter_bytes_for(2));
  CHECK_FALSE(read_counters(with, 0));  // the rank has not begun
}

TEST_CASE("counters: the rows of a peer's threads are added",
          "[launcher][counters]") {
  const HostSegment segment = make_segment(3, true);
  protocol::CounterPart& part = begin(segment, 1);
  part.peer_rows.store(3, kRelaxed);
  for (const std::uint32_t row : {0, 1, 2}) {
    part.rows()[row].proc.store(row == 1 ? 0 : 2, kRelaxed);
    part.rows()[row].count(CountedWay::kCma, CountedKind::kGet, 100 + row);
  }
  const auto counters = read_counters(segment, 1);
  REQUIRE(counters);
  CHECK(counters->launch_rank == 1);
  REQUIRE(counters->peers.size() == 2);
  CHECK(counters->peers[0].peer == 0);
  CHECK(counters->peers[1].peer == 2);
  CHECK(counters->peers[1].ops.at(CountedWay::kCma, CountedKind::kGet) ==
        CountedOps{2, 202});
}

TEST_CASE("counters: more rows than there are room for are not read",
          "[launcher][counters]") {
  const HostSegment segment = make_segment(2, true);
  protocol::CounterPart& part = begin(segment, 1);
  part.peer_rows.store(UINT32_MAX, kRelaxed);
  CHECK(read_counters(segment, 1)->peers.size() == 1);
}

TEST_CASE("counters: a wait that is under way counts up to now",
          "[launcher][counters]") {
  const HostSegment segment = make_segment(2, true);
  protocol::CounterPart& part = begin(segment, 0);
  part.waits_since_ns.store(now_ns() - 500'000'000, kRelaxed);
  protocol::ProcRecord& record = segment.record(0);
  record.wait_kind.store(static_cast<std::uint32_t>(protocol::WaitKind::kSync),
                         kRelaxed);
  auto counters = read_counters(segment, 0);
  REQUIRE(counters->calls.size() == 1);
  CHECK(counters->calls[0].name == "acp_sync");
  CHECK(counters->calls[0].waits == 1);
  CHECK(counters->calls[0].waited_ns >= 500'000'000);
  CHECK(counters->waited_ns >= 500'000'000);
  CHECK(counters->waited_ns < counters->elapsed_ns);

  record.wait_name.set("acp_wait_ch (receive) for rank 1");
  part.ended_ns.store(now_ns() - 400'000'000, kRelaxed);
  counters = read_counters(segment, 0);
  CHECK(counters->calls[0].name == "acp_wait_ch (receive)");
  CHECK(counters->calls[0].peer == 1);
  CHECK(counters->waited_ns < 500'000'000);
}

TEST_CASE("counters: memory is what was touched", "[launcher][counters]") {
  const HostSegment segment = make_segment(2, true);
  protocol::CounterPart& part = begin(segment, 0);
  part.heap_bytes.store(1 << 20, kRelaxed);
  const std::uint64_t library = read_counters(segment, 0)->library_bytes;
  CHECK(library >= sizeof(std::int64_t));
  std::byte* heap = segment.slice(0) + segment.header().module_offset +
                    protocol::kRuntimeAreaBytes;
  std::memset(heap, 1, 4096);
  std::memset(heap + (1 << 19), 1, 8192);
  std::memset(heap + (1 << 20), 1, 4096);  // behind the heap
  const auto counters = read_counters(segment, 0);
  CHECK(counters->heap_bytes == 3 * 4096);
  CHECK(counters->library_bytes == library + 4096);
}

}  // namespace acp::launcher
