// Staging of bytes between objects of Python and global memory. All functions
// with bytes use it, with the GIL or without. It calls acp_malloc once in the
// life of a thread, and for large pieces.
#include "python/native/staging.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include <acp/extension.h>

namespace acp::python {

namespace {

/// A key and a value, or an object of a message, mostly fit into a quarter.
constexpr std::size_t kBlockBytes = 64 * 1024;
/// Above it a copy costs more than registering memory does on one host.
constexpr std::size_t kStagedBytes = 256 * 1024;

/// Counts the lives of the job in this process: a block is of one life.
std::atomic<std::uint64_t> g_life{0};

/// The block of a thread, of which the first `used` bytes are taken.
struct Block {
  acp_ga_t ga = ACP_GA_NULL;
  std::byte* data = nullptr;
  std::size_t used = 0;
  std::uint64_t life = 0;
  pid_t maker = 0;

  /// The block of a forked child is its parent's.
  ~Block() {
    if (is_good() && maker == ::getpid()) acp_free(ga);
  }

  bool is_good() const noexcept {
    return data != nullptr && life == g_life.load(std::memory_order_relaxed);
  }

  bool make() {
    const int rank = acp_rank();
    ga = rank < 0 ? ACP_GA_NULL : acp_malloc(kBlockBytes, rank);
    data = ga == ACP_GA_NULL ? nullptr
                             : static_cast<std::byte*>(acp_query_address(ga));
    used = 0;
    maker = ::getpid();
    life = g_life.load(std::memory_order_relaxed);
    return data != nullptr;
  }
};

Block& block() {
  thread_local Block mine;
  return mine;
}

std::size_t rounded_up(std::size_t size) {
  constexpr std::size_t kAlignment = 16;
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Staging::Staging() noexcept : before_(block().used) {}

Staging::~Staging() {
  block().used = before_;
  for (const acp_ga_t ga : blocks_)
    acp_free(ga);
}

Piece Staging::take(std::size_t size) {
  Block& mine = block();
  if (!mine.is_good() && !mine.make()) return {};
  if (size <= kBlockBytes - mine.used) {
    const Piece piece{mine.ga + mine.used, mine.data + mine.used};
    mine.used += rounded_up(size);
    return piece;
  }
  const acp_ga_t ga = acp_malloc(size, acp_rank());
  if (ga == ACP_GA_NULL) return {};
  blocks_.push_back(ga);
  return {ga, static_cast<std::byte*>(acp_query_address(ga))};
}

Piece Staging::copy(const void* bytes, std::size_t size) {
  const Piece piece = take(size);
  if (piece.data != nullptr && size != 0) {
    std::memcpy(piece.data, bytes, size);
  }
  return piece;
}

/// A network that cannot register the memory gets a copy in the heap.
CallMemory::CallMemory(void* data, std::size_t size, Use use)
    : data_(data), size_(size) {
  if (size > kStagedBytes) {
    key_ = acpx_try_register_memory(data, size, 0);
    if (key_ != ACP_ATKEY_NULL) {
      ga_ = acp_query_ga(key_, data);
      return;
    }
  }
  const Piece piece =
      use == Use::kSource ? staging_.copy(data, size) : staging_.take(size);
  ga_ = piece.ga;
  staged_ = use == Use::kTarget ? piece.data : nullptr;
}

CallMemory::~CallMemory() {
  if (key_ != ACP_ATKEY_NULL) acp_unregister_memory(key_);
}

void CallMemory::deliver() const noexcept {
  if (staged_ != nullptr && size_ != 0) std::memcpy(data_, staged_, size_);
}

void begin_another_life() noexcept {
  g_life.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace acp::python
