// A half of a peer, to write into: directly where it is mapped here, else
// through memory of our own that has the same layout. Each write ends in a
// signal on a word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "acp/extension.h"
#include "qmp/batch.h"
#include "qmp/library_memory.h"
#include "qmp/message_layout.h"

namespace qmp {

/// What became of a write.
enum class Posted {
  kYes,
  kLater,   ///< The window is full, in a progress step: try again.
  kFailed,  ///< It never happens; acp_errno says why.
};

/// What a handle that is ACP_HANDLE_NULL means.
inline Posted posted(acp_handle_t handle) {
  if (handle != ACP_HANDLE_NULL) {
    return Posted::kYes;
  }
  return acp_errno == ACPX_AGAIN ? Posted::kLater : Posted::kFailed;
}

/// Under the lock of the process.
class Mirror {
 public:
  /// False: no memory.
  bool connect(acp_ga_t half, std::size_t bytes, LibraryMemory& library);
  void disconnect(LibraryMemory& library);

  bool is_connected() const { return address_ != ACP_GA_NULL; }

  /// Whether peer and I map each other's library memory.
  bool is_on_this_host() const { return direct_ != nullptr; }

  /// Where to put the bytes of entry `index` that belong at `offset` of the
  /// half; nullptr while an earlier write of that entry still reads there.
  std::byte* room(std::size_t index, std::size_t offset) {
    if (direct_ != nullptr) [[likely]] {
      return direct_ + offset;
    }
    return acp_inquire(reading_[index]) == 0 ? staging_.memory + offset
                                             : nullptr;
  }

  /// Sends `size` bytes from room(index, offset), then adds to the word: now,
  /// or with what else is in `batch`.
  Posted signal(std::size_t index,
                std::size_t offset,
                std::size_t size,
                std::size_t word_offset,
                std::uint64_t add,
                Batch* batch);

  acp_ga_t address(std::size_t offset) const { return address_ + offset; }

 private:
  acp_ga_t address_ = ACP_GA_NULL;
  std::byte* direct_ = nullptr;
  Block staging_;
  std::array<acp_handle_t, kEntries> reading_{};
};

}  // namespace qmp
