// GlobalAddressCodec: the fields of 64-bit addresses in jobs of every size.
#include "gmm/global_address.h"

#include <random>

#include <catch2/catch.hpp>

#include "support/host_memory.h"

namespace acp::gmm {

namespace {

constexpr std::uint32_t kProcs[] = {
    1, 2, 3, 7, 8, 1000, 4096, 65'535, 65'536, 262'143, 524'287, 1'048'575};

/// The number of keys that a job of this size has.
std::uint32_t key_entries(std::uint32_t procs) {
  return test::HostMemory(procs, 1).segment().header().key_entries;
}

}  // namespace

TEST_CASE("global address: every field survives a round trip",
          "[gmm][global_address]") {
  for (const std::uint32_t procs : kProcs) {
    const std::uint32_t keys = key_entries(procs);
    const GlobalAddressCodec codec(procs, keys);
    std::mt19937_64 random(procs);
    const std::uint64_t generations = std::uint64_t{1}
                                      << codec.generation_bits();
    const std::uint64_t last_offset =
        (std::uint64_t{1} << codec.offset_bits()) - 1;
    INFO("procs " << procs);
    for (int i = 0; i < 5000; ++i) {
      // Draw the extreme values first, then random values.
      const bool is_corner = i < 32;
      const auto pick = [&](int bit, std::uint64_t last) -> std::uint64_t {
        return is_corner ? (i >> bit & 1) * last : random() % (last + 1);
      };
      const auto rank = static_cast<Rank>(pick(0, procs - 1));
      const auto color = static_cast<Color>(pick(1, codec.max_colors() - 1));
      const auto index = static_cast<std::uint32_t>(pick(2, keys - 1));
      const std::uint64_t generation = pick(3, generations - 1);
      const std::uint64_t offset = pick(4, last_offset);
      const GlobalAddress ga =
          codec.encode(rank, color, index, generation, offset);
      REQUIRE(ga != kNullAddress);
      REQUIRE(codec.rank(ga) == rank);
      REQUIRE(codec.color(ga) == color);
      REQUIRE(codec.index(ga) == index);
      REQUIRE(codec.generation(ga) == generation);
      REQUIRE(codec.offset(ga) == offset);
    }
  }
}

TEST_CASE("global address: the fields fill 64 bits and grow for small jobs",
          "[gmm][global_address]") {
  int rank_bits = 0;
  for (const std::uint32_t procs : kProcs) {
    const GlobalAddressCodec codec(procs, key_entries(procs));
    INFO("procs " << procs);
    CHECK(codec.rank_bits() + codec.color_bits() + codec.generation_bits() +
              codec.index_bits() + codec.offset_bits() ==
          64);
    CHECK(codec.rank_bits() >= rank_bits);
    rank_bits = codec.rank_bits();
    CHECK((std::uint64_t{1} << codec.rank_bits()) > procs);
  }
  const GlobalAddressCodec alone(1, key_entries(1));
  CHECK(alone.max_region_bytes() > std::uint64_t{1} << 42);
  CHECK(alone.generation_bits() > 0);
}

TEST_CASE("global address: the limits promised for the largest job",
          "[gmm][global_address]") {
  for (const std::uint32_t procs : kProcs) {
    const std::uint32_t keys = key_entries(procs);
    const GlobalAddressCodec codec(procs, keys);
    INFO("procs " << procs);
    CHECK(codec.max_colors() >= 4);
    // A rank has 255 registered regions at least, starter memory included.
    CHECK(keys - 1 >= 255);
    // A region may have 16 GiB, less the unaligned bytes at its head.
    CHECK(codec.max_region_bytes() + kBaseAlignment >= std::uint64_t{16} << 30);
  }
}

TEST_CASE("global address: generations have bits where regions leave them",
          "[gmm][global_address]") {
  const auto bits = [](std::uint32_t procs) {
    return GlobalAddressCodec(procs, key_entries(procs)).generation_bits();
  };
  for (std::uint32_t procs = 1; procs < 262'144; procs *= 2) {
    INFO("procs " << procs);
    CHECK(bits(procs) >= 2);
  }
  CHECK(bits(262'143) == 2);
  CHECK(bits(262'144) == 1);
  CHECK(bits(524'287) == 1);
  // Rank, 4 colors, 256 keys and 16 GiB take all 64 bits.
  CHECK(bits(524'288) == 0);
  CHECK(bits(kMaxProcs) == 0);
}

TEST_CASE("global address: what names no rank is told apart",
          "[gmm][global_address]") {
  for (const std::uint32_t procs : kProcs) {
    const GlobalAddressCodec codec(procs, key_entries(procs));
    INFO("procs " << procs);
    CHECK(codec.rank(kNullAddress) == UINT32_MAX);
    CHECK(codec.rank(1) == UINT32_MAX);
    CHECK(codec.rank((std::uint64_t{1} << (64 - codec.rank_bits())) - 1) ==
          UINT32_MAX);
    // All bits set: the largest rank that the field can have.
    CHECK(codec.rank(~std::uint64_t{0}) >= procs - 1);
  }
}

TEST_CASE("global address: a state matches its own color and generation only",
          "[gmm][global_address]") {
  for (const std::uint32_t procs : kProcs) {
    const GlobalAddressCodec codec(procs, key_entries(procs));
    const Color color = codec.max_colors() - 1;
    const std::uint64_t counter = UINT32_MAX;
    const std::uint64_t state = codec.color_and_generation(color, counter) |
                                counter << protocol::kKeyCounterShift |
                                protocol::kLiveBit;
    const GlobalAddress ga = codec.encode(procs - 1, color, 5, counter, 77);
    INFO("procs " << procs);
    CHECK(codec.matches_state(ga, state));
    CHECK_FALSE(codec.matches_state(ga, state & ~protocol::kLiveBit));
    CHECK_FALSE(codec.matches_state(
        codec.encode(procs - 1, color - 1, 5, counter, 77), state));
    if (codec.generation_bits() > 0) {
      CHECK_FALSE(codec.matches_state(
          codec.encode(procs - 1, color, 5, counter - 1, 77), state));
    }
    // The counter lies where no address has color or generation.
    CHECK((codec.color_and_generation(~Color{0}, 0) &
           codec.color_and_generation(color, 0)) ==
          codec.color_and_generation(color, 0));
    CHECK(((counter << protocol::kKeyCounterShift) &
           codec.color_and_generation(color, ~std::uint64_t{0})) == 0);
  }
}

}  // namespace acp::gmm
