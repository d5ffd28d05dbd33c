// The bytes of a message: runs of blocks in memory of the program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "acp/global_memory.h"
#include "qmp/library_memory.h"

namespace qmp {

/// `count` blocks, block i at base + i * stride.
struct Run {
  std::byte* base = nullptr;
  std::size_t block = 0;
  std::size_t count = 0;
  std::ptrdiff_t stride = 0;
};

/// The range of memory that a run touches.
struct Span {
  std::ptrdiff_t low =
      0;  ///< Distance of its first byte from the base; 0 or less.
  std::size_t bytes = 0;
};

Span span_of(std::size_t block, std::size_t count, std::ptrdiff_t stride);

/// Blocks of this size and more are sent from and received into where they are.
/// Smaller ones are packed.
inline constexpr std::size_t kLargeBlock = 8192;

/// A stream of bytes in memory of the program. Only whether it is
/// registered changes; the lock of the process guards that.
class MessageMemory {
 public:
  explicit MessageMemory(std::vector<Run> runs);
  /// One contiguous run; allocates nothing.
  MessageMemory(void* base, std::size_t bytes);
  MessageMemory(const MessageMemory&) = delete;
  MessageMemory& operator=(const MessageMemory&) = delete;
  ~MessageMemory();

  /// A message memory of equal shape whose first run begins at `base`.
  MessageMemory* moved_to(void* base) const;

  std::size_t size() const { return size_; }

  bool is_contiguous() const { return more_.empty() && first_.count <= 1; }

  const Run& first() const { return first_; }

  /// Whether one grant can describe all blocks, and they are large enough.
  bool is_direct() const {
    return is_contiguous() || (more_.empty() && first_.block >= kLargeBlock);
  }

  /// Whether peers on this host can store into each block.
  bool is_scattered_by_peers(const LibraryMemory& library) const;

  /// Copies the first `bytes` bytes of the stream into the blocks of a run.
  void copy_to(const Run& run, std::size_t bytes) const;

  /// Copies the first `bytes` bytes of the stream out, or into it.
  void gather(std::byte* to, std::size_t bytes) const;
  void scatter(const std::byte* from, std::size_t bytes) const;

  /// The global address of first().base, for a memory of one run. Registers the
  /// memory at the first call. ACP_GA_NULL: keys are exhausted.
  acp_ga_t address(LibraryMemory& library);

  /// Counts one more user. Each user calls release() once.
  void add_user() { users_.fetch_add(1, std::memory_order_relaxed); }

  /// Deletes the memory when the last user releases it.
  void release() {
    // Release and acquire: uses by other threads come before the delete.
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

 private:
  template <typename Copy>
  void walk(std::size_t bytes, const Copy& copy) const;

  Run first_;
  std::vector<Run> more_;
  std::size_t size_ = 0;
  /// Users of this object: the handle of the program, and transfers. Any thread
  /// counts; release() has the order.
  std::atomic<int> users_{1};
  /// The rest is written by address() under the lock of the process.
  LibraryMemory* library_ = nullptr;
  acp_atkey_t key_ = ACP_ATKEY_NULL;
  acp_ga_t address_ = ACP_GA_NULL;
  bool was_refused_ = false;  ///< It could not be registered before.
};

}  // namespace qmp
