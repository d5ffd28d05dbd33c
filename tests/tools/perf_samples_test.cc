// Tests the medians and percentiles that acp_perf computes from its times.
#include <catch2/catch.hpp>

#include "samples.h"
#include "timing.h"

using acp::perf::measure;
using acp::perf::Samples;

TEST_CASE("acp_perf: percentiles are those of the nearest rank", "[perf]") {
  Samples samples;
  CHECK(samples.percentile(0.5) == 0);
  for (int i = 100; i >= 1; --i) {
    REQUIRE(samples.add(10.0 * i, 10));
  }
  CHECK(samples.percentile(0.0) == 1);
  CHECK(samples.percentile(0.5) == 50);
  CHECK(samples.percentile(0.99) == 99);
  CHECK(samples.percentile(1.0) == 100);
  CHECK(samples.ops() == 1000);
  CHECK(samples.batches() == 100);
}

TEST_CASE("acp_perf: a time below the clock's own counts as none", "[perf]") {
  Samples samples;
  REQUIRE(samples.add(-3, 1));
  CHECK(samples.percentile(0.5) == 0);
}

TEST_CASE("acp_perf: rounds are merged", "[perf]") {
  Samples first;
  Samples second;
  REQUIRE(first.add(1, 1));
  REQUIRE(second.add(9, 1));
  REQUIRE(second.add(5, 1));
  first.merge(second);
  CHECK(first.batches() == 3);
  CHECK(first.ops() == 3);
  CHECK(first.percentile(0.5) == 5);
}

TEST_CASE("acp_perf: samples stop at their capacity", "[perf]") {
  Samples samples;
  for (std::size_t i = 0; i < Samples::kCapacity; ++i) {
    REQUIRE(samples.add(1, 1));
  }
  CHECK(samples.full());
  CHECK_FALSE(samples.add(1, 1));
  Samples more = samples;
  samples.merge(more);
  CHECK(samples.batches() == Samples::kCapacity);
}

TEST_CASE("acp_perf: short operations are timed in batches", "[perf]") {
  Samples samples;
  std::uint64_t calls = 0;
  measure(2'000'000, 4, samples, [&] { ++calls; });
  REQUIRE(samples.batches() >= 3);
  // The calls of the warm-up are not in the samples.
  CHECK(samples.ops() % 4 == 0);
  CHECK(samples.ops() / 4 < calls);
  CHECK(samples.ops() / samples.batches() > 4);
}

TEST_CASE("acp_perf: an operation longer than the budget is timed too",
          "[perf]") {
  Samples samples;
  measure(1'000, 1, samples, [] {
    const std::int64_t end = acp::perf::now_ns() + 20'000;
    acp::perf::spin_until([end] { return acp::perf::now_ns() >= end; });
  });
  CHECK(samples.batches() >= 3);
  CHECK(samples.percentile(0) > 19'000);
}
