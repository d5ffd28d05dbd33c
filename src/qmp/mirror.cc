#include "qmp/mirror.h"

namespace qmp {

bool Mirror::connect(acp_ga_t half, std::size_t bytes, LibraryMemory& library) {
  direct_ = static_cast<std::byte*>(acpx_pointer(half));
  if (direct_ == nullptr) {
    staging_ = library.allocate(bytes);
    if (!staging_) {
      return false;
    }
  }
  address_ = half;
  return true;
}

void Mirror::disconnect(LibraryMemory& library) {
  library.free(staging_.memory);
  staging_ = {};
  direct_ = nullptr;
  address_ = ACP_GA_NULL;
}

Posted Mirror::signal(std::size_t index,
                      std::size_t offset,
                      std::size_t size,
                      std::size_t word_offset,
                      std::uint64_t add) {
  if (direct_ != nullptr) [[likely]] {
    // The bytes are there already: the signal releases them.
    return posted(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                                  address_ + word_offset, add,
                                  ACP_HANDLE_NULL));
  }
  const acp_handle_t handle =
      acpx_put_signal(address_ + offset, staging_.address + offset, size,
                      address_ + word_offset, add, ACP_HANDLE_NULL);
  if (handle != ACP_HANDLE_NULL) {
    reading_[index] = handle;
  }
  return posted(handle);
}

}  // namespace qmp
