// AddressSpace: which memory a rank may touch directly, and the address that
// belongs to each byte of a region.
#include "gmm/address_space.h"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "gmm/key_table.h"
#include "support/host_memory.h"
#include "support/verdict.h"

namespace acp::gmm {

namespace {

/// Four ranks, two of them on this host. This process is rank 0. Each rank of
/// the host has a registered region.
struct Job {
  Job() {
    for (Color color = 0; color < 2; ++color) {
      mine[color] = keys0.add(0, color, memory.data() + 3, 200).value() + 3;
    }
    theirs = keys1.add(1, 0, memory.data() + 512, 100).value();
  }

  GlobalAddress starter(Rank rank, std::uint64_t offset = 0) const {
    return space.codec().encode(rank, 0, kStarterKey, 0, offset);
  }

  test::HostMemory host{4, 2};
  KeyTable keys0{host.segment(), 0};
  KeyTable keys1{host.segment(), 1};
  AddressSpace space{host.segment(), 0, 0, 2, Reach::kHost};
  AddressSpace space1{host.segment(), 1, 1, 2, Reach::kHost};
  alignas(64) std::array<std::byte, 1024> memory{};
  std::array<GlobalAddress, 2> mine{};
  GlobalAddress theirs = 0;
};

}  // namespace

// Looks at the first and the last byte of starter memory, at the byte behind,
// and at sizes that wrap around.
TEST_CASE("address space: library memory of this host is touched directly",
          "[gmm][address_space]") {
  const Job job;
  const auto& header = job.host.segment().header();
  for (Rank rank = 0; rank < 2; ++rank) {
    std::byte* start = job.host.segment().slice(rank) + header.starter_offset;
    const std::uint64_t size = header.starter_bytes;
    CHECK(job.space.direct(job.starter(rank), size) == start);
    CHECK(job.space.direct(job.starter(rank, size - 1), 1) == start + size - 1);
    CHECK(job.space.direct(job.starter(rank, size), 1) == nullptr);
    CHECK(job.space.direct(job.starter(rank, size - 1), 2) == nullptr);
    CHECK(job.space.direct(job.starter(rank), size + 1) == nullptr);
    CHECK(job.space.direct(job.starter(rank, size), 0) == start + size);
    CHECK(job.space.direct(job.starter(rank, size + 1), 0) == nullptr);
    CHECK(job.space.direct(job.starter(rank, 1), UINT64_MAX) == nullptr);
    CHECK(job.space.locate(job.starter(rank, 1), UINT64_MAX).status() ==
          Status::kBadAddress);
    CHECK(job.space.locate(job.starter(rank, size), 1).status() ==
          Status::kBadAddress);
  }
}

// Rank 1 has mapped the segment elsewhere, as a process does in which the
// address was taken. Ranks 2 and 3 are on another host.
TEST_CASE("address space: pointers agree where the segment has one address",
          "[gmm][address_space]") {
  Job job;
  CHECK(job.space.pointers_agree(0));
  CHECK(job.space.pointers_agree(1));
  CHECK_FALSE(job.space.pointers_agree(2));

  const protocol::HostSegment& segment = job.host.segment();
  segment.record(1).slice_address.fetch_add(segment.header().total_bytes);
  CHECK(job.space.pointers_agree(0));
  CHECK_FALSE(job.space.pointers_agree(1));

  const AddressSpace alone(segment, 0, 0, 2, Reach::kSelf);
  CHECK(alone.pointers_agree(0));
  CHECK_FALSE(alone.pointers_agree(1));
}

// Addresses with every field right and wrong go both ways, from two ranks. The
// short way has to give the words of library memory, and null for all other
// addresses.
TEST_CASE("address space: the short way to library words agrees with the long",
          "[gmm][address_space]") {
  Job job;
  const auto& codec = job.space.codec();
  const auto& header = job.host.segment().header();
  const std::uint64_t sizes[] = {
      header.starter_bytes, protocol::kRuntimeAreaBytes + header.module_bytes,
      200};
  std::vector<GlobalAddress> addresses = {
      kNullAddress, 8, ~GlobalAddress{7}, job.mine[0], job.mine[1], job.theirs};
  for (Rank rank = 0; rank < 5; ++rank) {
    for (Color color = 0; color < 3; ++color) {
      for (std::uint32_t key = 0; key < 3; ++key) {
        for (const std::uint64_t generation : {0U, 1U}) {
          for (const std::uint64_t offset :
               {std::uint64_t{0}, sizes[key] - 16, sizes[key] - 8, sizes[key],
                sizes[key] + 8}) {
            addresses.push_back(
                codec.encode(rank, color, key, generation, offset & ~7ULL));
          }
        }
      }
    }
  }
  for (const GlobalAddress ga : addresses) {
    INFO(ga);
    const bool is_library =
        codec.index(ga) <= kModuleKey &&
        ga == codec.encode(codec.rank(ga), 0, codec.index(ga), 0,
                           codec.offset(ga));
    for (const AddressSpace* space : {&job.space, &job.space1}) {
      std::byte* direct = space->direct(ga, 8);
      std::byte* expected = is_library ? direct : nullptr;
      std::byte* slice = space->slice_of(codec.rank(ga));
      CHECK((slice == nullptr ? nullptr
                              : space->library_at(slice, codec.within_rank(ga),
                                                  8)) == expected);
      CHECK(space->library_word(ga) == expected);
      CHECK(space->own_library_word(ga) ==
            (codec.rank(ga) == space->my_rank() ? expected : nullptr));
      const Result<Target> target = space->locate(ga, 8);
      CHECK((target.ok() ? target.value().direct : nullptr) == direct);
    }
  }
}

TEST_CASE("address space: my registered memory, to the last byte",
          "[gmm][address_space]") {
  Job job;
  for (Color color = 0; color < 2; ++color) {
    const GlobalAddress ga = job.mine[color];
    std::byte* base = job.memory.data() + 3;
    CHECK(job.space.direct(ga, 200) == base);
    CHECK(job.space.direct(ga + 199, 1) == base + 199);
    CHECK(job.space.direct(ga + 199, 2) == nullptr);
    CHECK(job.space.direct(ga + 200, 1) == nullptr);
    CHECK(job.space.direct(ga, 201) == nullptr);
    // The byte before an unaligned base has an offset that wraps.
    CHECK(job.space.direct(ga - 1, 1) == nullptr);
    CHECK(job.space.direct(ga - 3, 1) == nullptr);
    CHECK(job.space.direct(ga - 1, 2) == nullptr);
    CHECK(job.space.locate(ga - 1, 1).status() == Status::kBadAddress);
    CHECK(job.space.direct(ga, UINT64_MAX) == nullptr);
    CHECK(job.space.direct(ga + 1, UINT64_MAX) == nullptr);
    CHECK(job.space.own(ga + 1, 199).value() == base + 1);
    CHECK(job.space.own(ga + 1, 200).status() == Status::kBadAddress);
  }
}

TEST_CASE("address space: what cannot be touched here is told apart",
          "[gmm][address_space]") {
  Job job;
  const auto& codec = job.space.codec();
  SECTION("a peer's own memory: its address there") {
    const Result<Target> target = job.space.locate(job.theirs + 10, 90);
    REQUIRE(target.ok());
    CHECK(target.value().rank == 1);
    CHECK(target.value().direct == nullptr);
    CHECK(target.value().is_same_host);
    CHECK(target.value().owner_address ==
          reinterpret_cast<std::uintptr_t>(job.memory.data() + 522));
    CHECK(job.space.direct(job.theirs, 1) == nullptr);
    CHECK(job.space.locate(job.theirs + 10, 91).status() ==
          Status::kBadAddress);
    CHECK(job.space1.direct(job.theirs, 100) == job.memory.data() + 512);
  }
  SECTION("a rank elsewhere: rank and color only") {
    const Result<Target> target =
        job.space.locate(codec.encode(3, 1, 99, 1, 12345), 1 << 30);
    REQUIRE(target.ok());
    CHECK(target.value().rank == 3);
    CHECK(target.value().direct == nullptr);
    CHECK_FALSE(target.value().is_same_host);
    CHECK(job.space.direct(job.starter(3), 1) == nullptr);
    CHECK(job.space.slice_header(3) == nullptr);
    CHECK(job.space.locate(codec.encode(3, 2, 0, 0, 0), 1).status() ==
          Status::kBadColor);
  }
  SECTION("no address, no rank, no color, no key") {
    CHECK(job.space.locate(kNullAddress, 8).status() == Status::kBadAddress);
    CHECK(job.space.locate(5, 8).status() == Status::kBadRank);
    CHECK(job.space.locate(codec.encode(4, 0, 0, 0, 0), 8).status() ==
          Status::kBadRank);
    CHECK(job.space.locate(codec.encode(0, 2, 0, 0, 0), 8).status() ==
          Status::kBadColor);
    CHECK(job.space.locate(codec.encode(0, 0, 77, 0, 0), 8).status() ==
          Status::kBadKey);
    // A region belongs to one color only.
    CHECK(job.space.locate(codec.encode(0, 1, kStarterKey, 0, 0), 8).status() ==
          Status::kBadKey);
    for (const GlobalAddress ga :
         {kNullAddress, GlobalAddress{5}, codec.encode(4, 0, 0, 0, 0),
          codec.encode(0, 2, 0, 0, 0), codec.encode(0, 0, 77, 0, 0),
          codec.encode(0, 1, kStarterKey, 0, 0), ~GlobalAddress{0}}) {
      CHECK(job.space.direct(ga, 8) == nullptr);
    }
  }
  SECTION("not mine") {
    CHECK(job.space.own(job.starter(1), 8).status() == Status::kBadRank);
    CHECK(job.space.own(job.starter(3), 8).status() == Status::kBadRank);
  }
}

TEST_CASE("address space: a stale address is dead", "[gmm][address_space]") {
  Job job;
  REQUIRE(job.keys0.remove(0, job.mine[0] - 3) == Status::kOk);
  CHECK(job.space.direct(job.mine[0], 1) == nullptr);
  CHECK(job.space.locate(job.mine[0], 1).status() == Status::kBadKey);
  CHECK(job.space.direct(job.mine[1], 1) != nullptr);
  REQUIRE(job.keys1.remove(1, job.theirs) == Status::kOk);
  CHECK(job.space.locate(job.theirs, 1).status() == Status::kBadKey);
}

TEST_CASE("address space: without a reach only my own memory is direct",
          "[gmm][address_space]") {
  const Job job;
  const AddressSpace narrow(job.host.segment(), 0, 0, 2, Reach::kSelf);
  CHECK(narrow.direct(job.starter(0), 8) != nullptr);
  CHECK(narrow.direct(job.mine[1], 8) != nullptr);
  CHECK(narrow.direct(job.starter(1), 8) == nullptr);
  CHECK(narrow.slice_header(1) == nullptr);
  CHECK(narrow.slice_header(0) != nullptr);
  const Result<Target> target = narrow.locate(job.starter(1), 8);
  REQUIRE(target.ok());
  CHECK_FALSE(target.value().is_same_host);
}

// Each reach is a way in which a job may execute atomics. The reach must not
// change plain loads and stores.
TEST_CASE("address space: whose atomics are for the CPU",
          "[gmm][address_space]") {
  const Job job;
  const auto made = [&](Reach reach) {
    return AddressSpace(job.host.segment(), 0, 0, 2, reach);
  };
  const AddressSpace own = made(Reach::kSelf);
  CHECK(own.has_cpu_atomics());
  CHECK(own.has_cpu_atomics(8));
  CHECK_FALSE(own.has_device_atomics());
  const AddressSpace apart = made(Reach::kSelfAgentAtomics);
  CHECK_FALSE(apart.has_cpu_atomics(4));
  CHECK_FALSE(apart.has_device_atomics());
  const AddressSpace device = made(Reach::kSelfDeviceAtomics);
  CHECK(device.has_device_atomics());
  CHECK_FALSE(device.has_cpu_atomics());
  CHECK_FALSE(device.has_cpu_atomics(8));
  CHECK(device.has_cpu_atomics(4));
  CHECK(device.library_atomic(job.starter(0)) == nullptr);
  CHECK(device.direct(job.starter(0), 8) == own.direct(job.starter(0), 8));
  CHECK(device.direct(job.starter(1), 8) == nullptr);
}

TEST_CASE("address space: a new rank keeps its memory",
          "[gmm][address_space]") {
  const Job job;
  AddressSpace space = job.space;
  space.set_rank(1);
  job.host.segment().slot_of_rank()[0].store(1);
  job.host.segment().slot_of_rank()[1].store(0);
  std::byte* slice = job.host.segment().slice(0);
  const std::uint64_t at = job.host.segment().header().starter_offset;
  CHECK(space.direct(job.starter(1), 8) == slice + at);
  CHECK(space.direct(job.starter(0), 8) == job.host.segment().slice(1) + at);
}

TEST_CASE("address space: readers never see a mixture of two regions",
          "[gmm][address_space]") {
  const test::HostMemory host(2);
  KeyTable keys(host.segment(), 0);
  const AddressSpace owner(host.segment(), 0, 0, 1, Reach::kHost);
  const AddressSpace peer(host.segment(), 1, 1, 1, Reach::kHost);
  // The small region has a low address, the large region a high address. A torn
  // entry would have the base of one region and the size of the other.
  alignas(64) static std::array<std::byte, 8192> memory{};
  std::byte* low = memory.data();
  std::byte* high = memory.data() + 4096;
  constexpr std::uint64_t kSmall = 64;
  constexpr std::uint64_t kLarge = 4096;
  // All keys but one are taken, so this key is used again and again.
  const std::uint32_t entries = host.segment().header().key_entries;
  for (std::uint32_t i = kFirstUserKey; i + 1 < entries; ++i) {
    REQUIRE(keys.add(0, 0, low, 1).ok());
  }
  const Result<GlobalAddress> first = keys.add(0, 0, low, kSmall);
  REQUIRE(first.ok());
  std::atomic<GlobalAddress> hint{first.value()};
  std::atomic<bool> is_over{false};
  test::Verdict verdict;
  // The key comes back with the next generation. Odd generations have the large
  // region. So an address tells which region the reader has to find, also after
  // the generations have wrapped.
  const auto read = [&] {
    while (!is_over.load(std::memory_order_relaxed)) {
      const GlobalAddress ga = hint.load(std::memory_order_relaxed);
      const bool is_large = (owner.codec().generation(ga) & 1) != 0;
      const std::byte* whole = owner.direct(ga, kLarge);
      const std::byte* at = owner.direct(ga, 1);
      const Result<Target> target = peer.locate(ga, kLarge);
      verdict.expect(whole == nullptr || (is_large && whole == high),
                     "base and size");
      verdict.expect(at == nullptr || at == (is_large ? high : low), "base");
      verdict.expect(
          !target.ok() ||
              (is_large && target.value().owner_address ==
                               reinterpret_cast<std::uintptr_t>(high)),
          "base and size, from outside");
    }
  };
  std::thread reader(read);
  std::thread other(read);
  GlobalAddress live = first.value();
  for (int i = 0; i < 300'000; ++i) {
    const bool is_large = i % 2 == 0;
    verdict.expect(keys.remove(0, live) == Status::kOk, "removed");
    live = keys.add(0, 0, is_large ? high : low, is_large ? kLarge : kSmall)
               .value();
    hint.store(live, std::memory_order_relaxed);
  }
  is_over.store(true);
  reader.join();
  other.join();
  CHECK(verdict.failure() == std::string());
  CHECK(owner.direct(live, kSmall) == low);
}

}  // namespace acp::gmm
