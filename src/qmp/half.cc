// The part that both halves of a channel share: memory, and the end of a
// transfer. Called by the two halves under the lock of the process; never
// waits.
#include "qmp/half.h"

#include <atomic>
#include <cstring>

namespace qmp {

Half::~Half() {
  peer_.disconnect(library_);
  library_.free(block_.memory);
}

bool Half::allocate(std::size_t bytes) {
  block_ = library_.allocate(bytes);
  if (block_) {
    std::memset(block_.memory, 0, bytes);
  }
  return static_cast<bool>(block_);
}

void Half::finish(Transfer& transfer, QMP_status_t status) {
  if (transfer.packed) {
    library_.free(transfer.packed.memory);
    transfer.packed = {};
  }
  transfer.memory->release();
  if (transfer.status == QMP_SUCCESS) {
    transfer.status = status;
  }
  if (transfer.is_detached) {
    delete &transfer;
    return;
  }
  transfer.state.store(Transfer::State::kDone, std::memory_order_release);
}

std::optional<std::uint64_t> Half::peer_total() const {
  auto* word = reinterpret_cast<std::uint64_t*>(
      block_.memory + end_mark_offset(id_.is_receiver));
  // Relaxed: the number says all, and no other memory has to be visible.
  const std::uint64_t end_mark =
      std::atomic_ref(*word).load(std::memory_order_relaxed);
  return end_mark == 0 ? std::nullopt : std::optional(end_mark - 1);
}

void Half::finish_without_peer(Transfer& transfer) {
  transfer.has_peer_left = true;
  finish(transfer, QMP_ERROR);
}

void Half::drop(Transfer& transfer) {
  transfer.handle = ACP_HANDLE_NULL;
  finish(transfer, QMP_ERROR);
}

std::string describe(const ChannelId& id) {
  // Communicator 0 has the ranks as its nodes. In other communicators nodes
  // have numbers that this file does not know.
  const std::string peer = std::to_string(id.peer);
  std::string text =
      id.comm == 0 ? "node " + peer : "rank " + peer + " of the job";
  if (id.channel == kCollective || id.channel == kAbsolute) {
    return text;
  }
  const std::uint32_t direction = id.channel - 1;
  return text + ", axis " + std::to_string(direction / 2) +
         (direction % 2 == 0 ? ", travelling in direction +1"
                             : ", travelling in direction -1");
}

}  // namespace qmp
