// Writes into the half of a peer. Called by the halves and by end marks under
// the lock of the process; never waits.
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

/// On one host only the word is left to do. Over a network the put and the word
/// are one chain, so that the word follows the bytes.
Posted Mirror::signal(std::size_t index,
                      std::size_t offset,
                      std::size_t size,
                      std::size_t word_offset,
                      std::uint64_t add,
                      Batch* batch) {
  if (direct_ != nullptr) [[likely]] {
    // The bytes were stored into the memory of the peer: the signal only has to
    // release them.
    return posted(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                                  address_ + word_offset, add,
                                  ACP_HANDLE_NULL));
  }
  std::array<acpx_op_t, 2> steps{};
  steps[0].opcode = ACPX_PUT;
  steps[0].flags = batch != nullptr ? ACPX_HOLD : 0;
  steps[0].remote = address_ + offset;
  steps[0].local = staging_.address + offset;
  steps[0].size = size;
  steps[1].opcode = ACPX_ADD8;
  steps[1].flags = ACPX_SIGNAL;
  steps[1].remote = address_ + word_offset;
  steps[1].operand = add;
  const acp_handle_t handle =
      acpx_post(steps.data(), steps.size(), ACP_HANDLE_NULL);
  if (handle != ACP_HANDLE_NULL) {
    reading_[index] = handle;
    if (batch != nullptr) {
      batch->add();
    }
  }
  return posted(handle);
}

}  // namespace qmp
