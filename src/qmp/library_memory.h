// Memory with a global address. It comes from the module memory of this rank,
// and then from slabs that this process registers. Used for channels, packed
// buffers and QMP_allocate_memory, never while a message moves in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "acp/global_memory.h"

namespace qmp {

/// Allocates in one range of memory, first fit. Not thread-safe:
/// LibraryMemory::mutex_ guards each arena.
class Arena {
 public:
  Arena(std::byte* base, std::size_t bytes, acp_ga_t address);

  /// nullptr: no free range is large enough. `alignment` is a power of two.
  std::byte* allocate(std::size_t bytes, std::size_t alignment);
  /// Frees what allocate() gave; other memory is ignored.
  void free(std::byte* memory);

  bool contains(const std::byte* memory, std::size_t bytes) const;

  bool is_empty() const { return used_.empty(); }

  acp_ga_t address_of(const std::byte* memory) const {
    return address_ + static_cast<std::uint64_t>(memory - base_);
  }

 private:
  // The constructor writes these three, and they do not change. So contains()
  // needs no lock.
  std::byte* base_;
  std::size_t bytes_;
  acp_ga_t address_;
  // allocate() and free() write both maps.
  std::map<std::size_t, std::size_t>
      free_;  ///< Offset to length; neighbours are merged.
  std::map<std::size_t, std::size_t> used_;  ///< Offset to length.
};

/// Memory and its global address.
struct Block {
  std::byte* memory = nullptr;
  acp_ga_t address = ACP_GA_NULL;

  explicit operator bool() const { return memory != nullptr; }
};

/// Memory of any rank that this process can load and store directly, given by
/// its global address. nullptr when it cannot reach all `bytes` of it in a row.
std::byte* mapped_memory(acp_ga_t address, std::size_t bytes);

/// All such memory of this process. Thread-safe.
class LibraryMemory {
 public:
  LibraryMemory() = default;
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;
  ~LibraryMemory();

  /// Takes the module memory. Comes before any other call.
  void begin(std::byte* base, std::size_t bytes, acp_ga_t address);

  /// The memory is not zeroed. Empty when memory or keys are exhausted.
  Block allocate(std::size_t bytes, std::size_t alignment = 64);
  void free(std::byte* memory);

  /// Whether a range lies in module memory, into which peers on this host can
  /// store.
  bool is_mapped_by_peers(const std::byte* memory, std::size_t bytes) const {
    return module_->contains(memory, bytes);
  }

  /// The global address of a range that lies in memory of this object, or
  /// ACP_GA_NULL.
  acp_ga_t address_of(const void* memory, std::size_t bytes);

  /// Registers memory of the program. ACP_ATKEY_NULL: the quota of keys is used
  /// up.
  acp_atkey_t register_memory(void* memory, std::size_t bytes);
  void unregister_memory(acp_atkey_t key);

 private:
  struct Slab {
    Arena arena;
    acp_atkey_t key = ACP_ATKEY_NULL;  ///< None: module memory.
    void* memory = nullptr;            ///< Freed with the slab.
  };

  Block allocate_in(Arena& arena, std::size_t bytes, std::size_t alignment);
  bool add_slab(std::size_t bytes);
  void drop(Slab& slab);

  /// The arena of module memory. begin() writes it, and it stays. So
  /// is_mapped_by_peers() needs no lock.
  const Arena* module_ = nullptr;
  std::mutex mutex_;  ///< Guards the members below.
  /// begin() adds the first, which stays; allocate() and free() the others.
  std::vector<std::unique_ptr<Slab>> slabs_;
  int keys_ = 0;  ///< Keys in use, of slabs and of memory of the program.
};

}  // namespace qmp
