#include "protocol/host_segment.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include <catch2/catch.hpp>

#include "base/host_facts.h"
#include "support/on_one_core.h"

namespace acp::protocol {

namespace {

HostPlan plan_of(std::uint32_t procs) {
  HostPlan plan;
  plan.procs = procs;
  plan.local_procs = procs;
  return plan;
}

}  // namespace

TEST_CASE("host segment: tables and slices of every process",
          "[protocol][host_segment]") {
  Result<UniqueFd> fd = create_host_segment(plan_of(5));
  REQUIRE(fd.ok());
  Result<HostSegment> segment = HostSegment::map(fd->get());
  REQUIRE(segment.ok());
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK(segment->slot_of_proc(i) == i);
    CHECK(segment->proc_of_rank()[i] == i);
    CHECK(segment->slot_of_rank()[i] == i);
    CHECK(segment->record(i).rank == i);
    const auto address = reinterpret_cast<std::uintptr_t>(segment->slice(i));
    CHECK(address % 4096 == 0);
  }
  CHECK(segment->header().starter_offset % kCacheLine == 0);
  CHECK(segment->header().starter_bytes >= 10240);
  CHECK(segment->header().key_slots >= 256);
}

TEST_CASE("host segment: the cores are those of who makes it",
          "[protocol][host_segment]") {
  const auto header_of = [](std::uint32_t procs) {
    Result<UniqueFd> fd = create_host_segment(plan_of(procs));
    REQUIRE(fd.ok());
    Result<HostSegment> segment = HostSegment::map(fd->get());
    REQUIRE(segment.ok());
    return std::pair(segment->header().cores, segment->header().shares_cores());
  };
  const std::uint32_t cores = allowed_cores();
  CHECK(header_of(cores) == std::pair(cores, false));
  CHECK(header_of(cores + 1) == std::pair(cores, true));

  const test::OnOneCore one_core;
  CHECK(header_of(1) == std::pair(1U, false));
  CHECK(header_of(2) == std::pair(1U, true));
}

TEST_CASE("host segment: two mappings show the same memory",
          "[protocol][host_segment]") {
  Result<UniqueFd> fd = create_host_segment(plan_of(2));
  REQUIRE(fd.ok());
  Result<HostSegment> one = HostSegment::map(fd->get());
  Result<HostSegment> two = HostSegment::map(fd->get());
  REQUIRE((one.ok() && two.ok()));
  REQUIRE(one->base() != two->base());
  one->slice_header(1).bell.store(42);
  CHECK(two->slice_header(1).bell.load() == 42);
}

TEST_CASE("host segment: its size is sealed", "[protocol][host_segment]") {
  Result<UniqueFd> fd = create_host_segment(plan_of(1));
  REQUIRE(fd.ok());
  CHECK(::ftruncate(fd->get(), 1) != 0);
}

TEST_CASE("host segment: a file that is none is refused",
          "[protocol][host_segment]") {
  const UniqueFd fd(::memfd_create("other", MFD_CLOEXEC));
  REQUIRE(::ftruncate(fd.get(), 1 << 20) == 0);
  CHECK(HostSegment::map(fd.get()).status() == Status::kProtocol);
}

}  // namespace acp::protocol
