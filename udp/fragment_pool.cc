// Slabs of fragments and free lists. Called by UdpTransport, Endpoint, Sender
// and Receiver. After a slab is made, to lend and take back a fragment
// allocates nothing and makes no system call.
#include "udp/fragment_pool.h"

#include <algorithm>
#include <new>
#include <optional>

#include "base/assert.h"
#include "base/memory_reserve.h"

namespace acp::udp {

namespace {

constexpr std::size_t kSlabFragments = 16;
constexpr std::size_t kAlignment = 64;

}  // namespace

// An odd number of cache lines per buffer spreads the headers of the buffers
// over all sets of a cache. An even number would put them into a few sets.
FragmentPool::FragmentPool(std::size_t datagram_bytes,
                           std::size_t max_fragments)
    : datagram_bytes_(datagram_bytes),
      storage_bytes_((kSackBytes + datagram_bytes + kAlignment - 1) /
                         (2 * kAlignment) * (2 * kAlignment) +
                     3 * kAlignment),
      max_fragments_(max_fragments) {}

/// Adds one slab. False: the limit is reached or memory is exhausted.
bool FragmentPool::grow() noexcept {
  const std::size_t count = std::min(kSlabFragments, max_fragments_ - made_);
  if (count == 0) {
    return false;
  }
  // A pool with fragments waits for one of them. Without any, no message would
  // ever leave, and only the reserve can help.
  std::optional<MayFail> may_fail;
  if (made_ > 0) {
    may_fail.emplace();
  }
  // Not initialised, so pages that are never touched cost nothing.
  std::unique_ptr<std::byte[]> storage(
      new (std::nothrow) std::byte[count * storage_bytes_ + kAlignment]);
  std::unique_ptr<Fragment[]> fragments(new (std::nothrow) Fragment[count]);
  if (storage == nullptr || fragments == nullptr) {
    return false;
  }
  const auto misaligned =
      reinterpret_cast<std::uintptr_t>(storage.get()) % kAlignment;
  std::byte* at = storage.get() + (kAlignment - misaligned) % kAlignment;
  for (std::size_t i = 0; i < count; ++i, at += storage_bytes_) {
    fragments[i].storage = at;
    fragments[i].next = free_;
    free_ = &fragments[i];
  }
  made_ += count;
  storages_.push_back(std::move(storage));
  fragments_.push_back(std::move(fragments));
  return true;
}

Fragment* FragmentPool::acquire() noexcept {
  if (free_ == nullptr && !grow()) {
    return nullptr;
  }
  Fragment* fragment = free_;
  free_ = fragment->next;
  ++in_use_;
  std::byte* storage = fragment->storage;
  *fragment = Fragment{};
  fragment->storage = storage;
  fragment->payload = storage + kHeadroomBytes;
  return fragment;
}

void FragmentPool::release(Fragment* fragment) noexcept {
  ACP_ASSERT(in_use_ > 0);
  --in_use_;
  fragment->next = free_;
  free_ = fragment;
}

/// A pool with rings waits for one of them when the system refuses another.
SendRing* FragmentPool::acquire_ring() noexcept {
  if (free_rings_ == nullptr) {
    std::unique_ptr<SendRing> ring;
    {
      std::optional<MayFail> may_fail;
      if (!rings_.empty()) {
        may_fail.emplace();
      }
      ring.reset(new (std::nothrow) SendRing);
    }
    if (ring == nullptr) {
      return nullptr;
    }
    rings_.push_back(std::move(ring));
    return rings_.back().get();
  }
  SendRing* ring = free_rings_;
  free_rings_ = ring->next;
  return ring;
}

void FragmentPool::release_ring(SendRing* ring) noexcept {
  ring->next = free_rings_;
  free_rings_ = ring;
}

}  // namespace acp::udp
