// Writes into the half of a peer: by stores where that memory is mapped here,
// else through a staging buffer with the same layout. Each write ends in a
// signal that adds to a word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "acp/extension.h"
#include "qmp/batch.h"
#include "qmp/library_memory.h"
#include "qmp/message_layout.h"

namespace qmp {

/// The result of a write.
enum class Posted {
  kYes,
  kLater,   ///< The window is full, in a progress step: try again.
  kFailed,  ///< The write never happens; acp_errno says why.
};

/// The result of an operation whose handle may be ACP_HANDLE_NULL.
inline Posted posted(acp_handle_t handle) {
  if (handle != ACP_HANDLE_NULL) {
    return Posted::kYes;
  }
  return acp_errno == ACPX_AGAIN ? Posted::kLater : Posted::kFailed;
}

/// The caller holds the lock of the process.
class Mirror {
 public:
  /// `half` is the address of the half of the peer, `bytes` its size. False: no
  /// memory for the staging buffer.
  bool connect(acp_ga_t half, std::size_t bytes, LibraryMemory& library);
  void disconnect(LibraryMemory& library);

  bool is_connected() const { return address_ != ACP_GA_NULL; }

  /// Whether this rank and the peer map the library memory of each other.
  bool is_on_this_host() const { return direct_ != nullptr; }

  /// Where the caller stores the bytes of entry `index` that belong at `offset`
  /// of the half. nullptr: an earlier put of that entry still reads there.
  std::byte* room(std::size_t index, std::size_t offset) {
    if (direct_ != nullptr) [[likely]] {
      return direct_ + offset;
    }
    return acp_inquire(reading_[index]) == 0 ? staging_.memory + offset
                                             : nullptr;
  }

  /// Makes the `size` bytes that lie at room(index, offset) visible to the
  /// peer, then adds `add` to the word at `word_offset`. It leaves at once, or
  /// with `batch`.
  Posted signal(std::size_t index,
                std::size_t offset,
                std::size_t size,
                std::size_t word_offset,
                std::uint64_t add,
                Batch* batch);

  acp_ga_t address(std::size_t offset) const { return address_ + offset; }

 private:
  // The lock of the process guards these fields. connect() writes the first
  // three, and disconnect() clears them.
  acp_ga_t address_ = ACP_GA_NULL;  ///< The half's; null: not connected.
  std::byte* direct_ = nullptr;     ///< The half, where it is mapped here.
  Block staging_;                   ///< Otherwise: the layout of the half.
  /// The last put of each entry, which reads staging_. Written by signal().
  std::array<acp_handle_t, kEntries> reading_{};
};

}  // namespace qmp
