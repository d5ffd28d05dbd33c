// KeyTable: regions, addresses of registered memory, generations of keys.
#include "gmm/key_table.h"

#include <array>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "gmm/address_space.h"
#include "support/host_memory.h"

namespace acp::gmm {

namespace {

/// Rank 0 of a job, its keys, and memory to register.
struct Owner {
  explicit Owner(std::uint32_t procs = 2)
      : host(procs, procs < 8 ? procs : 1),
        keys(host.segment(), 0),
        space(host.segment(), 0, 0, 4, Reach::kHost) {}

  GlobalAddress add(void* address, std::uint64_t size, Color color = 0) {
    const Result<GlobalAddress> atkey = keys.add(0, color, address, size);
    REQUIRE(atkey.ok());
    return atkey.value();
  }

  test::HostMemory host;
  KeyTable keys;
  AddressSpace space;
  alignas(64) std::array<std::byte, 4096> bytes{};
};

}  // namespace

TEST_CASE("key table: an address has the low six bits of its memory",
          "[gmm][key_table]") {
  Owner owner;
  for (std::size_t skew = 0; skew < 70; ++skew) {
    std::byte* base = owner.bytes.data() + skew;
    const GlobalAddress atkey = owner.add(base, 100);
    for (const std::size_t at : {0U, 1U, 63U, 64U, 99U}) {
      const Result<GlobalAddress> ga =
          owner.keys.address_of(0, atkey, base + at);
      REQUIRE(ga.ok());
      CHECK((ga.value() & 63) ==
            (reinterpret_cast<std::uintptr_t>(base + at) & 63));
      CHECK(owner.space.direct(ga.value(), 1) == base + at);
    }
    REQUIRE(owner.keys.remove(0, atkey) == Status::kOk);
  }
}

TEST_CASE("key table: the first and the last byte, and one beyond",
          "[gmm][key_table]") {
  Owner owner;
  std::byte* base = owner.bytes.data() + 5;
  const GlobalAddress atkey = owner.add(base, 1000);
  CHECK(owner.keys.address_of(0, atkey, base).ok());
  CHECK(owner.keys.address_of(0, atkey, base + 999).ok());
  CHECK(owner.keys.address_of(0, atkey, base + 1000).status() ==
        Status::kBadAddress);
  CHECK(owner.keys.address_of(0, atkey, base - 1).status() ==
        Status::kBadAddress);
  CHECK(owner.keys.address_of(0, atkey, nullptr).status() ==
        Status::kBadAddress);
  const auto* top = reinterpret_cast<const void*>(UINTPTR_MAX);
  CHECK(owner.keys.address_of(0, atkey, top).status() == Status::kBadAddress);
}

// Most wrong keys differ from the right one in one field. They must change
// nothing, so the right key can be removed afterwards, and only once.
TEST_CASE("key table: only what add() gave is a key", "[gmm][key_table]") {
  Owner owner;
  const auto& codec = owner.space.codec();
  const GlobalAddress atkey = owner.add(owner.bytes.data(), 64, 1);
  const std::uint32_t index = codec.index(atkey);
  const std::uint64_t generation = codec.generation(atkey);
  const GlobalAddress wrong[] = {
      kNullAddress,
      atkey + 1,
      codec.encode(1, 1, index, generation, 0),
      codec.encode(0, 0, index, generation, 0),
      codec.encode(0, 1, index + 1, generation, 0),
      codec.encode(0, 1, index, generation + 1, 0),
      codec.encode(0, 0, kStarterKey, 0, 0),
      codec.encode(0, 0, kModuleKey, 0, 0),
      ~std::uint64_t{0},
  };
  for (const GlobalAddress bad : wrong) {
    INFO(bad);
    CHECK(owner.keys.remove(0, bad) == Status::kBadKey);
    CHECK(owner.keys.address_of(0, bad, owner.bytes.data()).status() ==
          Status::kBadKey);
  }
  CHECK(owner.keys.remove(1, atkey) == Status::kBadKey);
  CHECK(owner.keys.remove(0, atkey) == Status::kOk);
  CHECK(owner.keys.remove(0, atkey) == Status::kBadKey);
}

TEST_CASE("key table: all keys in use is an answer", "[gmm][key_table]") {
  Owner owner;
  const std::uint32_t entries = owner.host.segment().header().key_entries;
  std::vector<GlobalAddress> atkeys;
  for (std::uint32_t i = kFirstUserKey; i < entries; ++i) {
    atkeys.push_back(owner.add(owner.bytes.data(), 64));
  }
  CHECK(std::set(atkeys.begin(), atkeys.end()).size() == atkeys.size());
  CHECK(owner.keys.add(0, 0, owner.bytes.data(), 64).status() ==
        Status::kNoKeys);
  REQUIRE(owner.keys.remove(0, atkeys[7]) == Status::kOk);
  const GlobalAddress again = owner.add(owner.bytes.data(), 64);
  CHECK(owner.space.codec().index(again) ==
        owner.space.codec().index(atkeys[7]));
  CHECK(owner.keys.add(0, 0, owner.bytes.data(), 64).status() ==
        Status::kNoKeys);
}

TEST_CASE("key table: a key is reused after all others, as another one",
          "[gmm][key_table]") {
  Owner owner;
  const auto& codec = owner.space.codec();
  const std::uint32_t users =
      owner.host.segment().header().key_entries - kFirstUserKey;
  const std::uint64_t generations = std::uint64_t{1} << codec.generation_bits();
  REQUIRE(generations > 1);
  std::deque<GlobalAddress> seen;
  std::set<GlobalAddress> all;
  // Repeat until the generation of the first key wraps.
  for (std::uint64_t round = 0; round < generations; ++round) {
    for (std::uint32_t i = 0; i < users; ++i) {
      const GlobalAddress atkey = owner.add(owner.bytes.data(), 64);
      REQUIRE(all.insert(atkey).second);
      REQUIRE(owner.keys.remove(0, atkey) == Status::kOk);
      seen.push_back(atkey);
      if (seen.size() > users) {
        // The key that was freed first is used first: an index comes back after
        // a whole round.
        REQUIRE(codec.index(seen.front()) == codec.index(atkey));
        REQUIRE(owner.space.direct(seen.front(), 1) == nullptr);
        seen.pop_front();
      }
    }
  }
  const GlobalAddress wrapped = owner.add(owner.bytes.data(), 64);
  CHECK(all.count(wrapped) == 1);
}

TEST_CASE("key table: a stale key of a large job is noticed",
          "[gmm][key_table]") {
  for (const std::uint32_t procs : {4'096U, 65'536U, 262'143U}) {
    Owner owner(procs);
    const auto& codec = owner.space.codec();
    const std::uint32_t users =
        owner.host.segment().header().key_entries - kFirstUserKey;
    const GlobalAddress stale = owner.add(owner.bytes.data(), 64);
    REQUIRE(owner.keys.remove(0, stale) == Status::kOk);
    // The index comes back after all others have been used.
    GlobalAddress live = kNullAddress;
    for (std::uint32_t i = 0; i < users; ++i) {
      live = owner.add(owner.bytes.data(), 64);
      if (codec.index(live) != codec.index(stale)) {
        REQUIRE(owner.keys.remove(0, live) == Status::kOk);
      }
    }
    INFO("procs " << procs);
    REQUIRE(codec.index(live) == codec.index(stale));
    CHECK(owner.space.direct(live, 1) != nullptr);
    CHECK(owner.space.direct(stale, 1) == nullptr);
    CHECK(owner.keys.remove(0, stale) == Status::kBadKey);
  }
}

TEST_CASE("key table: the longest dead of many is taken first",
          "[gmm][key_table]") {
  Owner owner;
  const auto& codec = owner.space.codec();
  std::vector<GlobalAddress> atkeys;
  const std::uint32_t entries = owner.host.segment().header().key_entries;
  for (std::uint32_t i = kFirstUserKey; i < entries; ++i) {
    atkeys.push_back(owner.add(owner.bytes.data(), 64));
  }
  for (const std::size_t dead : {40U, 3U, 99U}) {
    REQUIRE(owner.keys.remove(0, atkeys[dead]) == Status::kOk);
  }
  for (const std::size_t dead : {40U, 3U, 99U}) {
    const GlobalAddress atkey = owner.add(owner.bytes.data(), 64);
    CHECK(codec.index(atkey) == codec.index(atkeys[dead]));
    CHECK(codec.generation(atkey) == codec.generation(atkeys[dead]) + 1);
  }
}

TEST_CASE("key table: a region larger than the field is refused",
          "[gmm][key_table]") {
  for (const std::uint32_t procs : {1U, 2U, 1000U, 1'048'575U}) {
    Owner owner(procs);
    const std::uint64_t largest = owner.space.codec().max_region_bytes();
    auto* base = reinterpret_cast<std::byte*>(std::uintptr_t{4096 + 63});
    INFO("procs " << procs);
    CHECK(owner.keys.add(0, 0, base, largest + 1).status() ==
          Status::kTooLarge);
    CHECK(owner.keys.add(0, 0, base, UINT64_MAX).status() == Status::kTooLarge);
    // The largest region, unaligned: its last byte still has an address.
    const GlobalAddress atkey = owner.add(base, largest);
    const Result<GlobalAddress> last =
        owner.keys.address_of(0, atkey, base + largest - 1);
    REQUIRE(last.ok());
    CHECK(owner.space.codec().rank(last.value()) == 0);
    CHECK(owner.space.codec().index(last.value()) ==
          owner.space.codec().index(atkey));
    CHECK(owner.space.direct(last.value(), 1) == base + largest - 1);
    CHECK(owner.space.direct(last.value(), 2) == nullptr);
  }
}

TEST_CASE("key table: clear() ends all user regions and no other",
          "[gmm][key_table]") {
  Owner owner;
  const auto& codec = owner.space.codec();
  const GlobalAddress one = owner.add(owner.bytes.data(), 64);
  const GlobalAddress two = owner.add(owner.bytes.data() + 64, 64);
  REQUIRE(owner.keys.remove(0, one) == Status::kOk);
  owner.keys.clear();
  CHECK(owner.space.direct(two, 1) == nullptr);
  CHECK(owner.keys.remove(0, two) == Status::kBadKey);
  CHECK(owner.space.direct(codec.encode(0, 0, kStarterKey, 0, 0), 8) !=
        nullptr);
  CHECK(owner.space.direct(codec.encode(0, 0, kModuleKey, 0, 0), 8) != nullptr);
  // Every key can be given again, once.
  const std::uint32_t entries = owner.host.segment().header().key_entries;
  std::set<std::uint32_t> indices;
  for (std::uint32_t i = kFirstUserKey; i < entries; ++i) {
    indices.insert(codec.index(owner.add(owner.bytes.data(), 64)));
  }
  CHECK(indices.size() == entries - kFirstUserKey);
  CHECK(owner.keys.add(0, 0, owner.bytes.data(), 64).status() ==
        Status::kNoKeys);
}

TEST_CASE("key table: its end unregisters everything", "[gmm][key_table]") {
  const test::HostMemory host(2);
  const AddressSpace space(host.segment(), 0, 0, 1, Reach::kHost);
  std::array<std::byte, 64> bytes{};
  GlobalAddress atkey = 0;
  {
    KeyTable keys(host.segment(), 0);
    const Result<GlobalAddress> added = keys.add(0, 0, bytes.data(), 64);
    REQUIRE(added.ok());
    atkey = added.value() + (reinterpret_cast<std::uintptr_t>(&bytes) & 63);
    CHECK(space.direct(atkey, 64) == bytes.data());
  }
  CHECK(space.direct(atkey, 64) == nullptr);
  CHECK(space.locate(atkey, 64).status() == Status::kBadKey);
  CHECK(
      space.locate(space.codec().encode(0, 0, kStarterKey, 0, 0), 8).status() ==
      Status::kBadKey);
}

}  // namespace acp::gmm
