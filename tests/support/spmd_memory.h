// Memory of SPMD test programs: a block of equal size on every rank, whose
// addresses all ranks know. Also small exchanges between ranks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "acp.h"

namespace spmd {

/// Kind of a block's memory. The library accesses the two kinds differently.
enum class Memory {
  kLibrary,     ///< Library memory, which all ranks of a host map.
  kRegistered,  ///< Heap memory after acp_register_memory.
};

inline constexpr Memory kMemories[] = {Memory::kLibrary, Memory::kRegistered};

const char* memory_name(Memory memory);

/// Bytes of library memory that blocks can take together.
inline constexpr std::size_t kLibraryBytes = std::size_t{40} << 20;

/// Asks for the library memory. main() calls it before acp_init.
void add_memory_module();

/// Returns the values of all ranks, by rank. Collective.
std::vector<std::uint64_t> gather(std::uint64_t value);

/// Returns the value of rank `from`. Collective.
std::uint64_t broadcast(std::uint64_t value, int from);

/// `bytes` of zeroed memory on every rank, reachable from all. Construction
/// and destruction are collective; blocks end in reverse order. Base aligned
/// to 64 bytes. Must not outlive an acp_reset.
class Block {
 public:
  explicit Block(Memory memory, std::size_t bytes, int color = 0);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  std::size_t size() const { return bytes_; }

  /// The byte `offset` of the block of `rank`.
  acp_ga_t at(int rank, std::size_t offset = 0) const {
    return addresses_[static_cast<std::size_t>(rank)] + offset;
  }

  /// The byte `offset` of this rank's block.
  acp_ga_t mine(std::size_t offset = 0) const { return at(acp_rank(), offset); }

  std::byte* data() const { return data_; }

  std::span<std::byte> bytes() const { return {data_, bytes_}; }

  /// The 8-byte word `index` of this rank's block. Other ranks may change it.
  std::atomic_ref<std::uint64_t> word(std::size_t index) const {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(data_)[index]);
  }

  /// The 4-byte word `index` of this rank's block.
  std::atomic_ref<std::uint32_t> half(std::size_t index) const {
    return std::atomic_ref(reinterpret_cast<std::uint32_t*>(data_)[index]);
  }

 private:
  Memory memory_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> heap_;
  acp_atkey_t key_ = ACP_ATKEY_NULL;
  std::vector<acp_ga_t> addresses_;
};

/// Byte `index` of the pattern that `salt` chooses.
std::byte pattern_byte(std::uint64_t salt, std::size_t index);
void fill_pattern(std::span<std::byte> bytes, std::uint64_t salt);
/// Index of the first byte that differs from the pattern, or bytes.size().
std::size_t pattern_mismatch(std::span<const std::byte> bytes,
                             std::uint64_t salt);
/// Ends the case, and names the byte, unless all bytes have the pattern.
void expect_pattern(std::span<const std::byte> bytes, std::uint64_t salt);

}  // namespace spmd
