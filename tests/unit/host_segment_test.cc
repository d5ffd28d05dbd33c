// HostSegment: its tables and slices, its mappings, and files that are refused.
#include "protocol/host_segment.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include <catch2/catch.hpp>

#include "base/host_facts.h"
#include "support/file_size_limit.h"
#include "support/on_one_core.h"
#include "support/stderr_capture.h"

namespace acp::protocol {

namespace {

HostPlan plan_of(std::uint32_t procs) {
  HostPlan plan;
  plan.put_all_here(procs);
  return plan;
}

/// Whether the kernel puts the page at this address into a core dump.
bool is_in_core_dump(const std::byte* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream file("/proc/self/smaps");
  bool is_its_mapping = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> start >> dash >> end && dash == '-') {
      is_its_mapping = start <= wanted && wanted < end;
    } else if (is_its_mapping && line.starts_with("VmFlags:")) {
      return line.find(" dd") == std::string::npos;
    }
  }
  FAIL("no mapping at this address");
  return false;
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
  CHECK(segment->header().key_entries >= 256);
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
  // The first one has the address of the segment, and the second one any other.
  CHECK(reinterpret_cast<std::uintptr_t>(one->base()) == one->header().address);
  one->slice_header(1).doorbell.store(42);
  CHECK(two->slice_header(1).doorbell.load() == 42);
}

// The kernel's list of mappings shows what a core dump would have. One rank
// more than slices are dumped is in the plan.
TEST_CASE("host segment: a core dump has headers, tables and the own slice",
          "[protocol][host_segment]") {
  HostPlan plan = plan_of(kSlicesInCoreDump + 1);
  plan.sizes.starter_bytes = 4 * kStarterBytesInCoreDump;
  Result<UniqueFd> fd = create_host_segment(plan);
  REQUIRE(fd.ok());
  Result<HostSegment> segment = HostSegment::map(fd->get());
  REQUIRE(segment.ok());
  const HostHeader& header = segment->header();
  const auto has = [&](std::uint32_t slot, std::uint64_t offset) {
    return is_in_core_dump(segment->slice(slot) + offset);
  };
  segment->dump_own_slice(1);
  CHECK(is_in_core_dump(segment->base()));
  CHECK(is_in_core_dump(reinterpret_cast<std::byte*>(&segment->record(64))));
  CHECK_FALSE(is_in_core_dump(segment->card(0).data()));
  CHECK_FALSE(is_in_core_dump(segment->base() + header.secret_offset));
  for (const std::uint32_t slot : {0U, 1U, kSlicesInCoreDump - 1}) {
    INFO("slot " << slot);
    CHECK(has(slot, 0));
    CHECK(has(slot, header.ring_offset - 1));
    CHECK_FALSE(has(slot, header.module_offset + kRuntimeAreaBytes));
    CHECK_FALSE(has(slot, header.starter_offset - 1));
    CHECK_FALSE(has(slot, header.starter_offset + kStarterBytesInCoreDump));
    CHECK(has(slot, header.ring_offset) == (slot == 1));
    CHECK(has(slot, header.module_offset) == (slot == 1));
    CHECK(has(slot, header.starter_offset) == (slot == 1));
    CHECK(has(slot, header.starter_offset + kStarterBytesInCoreDump - 1) ==
          (slot == 1));
  }
  CHECK_FALSE(has(kSlicesInCoreDump, 0));
}

TEST_CASE("host segment: it has the identity that its maker gives it",
          "[protocol][host_segment]") {
  const auto identity = make_job_identity();
  const auto other = make_job_identity();
  REQUIRE((identity.ok() && other.ok()));
  CHECK(identity->id != other->id);
  CHECK(*identity->secret != *other->secret);
  HostPlan plan = plan_of(2);
  plan.identity = *identity;
  Result<UniqueFd> fd = create_host_segment(plan);
  REQUIRE(fd.ok());
  Result<HostSegment> segment = HostSegment::map(fd->get());
  REQUIRE(segment.ok());
  CHECK(segment->header().job_id == identity->id);
  CHECK(segment->secret() == *identity->secret);
}

// Two processes of six are on this host, and their numbers are not in a row.
TEST_CASE("host segment: its processes may be any of the job",
          "[protocol][host_segment]") {
  HostPlan plan;
  plan.procs = 6;
  plan.local_procs = {1, 4};
  plan.route_to = "fe80::1%eth0";
  plan.why_no_route = std::string(kWhyNoRouteBytes, 'x');
  Result<UniqueFd> fd = create_host_segment(plan);
  REQUIRE(fd.ok());
  Result<HostSegment> segment = HostSegment::map(fd->get());
  REQUIRE(segment.ok());
  CHECK(segment->header().local_procs == 2);
  CHECK_FALSE(segment->header().is_whole_job());
  CHECK(std::string(segment->header().route_to.data()) == "fe80::1%eth0");
  CHECK(std::string(segment->header().why_no_route.data()) ==
        plan.why_no_route.substr(1));
  for (std::uint32_t proc = 0; proc < plan.procs; ++proc) {
    const std::uint32_t slot = proc == 1 ? 0 : proc == 4 ? 1 : kNoSlot;
    CHECK(segment->slot_of_proc(proc) == slot);
    CHECK(segment->slot_of_rank()[proc] == slot);
    CHECK(segment->proc_of_rank()[proc] == proc);
    CHECK(segment->published(proc).get() == PublishedRecord::Values{});
  }
  CHECK(segment->record(0).proc == 1);
  CHECK(segment->record(1).proc == 4);
  CHECK(segment->record(1).rank == 4);
  segment->published(5).set({7, 3, 0});
  CHECK(segment->published(5).get() == PublishedRecord::Values{7, 3, 0});
  CHECK(segment->published(4).get() == PublishedRecord::Values{});
}

TEST_CASE("host segment: a card's used part ends before its zeros",
          "[protocol][host_segment]") {
  std::array<std::byte, kCardBytes> card{};
  CHECK(used_part(card).empty());
  card[2] = std::byte{1};
  CHECK(used_part(card).size() == 3);
  CHECK(used_part(card).data() == card.data());
  card[kCardBytes - 1] = std::byte{1};
  CHECK(used_part(card).size() == kCardBytes);
}

// The size of an address card follows from the settings, and so does the
// largest job whose address cards a host has.
TEST_CASE("host segment: a host has the address cards that fit into 16 MiB",
          "[protocol][host_segment]") {
  struct Case {
    std::vector<std::pair<SettingId, const char*>> settings;
    std::uint32_t most_procs;
  };

  const Case cases[] = {
      {{{SettingId::kNet, "udp"}}, 524'288},
      {{}, 262'144},
      {{{SettingId::kUdpInterfaces, "a,b,c,d"}}, 32'768},
      {{{SettingId::kNet, "ib"}}, 32'768},
      {{{SettingId::kNet, "ucx"}}, 4096},
  };
  for (const Case& each : cases) {
    Settings settings;
    for (const auto& [id, value] : each.settings) {
      REQUIRE(settings.set(id, value, SettingSource::kOption) == Status::kOk);
    }
    INFO(each.most_procs);
    CHECK(card_table_for(settings, each.most_procs) == CardTable::kOfJob);
    CHECK(card_table_for(settings, each.most_procs + 1) == CardTable::kOfHost);
    REQUIRE(settings.set(SettingId::kAddresses, "all",
                         SettingSource::kOption) == Status::kOk);
    CHECK(card_table_for(settings, 1'048'575) == CardTable::kOfJob);
    REQUIRE(settings.set(SettingId::kAddresses, "fetch",
                         SettingSource::kOption) == Status::kOk);
    CHECK(card_table_for(settings, 2) == CardTable::kOfHost);
  }
}

// Each further setting needs longer address cards. They lie in a row in the
// segment.
TEST_CASE("host segment: the usual job has short address cards",
          "[protocol][host_segment]") {
  Settings settings;
  CHECK(host_sizes_for(settings).card_bytes == kPairCardBytes);
  REQUIRE(settings.set(SettingId::kNet, "udp", SettingSource::kOption) ==
          Status::kOk);
  CHECK(host_sizes_for(settings).card_bytes == kShortCardBytes);
  REQUIRE(settings.set(SettingId::kUdpInterfaces, "eth0,eth1",
                       SettingSource::kOption) == Status::kOk);
  CHECK(host_sizes_for(settings).card_bytes == kCardBytes);
  REQUIRE(settings.set(SettingId::kNet, "ucx", SettingSource::kOption) ==
          Status::kOk);
  CHECK(host_sizes_for(settings).card_bytes == kLongCardBytes);
  HostPlan plan = plan_of(3);
  plan.sizes.card_bytes = kShortCardBytes;
  const Result<UniqueFd> fd = create_host_segment(plan);
  REQUIRE(fd.ok());
  const auto segment = HostSegment::map(fd->get());
  REQUIRE(segment.ok());
  CHECK(segment->card(0).size() == kShortCardBytes);
  CHECK(segment->card(2).data() ==
        segment->card(0).data() + 2 * kShortCardBytes);
}

// Three processes of a large job have their address cards in a row. Address
// cards of other hosts are fetched into room that follows, before the first
// slice.
TEST_CASE(
    "host segment: the hosts of a large job have address cards of their own",
    "[protocol][host_segment]") {
  HostPlan plan = plan_of(1'048'575);
  plan.local_procs = {4, 1000, 1'048'574};
  plan.sizes.card_bytes = kLongCardBytes;
  plan.sizes.card_table = CardTable::kOfHost;
  const Result<UniqueFd> fd = create_host_segment(plan);
  REQUIRE(fd.ok());
  const auto segment = HostSegment::map(fd->get());
  REQUIRE(segment.ok());
  CHECK_FALSE(segment->has_card(0));
  std::byte* at = segment->card(4).data();
  for (const std::uint32_t proc : plan.local_procs) {
    CHECK(segment->has_card(proc));
    CHECK(segment->card(proc).size() == kLongCardBytes);
    CHECK(segment->card(proc).data() == at);
    at += kLongCardBytes;
  }
  CHECK(segment->fetched_card(0).data() == at);
  CHECK(segment->fetched_card(2).data() + kLongCardBytes <= segment->slice(0));
}

TEST_CASE("host segment: its size is sealed", "[protocol][host_segment]") {
  Result<UniqueFd> fd = create_host_segment(plan_of(1));
  REQUIRE(fd.ok());
  CHECK(::ftruncate(fd->get(), 1) != 0);
}

// A file in memory counts as a file: the kernel sends SIGXFSZ, which would end
// the program of a rank without a word.
TEST_CASE("host segment: a limit of file sizes is named",
          "[protocol][host_segment]") {
  const spmd::FileSizeLimit limit(1'024'000);
  spmd::StderrCapture capture;
  const auto made = create_host_segment(plan_of(3));
  const std::string line = capture.stop();
  INFO(line);
  CHECK(made.status() == Status::kNoMemory);
  CHECK(line.find(" bytes for 3 ranks is a file in memory, and a file may have "
                  "1024000 bytes here: allow larger files (ulimit -f") !=
        std::string::npos);
  // The signal is taken back, and would come again.
  sigset_t set;
  REQUIRE(::sigpending(&set) == 0);
  CHECK(::sigismember(&set, SIGXFSZ) == 0);
  REQUIRE(::pthread_sigmask(SIG_BLOCK, nullptr, &set) == 0);
  CHECK(::sigismember(&set, SIGXFSZ) == 0);
}

TEST_CASE("host segment: a file that is none is refused",
          "[protocol][host_segment]") {
  const UniqueFd fd(::memfd_create("other", MFD_CLOEXEC));
  REQUIRE(::ftruncate(fd.get(), 1 << 20) == 0);
  spmd::StderrCapture capture;
  CHECK(HostSegment::map(fd.get()).status() == Status::kProtocol);
  const std::string line = capture.stop();
  INFO(line);
  // The test stands for the library, and no launcher is above it, or one.
  std::error_code ignored;
  const auto self = std::filesystem::canonical("/proc/self/exe", ignored);
  CHECK(line.find(" has made it, and " + self.string() +
                  " cannot use it; launcher and library are of different "
                  "builds") != std::string::npos);
}

}  // namespace acp::protocol
