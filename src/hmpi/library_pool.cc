// Takes blocks from acp_malloc, and keeps them by size; see library_pool.h.
#include "hmpi/library_pool.h"

#include <bit>
#include <cstdint>
#include <new>

#include "acp.h"
#include "acp/extension.h"

namespace hmpi {

/// Stands in front of each block.
struct alignas(64) LibraryPool::Head {
  acp_ga_t address = ACP_GA_NULL;
  std::size_t size_class = 0;
  Head* next = nullptr;  ///< While the block is free.
};

namespace {

constexpr std::size_t kLeast = 64;

std::size_t class_of(std::size_t bytes) {
  return bytes <= kLeast
             ? 0
             : static_cast<std::size_t>(std::bit_width((bytes - 1) / kLeast));
}

}  // namespace

/// A kept block of the size, or else a new one of the heap.
std::byte* LibraryPool::take(std::size_t bytes) noexcept {
  const std::size_t size_class = class_of(bytes);
  const bool is_kept = size_class < kClasses;
  if (is_kept && free_[size_class] != nullptr) {
    Head* head = free_[size_class];
    free_[size_class] = head->next;
    return reinterpret_cast<std::byte*>(head + 1);
  }
  if (is_full_ || bytes > SIZE_MAX / 2) {
    return nullptr;
  }
  const std::size_t size =
      is_kept ? kLeast << size_class : (bytes + kLeast - 1) & ~(kLeast - 1);
  const acp_ga_t address = acp_malloc(sizeof(Head) + size, acp_rank());
  void* memory = address == ACP_GA_NULL ? nullptr : acpx_pointer(address);
  if (memory == nullptr) {
    is_full_ = true;
    return nullptr;
  }
  Head* head = new (memory) Head{address, size_class};
  return reinterpret_cast<std::byte*>(head + 1);
}

void LibraryPool::give_back(void* block) noexcept {
  if (block == nullptr) {
    return;
  }
  is_full_ = false;
  Head* head = static_cast<Head*>(block) - 1;
  if (head->size_class < kClasses) {
    head->next = free_[head->size_class];
    free_[head->size_class] = head;
  } else {
    acp_free(head->address);
  }
}

}  // namespace hmpi
