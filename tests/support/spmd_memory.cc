// Implements the exchanges and the blocks of SPMD test programs over module
// memory, by the public interface alone.
#include "support/spmd_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "acp/extension.h"
#include "support/spmd.h"

namespace spmd {

namespace {

// Layout of the module memory of a rank: an exchange area, then the blocks.
//   0      the word that this rank sends
//   64     the words that it receives, one from each rank
constexpr std::size_t kExchangeSlots = 64;
constexpr std::size_t kBlocksOffset = 4096;

int g_module = -1;
std::size_t g_library_used = 0;

}  // namespace

const char* memory_name(Memory memory) {
  return memory == Memory::kLibrary ? "library" : "registered";
}

void add_memory_module() {
  acpx_module_t module{};
  module.name = "spmd";
  module.bytes = kBlocksOffset + kLibraryBytes;
  g_module = acpx_add_module(&module);
  if (g_module < 0) {
    fail("acpx_add_module");
  }
}

std::vector<std::uint64_t> gather(std::uint64_t value) {
  const auto procs = static_cast<std::size_t>(acp_procs());
  const auto rank = static_cast<std::size_t>(acp_rank());
  EXPECT(procs <= kExchangeSlots);
  const acp_ga_t mine = acpx_module_ga(g_module, acp_rank());
  auto* words = static_cast<std::uint64_t*>(acp_query_address(mine));
  EXPECT(words != nullptr);
  words[0] = value;
  for (int to = 0; to < acp_procs(); ++to) {
    EXPECT(acp_copy(acpx_module_ga(g_module, to) + 64 + 8 * rank, mine, 8,
                    ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
  }
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, kPatience), 0);
  EXPECT_EQ(acp_sync(), 0);
  std::vector<std::uint64_t> all(words + 8, words + 8 + procs);
  EXPECT_EQ(acp_sync(), 0);
  return all;
}

std::uint64_t broadcast(std::uint64_t value, int from) {
  return gather(value)[static_cast<std::size_t>(from)];
}

/// Library blocks are stacked: each rank has the block at an equal offset, so
/// addresses need no exchange. The addresses of registered blocks are gathered.
Block::Block(Memory memory, std::size_t bytes, int color)
    : memory_(memory), bytes_(bytes) {
  const std::size_t rounded = (bytes + 63) / 64 * 64;
  if (memory == Memory::kLibrary) {
    EXPECT(g_library_used + rounded <= kLibraryBytes);
    for (int rank = 0; rank < acp_procs(); ++rank) {
      addresses_.push_back(acpx_module_ga(g_module, rank) + kBlocksOffset +
                           g_library_used);
    }
    g_library_used += rounded;
    data_ = static_cast<std::byte*>(acp_query_address(mine()));
    EXPECT(data_ != nullptr);
    std::memset(data_, 0, bytes_);
    EXPECT_EQ(acp_sync(), 0);
    return;
  }
  heap_ = std::make_unique<std::byte[]>(rounded + 64);
  const auto start = reinterpret_cast<std::uintptr_t>(heap_.get());
  data_ = heap_.get() + ((64 - start % 64) % 64);
  key_ = acp_register_memory(data_, bytes_, color);
  EXPECT(key_ != ACP_ATKEY_NULL);
  const acp_ga_t address = acp_query_ga(key_, data_);
  EXPECT(address != ACP_GA_NULL);
  addresses_ = gather(address);
}

Block::~Block() {
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, kPatience), 0);
  EXPECT_EQ(acp_sync(), 0);
  if (memory_ == Memory::kLibrary) {
    g_library_used -= (bytes_ + 63) / 64 * 64;
  } else {
    EXPECT_EQ(acp_unregister_memory(key_), 0);
  }
}

namespace {

/// All byte values, twice. Each chunk of a pattern is 256 successive bytes of
/// this array. So memcpy and memcmp handle it whole, which is quick even under
/// the sanitizers.
constexpr auto kValues = [] {
  std::array<std::byte, 512> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::byte>(i * 131);
  }
  return values;
}();
constexpr std::size_t kChunk = 256;

const std::byte* pattern_chunk(std::uint64_t salt, std::size_t chunk) {
  return &kValues[(salt * 31 + chunk * 7 + (chunk >> 8) * 13) % kChunk];
}

}  // namespace

std::byte pattern_byte(std::uint64_t salt, std::size_t index) {
  return pattern_chunk(salt, index / kChunk)[index % kChunk];
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t salt) {
  for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
    std::memcpy(&bytes[at], pattern_chunk(salt, at / kChunk),
                std::min(kChunk, bytes.size() - at));
  }
}

std::size_t pattern_mismatch(std::span<const std::byte> bytes,
                             std::uint64_t salt) {
  for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
    const std::byte* expected = pattern_chunk(salt, at / kChunk);
    const std::size_t size = std::min(kChunk, bytes.size() - at);
    if (std::memcmp(&bytes[at], expected, size) != 0) {
      return at +
             static_cast<std::size_t>(
                 std::mismatch(expected, expected + size, &bytes[at]).first -
                 expected);
    }
  }
  return bytes.size();
}

void expect_pattern(std::span<const std::byte> bytes, std::uint64_t salt) {
  const std::size_t at = pattern_mismatch(bytes, salt);
  if (at != bytes.size()) {
    fail("byte " + std::to_string(at) + " of " + std::to_string(bytes.size()) +
         " is wrong, salt " + std::to_string(salt));
  }
}

}  // namespace spmd
