// Allocates and registers packet buffers. Called by Device, Receives and
// RegisteredWords. Only grow() and the destructor make system calls; to lend a
// buffer allocates nothing.
#include "verbs/buffer_pool.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/log.h"
#include "verbs/lock_limit.h"

namespace acp::verbs {

BufferPool::~BufferPool() {
  for (Chunk& chunk : chunks_) {
    chunk.region.reset();
    ::munmap(chunk.memory, chunk.bytes);
  }
}

/// Maps and registers before the pool changes, so a failure leaves it as it
/// was.
Status BufferPool::grow(std::size_t count, LogLevel level) {
  const std::size_t bytes = count * kPacketBytes;
  // Shared, because a private mapping would be copied on fork, and the device
  // would go on writing to the original alone.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    log(level, "verbs: {} bytes for packets: {}", bytes, errno_text(errno));
    return Status::kNoMemory;
  }
  // Registering touches all pages, and packets in flight are of no use in a
  // core dump.
  (void)::madvise(memory, bytes, MADV_DONTDUMP);
  MemoryRegion region(
      ibv_reg_mr(&domain_, memory, bytes, int{IBV_ACCESS_LOCAL_WRITE}));
  if (region == nullptr) {
    log(level, "verbs: registering {} bytes for packets with {}: {}; {}", bytes,
        ibv_get_device_name(domain_.context->device), errno_text(errno),
        lock_limit());
    ::munmap(memory, bytes);
    return Status::kNoMemory;
  }
  Chunk& chunk = chunks_.emplace_back(
      Chunk{memory, bytes, std::vector<Buffer>(count), std::move(region)});
  size_ += count;
  free_.reserve(size_);
  for (std::size_t i = 0; i < count; ++i) {
    Buffer& buffer = chunk.buffers[i];
    buffer.data = static_cast<std::byte*>(memory) + i * kPacketBytes;
    buffer.lkey = chunk.region->lkey;
    free_.push_back(&buffer);
  }
  return Status::kOk;
}

}  // namespace acp::verbs
