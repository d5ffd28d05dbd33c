// The sending half: eager messages, gated ones when their grant is there, and
// the list of those that have to wait. Called by Exchange under its lock; never
// waits.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "qmp/block_copy.h"
#include "qmp/half.h"

namespace qmp {

namespace {

std::size_t word_offset(std::size_t index) {
  return index * sizeof(Line);
}

/// Offset of the bytes of an eager message in the half of the receiver.
std::size_t bytes_offset(std::size_t index, std::uint64_t size) {
  return size <= kInlineBytes
             ? word_offset(index) + offsetof(Line, bytes)
             : offsetof(ReceiverHalf, area) + index * kEagerBytes;
}

/// Acquire: pairs with the signal of the peer, so what the peer stored before
/// it is visible.
std::uint64_t load_word(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word))
      .load(std::memory_order_acquire);
}

}  // namespace

SendHalf::SendHalf(const ChannelId& id, LibraryMemory& library)
    : Half(id, library) {
  (void)allocate(sizeof(SenderHalf));
}

SendHalf::~SendHalf() {
  for (const Waiting& each : waiting_) {
    if (each.gated != nullptr) {
      drop(*each.gated);
    }
  }
  for (Transfer* each : flying_) {
    drop(*each);
  }
}

void SendHalf::abandon(Transfer& transfer) {
  std::erase_if(waiting_, [&transfer](const Waiting& each) {
    return each.gated == &transfer;
  });
  std::erase(flying_, &transfer);
}

bool SendHalf::connect(acp_ga_t peer) {
  return peer_.connect(peer, sizeof(ReceiverHalf), library_);
}

bool SendHalf::has_active() const {
  return !flying_.empty() ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [](const Waiting& each) { return each.gated; });
}

bool SendHalf::has_room(std::uint64_t number) const {
  return peer_.is_connected() && number < load_word(mine().consumed) + kEntries;
}

std::byte* SendHalf::eager_room(std::uint64_t number, std::uint64_t size) {
  const std::size_t index = entry_of(number);
  return has_room(number) ? peer_.room(index, bytes_offset(index, size))
                          : nullptr;
}

Posted SendHalf::post_eager(std::uint64_t number,
                            std::uint64_t size,
                            Batch* batch) {
  const std::size_t index = entry_of(number);
  const std::uint64_t word = entry_word(number, Kind::kEager, size);
  const Posted result = peer_.signal(
      index, bytes_offset(index, size), static_cast<std::size_t>(size),
      word_offset(index), word - words_[index], batch);
  if (result == Posted::kYes) {
    words_[index] = word;
  }
  return result;
}

Posted SendHalf::post_word(std::uint64_t number,
                           Kind kind,
                           std::uint64_t size,
                           acp_handle_t after) {
  const std::size_t index = entry_of(number);
  const std::uint64_t word = entry_word(number, kind, size);
  const Posted result = posted(acpx_put_signal(
      ACP_GA_NULL, ACP_GA_NULL, 0, peer_.address(word_offset(index)),
      word - words_[index], after));
  if (result == Posted::kYes) {
    words_[index] = word;
  }
  return result;
}

/// An eager message is done when it is in the entry of the peer, or copied into
/// waiting_. A gated one is done when its put is complete. See "Message flow".
void SendHalf::start(Transfer& transfer, Batch* batch) {
  const std::uint64_t number = started_++;
  const std::uint64_t size = transfer.memory->size();
  transfer.number = number;
  transfer.length = size;
  transfer.sent = 0;
  transfer.handle = ACP_HANDLE_NULL;
  if (is_beyond_peer(number)) {
    finish_without_peer(transfer);
    return;
  }
  if (size > kEagerBytes) {
    const Posted result = try_gated(transfer, batch);
    if (result == Posted::kLater) {
      waiting_.push_back({number, size, &transfer, nullptr});
    }
    return;
  }
  const auto bytes = static_cast<std::size_t>(size);
  if (std::byte* room = eager_room(number, size)) {
    transfer.memory->gather(room, bytes);
    const Posted result = post_eager(number, size, batch);
    if (result != Posted::kLater) {
      finish(transfer, result == Posted::kYes ? QMP_SUCCESS : QMP_ERROR);
      return;
    }
  }
  auto copy = std::make_unique<std::byte[]>(bytes);
  transfer.memory->gather(copy.get(), bytes);
  waiting_.push_back({number, size, nullptr, std::move(copy)});
  finish(transfer, QMP_SUCCESS);
}

/// The address that a put can read the whole message from: the memory of the
/// program, or a packed copy made here. ACP_GA_NULL: no memory.
acp_ga_t SendHalf::source_of(Transfer& transfer) {
  if (transfer.packed) {
    return transfer.packed.address;
  }
  if (transfer.memory->is_direct()) {
    const acp_ga_t address = transfer.memory->address(library_);
    if (address != ACP_GA_NULL) {
      return address;
    }
  }
  const auto bytes = static_cast<std::size_t>(transfer.length);
  transfer.packed = library_.allocate(bytes);
  if (transfer.packed) {
    transfer.memory->gather(transfer.packed.memory, bytes);
  }
  return transfer.packed.address;
}

/// Sends a gated message if its grant has come. The ways are tried from the
/// cheapest on: refuse it, store it block by block, put it from one address.
Posted SendHalf::try_gated(Transfer& transfer, Batch* batch) {
  if (!peer_.is_connected()) {
    return Posted::kLater;
  }
  const Line& line = mine().grant[entry_of(transfer.number)];
  if (load_word(line.word) != transfer.number + 1) {
    return Posted::kLater;
  }
  if (batch != nullptr) {
    batch->send();  // The copy that may follow takes long.
  }
  Grant grant{};
  std::memcpy(&grant, line.bytes, sizeof grant);
  if (transfer.length > grant.capacity) {
    const Posted result =
        post_word(transfer.number, Kind::kUnsent, transfer.length);
    if (result != Posted::kLater) {
      finish(transfer, QMP_BAD_MESSAGE);
    }
    return result;
  }
  if (store_blocks(transfer, grant)) {
    const Posted result =
        post_word(transfer.number, Kind::kDirect, transfer.length);
    if (result != Posted::kLater) {
      finish(transfer, result == Posted::kYes ? QMP_SUCCESS : QMP_ERROR);
    }
    return result;
  }
  const acp_ga_t source = source_of(transfer);
  const Posted result =
      source == ACP_GA_NULL ? Posted::kFailed : put(transfer, grant, source);
  if (result == Posted::kLater) {
    return result;
  }
  if (result == Posted::kFailed) {
    // The receive fails as well, instead of waiting for ever. Chains that were
    // posted before still write to its memory, and go first.
    (void)post_word(transfer.number, Kind::kUnsent, transfer.length,
                    transfer.handle);
    end(transfer, source == ACP_GA_NULL ? QMP_NOMEM_ERR : QMP_ERROR);
  } else {
    end(transfer, QMP_SUCCESS);
  }
  return result;
}

/// Finishes a gated transfer when its puts read its memory no more: at once, or
/// in a later advance().
void SendHalf::end(Transfer& transfer, QMP_status_t status) {
  if (acp_inquire(transfer.handle) == 0) {
    finish(transfer, status);
    return;
  }
  transfer.status = status;
  flying_.push_back(&transfer);
}

Posted SendHalf::put(Transfer& transfer, const Grant& grant, acp_ga_t source) {
  if (grant.count > 1 ||
      (!transfer.packed && !transfer.memory->is_contiguous())) {
    return put_pieces(transfer, grant, source);
  }
  const std::size_t index = entry_of(transfer.number);
  const std::uint64_t word =
      entry_word(transfer.number, Kind::kDirect, transfer.length);
  transfer.handle = acpx_put_signal(
      grant.address, source, static_cast<std::size_t>(transfer.length),
      peer_.address(word_offset(index)), word - words_[index], ACP_HANDLE_NULL);
  const Posted result = posted(transfer.handle);
  if (result == Posted::kYes) {
    words_[index] = word;
  }
  return result;
}

/// Puts a message whose blocks lie apart on one side or both, chain after
/// chain. Its word is the last step of the last chain, which therefore waits
/// for the others. A message of one chain takes one flight where the network
/// allows it. When the window is full it returns kLater, and the next call goes
/// on at transfer.sent.
Posted SendHalf::put_pieces(Transfer& transfer,
                            const Grant& grant,
                            acp_ga_t source) {
  const std::size_t index = entry_of(transfer.number);
  const std::uint64_t word =
      entry_word(transfer.number, Kind::kDirect, transfer.length);
  while (transfer.sent < transfer.length) {
    std::array<acpx_op_t, ACPX_MAX_STEPS> steps{};
    std::uint64_t sent = transfer.sent;
    std::size_t count = fill_chain(std::span(steps).first(steps.size() - 1),
                                   transfer, grant, source, sent);
    const bool is_last = sent == transfer.length;
    if (is_last) {
      acpx_op_t& signal = steps[count++];
      signal.opcode = ACPX_ADD8;
      signal.flags = ACPX_SIGNAL;
      signal.remote = peer_.address(word_offset(index));
      signal.operand = word - words_[index];
    }
    const acp_handle_t handle = acpx_post(
        steps.data(), count, is_last ? transfer.handle : ACP_HANDLE_NULL);
    if (handle == ACP_HANDLE_NULL) {
      return posted(handle);
    }
    transfer.handle = handle;
    transfer.sent = sent;
  }
  words_[index] = word;
  return Posted::kYes;
}

Posted SendHalf::try_waiting(Waiting& waiting) {
  if (waiting.gated != nullptr) {
    return try_gated(*waiting.gated);
  }
  std::byte* room = eager_room(waiting.number, waiting.size);
  if (room == nullptr) {
    return Posted::kLater;
  }
  std::memcpy(room, waiting.copy.get(), static_cast<std::size_t>(waiting.size));
  return post_eager(waiting.number, waiting.size);
}

/// Ends sends that no receive takes, and drops the copies of eager ones, which
/// have ended before.
void SendHalf::end_beyond_peer() {
  std::erase_if(waiting_, [this](const Waiting& each) {
    if (!is_beyond_peer(each.number)) {
      return false;
    }
    if (each.gated != nullptr) {
      each.gated->has_peer_left = true;
      end(*each.gated, QMP_ERROR);
    }
    return true;
  });
}

/// First tries messages that wait, in order; then ends transfers whose put is
/// complete.
bool SendHalf::advance() {
  const std::size_t waited = waiting_.size();
  if (!waiting_.empty()) {
    std::erase_if(waiting_, [this](Waiting& each) {
      return try_waiting(each) != Posted::kLater;
    });
    end_beyond_peer();
  }
  const std::size_t flew = flying_.size();
  if (!flying_.empty()) {
    std::erase_if(flying_, [this](Transfer* each) {
      if (acp_inquire(each->handle) != 0) {
        return false;
      }
      finish(*each, each->status);
      return true;
    });
  }
  return waiting_.size() != waited || flying_.size() != flew;
}

}  // namespace qmp
