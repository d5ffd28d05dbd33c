// The handles that programs have: numbers in the shape of pointers. A number
// names an entry of a table, and a generation of that entry. So a handle that
// was freed is known as such, and no freed memory is read. Pure.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace qmp {

/// Handles of objects of type T, as values of the pointer type Handle. The
/// table does not own the objects. find() needs no lock; any thread may call
/// everything. A thread that frees a handle while another one uses it is an
/// error of the program, as qmp.h says.
template <typename T, typename Handle>
class HandleTable {
 public:
  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  /// A handle of the object; nullptr: no memory, or 4 million handles exist.
  Handle add(T* object) {
    const std::lock_guard lock(mutex_);
    if (free_.empty() && !grow()) {
      return nullptr;
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Entry& entry = *entry_at(index);
    // Release: pairs with find(), in a thread that got the handle in any way.
    entry.object.store(object, std::memory_order_release);
    return handle_of(index, entry.generation.load(std::memory_order_relaxed));
  }

  /// The object; nullptr: no such handle was made, or it was freed.
  T* find(Handle handle) const {
    const Entry* entry = entry_of(handle);
    return entry != nullptr ? entry->object.load(std::memory_order_acquire)
                            : nullptr;
  }

  /// Ends the handle, and returns its object; nullptr as find().
  T* remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    Entry* entry = entry_of(handle);
    T* object = entry != nullptr
                    ? entry->object.exchange(nullptr, std::memory_order_acq_rel)
                    : nullptr;
    if (object != nullptr) {
      entry->generation.fetch_add(1, std::memory_order_acq_rel);
      free_.push_back(index_of(handle));  // grow() has reserved the room.
    }
    return object;
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  static constexpr std::size_t kChunks = 4096;

  /// A generation is never 0, so no handle is NULL or a small number.
  struct Entry {
    std::atomic<T*> object{nullptr};
    std::atomic<std::uint32_t> generation{1};
  };

  using Chunk = std::array<Entry, kChunk>;

  static Handle handle_of(std::uint32_t index, std::uint32_t generation) {
    return reinterpret_cast<Handle>(std::uintptr_t{generation} << 32 | index);
  }

  static std::uint32_t index_of(Handle handle) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
  }

  /// The entry, if its generation is that of the handle.
  Entry* entry_of(Handle handle) const {
    const std::uint32_t index = index_of(handle);
    Entry* entry = index / kChunk < kChunks ? entry_at(index) : nullptr;
    const auto generation = static_cast<std::uint32_t>(
        reinterpret_cast<std::uintptr_t>(handle) >> 32);
    return entry != nullptr && entry->generation.load(
                                   std::memory_order_acquire) == generation
               ? entry
               : nullptr;
  }

  Entry* entry_at(std::uint32_t index) const {
    // Acquire: pairs with the release in grow().
    Chunk* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    return chunk != nullptr ? &(*chunk)[index % kChunk] : nullptr;
  }

  /// Adds a chunk of free entries; the first of them is taken first.
  bool grow() {
    if (owned_.size() == kChunks) {
      return false;
    }
    try {
      owned_.reserve(owned_.size() + 1);
      free_.reserve((owned_.size() + 1) * kChunk);
      owned_.push_back(std::make_unique<Chunk>());
    } catch (const std::bad_alloc&) {
      return false;
    }
    const std::size_t number = owned_.size() - 1;
    for (std::size_t i = kChunk; i > 0; --i) {
      free_.push_back(static_cast<std::uint32_t>(number * kChunk + i - 1));
    }
    chunks_[number].store(owned_.back().get(), std::memory_order_release);
    return true;
  }

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};  ///< grow() adds.
  std::mutex mutex_;  ///< Guards the members below.
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::vector<std::uint32_t> free_;  ///< Indices of entries without an object.
};

}  // namespace qmp
