#include "qmp/pair.h"

#include <atomic>
#include <cstring>

#include "acp/extension.h"

namespace qmp {

namespace {

/// Before a wait that costs more: a partner that is about to store does so
/// within this.
constexpr int kShortLooks = 256;

std::byte* room_in(PairBox& box, std::size_t place, std::size_t bytes) {
  return bytes <= kInlineBytes ? box.line[place].bytes : box.area[place];
}

}  // namespace

Pair::Pair(LibraryMemory& library) : library_(library) {
  block_ = library_.allocate(sizeof(PairBox));
  if (block_) {
    mine_ = reinterpret_cast<PairBox*>(block_.memory);
    std::memset(mine_->line, 0, sizeof mine_->line);
  }
}

Pair::~Pair() {
  library_.free(outgoing_.memory);
  library_.free(block_.memory);
}

bool Pair::connect(acp_ga_t partner) {
  if (mine_ == nullptr || partner == ACP_GA_NULL) {
    return false;
  }
  theirs_address_ = partner;
  auto* first = static_cast<std::byte*>(acpx_pointer(partner));
  const void* last = acpx_pointer(partner + sizeof(PairBox) - 1);
  if (first != nullptr && last == first + sizeof(PairBox) - 1) {
    theirs_ = reinterpret_cast<PairBox*>(first);
    return true;
  }
  outgoing_ = library_.allocate(kPlaces * kPairBytes);
  return static_cast<bool>(outgoing_);
}

/// The partner's box is laid out as mine is.
acp_ga_t Pair::at_partner(const std::byte* in_mine) const {
  return theirs_address_ +
         static_cast<std::uint64_t>(in_mine -
                                    reinterpret_cast<const std::byte*>(mine_));
}

QMP_status_t Pair::send(const void* data, std::size_t bytes) {
  const std::size_t place = sent_ % kPlaces;
  const std::uint64_t word = slot_word(sent_, Kind::kEager, bytes);
  acp_ga_t to = ACP_GA_NULL;
  acp_ga_t from = ACP_GA_NULL;
  std::size_t flying = 0;
  if (bytes > 0 && theirs_ != nullptr) {
    std::memcpy(room_in(*theirs_, place, bytes), data, bytes);
  } else if (bytes > 0) {
    std::memcpy(outgoing_.memory + place * kPairBytes, data, bytes);
    to = at_partner(room_in(*mine_, place, bytes));
    from = outgoing_.address + place * kPairBytes;
    flying = bytes;
  }
  // The signal releases the bytes, and wakes a partner that sleeps.
  if (acpx_put_signal(
          to, from, flying,
          at_partner(reinterpret_cast<const std::byte*>(&mine_->line[place])),
          word - words_[place], ACP_HANDLE_NULL) == ACP_HANDLE_NULL) {
    return QMP_ERROR;
  }
  words_[place] = word;
  ++sent_;
  return QMP_SUCCESS;
}

std::uint64_t Pair::look() {
  // Acquire: pairs with the partner's signal, which came after the bytes.
  return std::atomic_ref(mine_->line[received_ % kPlaces].word)
      .load(std::memory_order_acquire);
}

int Pair::has_come(void* self) {
  auto& pair = *static_cast<Pair*>(self);
  return is_for(pair.look(), pair.received_) ? 1 : 0;
}

QMP_status_t Pair::receive(void* to, std::size_t bytes, int timeout_ms) {
  int looks = 0;
  while (looks < kShortLooks && has_come(this) == 0) {
    ++looks;
  }
  if (looks == kShortLooks) {
    const int result = acpx_wait_until(&has_come, this, timeout_ms);
    if (result != 0) {
      return result > 0 ? QMP_TIMEOUT : QMP_ERROR;
    }
  }
  length_ = size_of(look());
  const std::size_t place = received_++ % kPlaces;
  if (length_ != bytes) {
    return QMP_BAD_MESSAGE;
  }
  if (bytes > 0) {
    std::memcpy(to, room_in(*mine_, place, bytes), bytes);
  }
  return QMP_SUCCESS;
}

}  // namespace qmp
