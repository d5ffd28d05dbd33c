// Memory of this rank that all ranks can address: messages and scratch memory.
// Called by Mailbox and Fetches. It never waits for memory: without any, make()
// returns null, and the caller tries again or fails.
#include "compat/lqcd/global_bytes.h"

#include <new>

namespace lqcd {

namespace {

/// Up to this size memory comes from acp_malloc, which needs no key. The copy
/// of a short message always does.
constexpr std::size_t kHeapBytes = 8192;

}  // namespace

/// Small ones come from the heap, because they need no key there, and keys are
/// scarce. When the heap is full, they get memory of their own as large ones
/// do.
std::unique_ptr<GlobalBytes> GlobalBytes::make(std::size_t bytes) {
  std::unique_ptr<GlobalBytes> made(new (std::nothrow) GlobalBytes);
  if (made == nullptr) {
    return nullptr;
  }
  // A multiple of 64 is aligned to 64.
  const std::size_t size = (bytes + 63) / 64 * 64;
  if (size <= kHeapBytes) {
    made->address_ = acp_malloc(size, acp_rank());
    if (made->address_ != ACP_GA_NULL) {
      made->data_ = static_cast<std::byte*>(acp_query_address(made->address_));
      return made;
    }
  }
  made->owned_.reset(new (std::nothrow) std::byte[size]);
  made->data_ = made->owned_.get();
  made->key_ = made->data_ != nullptr
                   ? acp_register_memory(made->data_, size, 0)
                   : ACP_ATKEY_NULL;
  if (made->key_ == ACP_ATKEY_NULL) {
    return nullptr;
  }
  made->address_ = acp_query_ga(made->key_, made->data_);
  return made;
}

GlobalBytes::~GlobalBytes() {
  if (key_ != ACP_ATKEY_NULL) {
    (void)acp_unregister_memory(key_);
  } else if (address_ != ACP_GA_NULL) {
    acp_free(address_);
  }
}

}  // namespace lqcd
