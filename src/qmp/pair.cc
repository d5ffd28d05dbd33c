// Messages between the two nodes of a pair. Called by Partner; takes no lock
// and never waits.
#include "qmp/pair.h"

#include <atomic>
#include <cstring>

#include "acp/extension.h"

namespace qmp {

namespace {

/// Looks before a wait, which costs more. A partner that is about to store does
/// so within this time.
constexpr int kShortLooks = 256;

std::byte* room_in(PairBox& box, std::size_t entry, std::size_t bytes) {
  return bytes <= kInlineBytes ? box.line[entry].bytes : box.area[entry];
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
  if (std::byte* box = mapped_memory(partner, sizeof(PairBox))) {
    theirs_ = reinterpret_cast<PairBox*>(box);
    return true;
  }
  outgoing_ = library_.allocate(kPairEntries * kPairBytes);
  return static_cast<bool>(outgoing_);
}

/// The address in the box of the partner that corresponds to a byte of this
/// box.
acp_ga_t Pair::at_partner(const std::byte* in_mine) const {
  return theirs_address_ +
         static_cast<std::uint64_t>(in_mine -
                                    reinterpret_cast<const std::byte*>(mine_));
}

/// The bytes are written before the word, and by one operation when they go
/// over a network. So a partner that sees the word sees the bytes.
bool Pair::send(const Tag& tag, const void* data, std::size_t bytes) {
  const std::size_t entry = sent_ % kPairEntries;
  const std::uint64_t word =
      entry_word(sent_, Kind::kEager, tagged_size(tag, bytes));
  acp_ga_t to = ACP_GA_NULL;
  acp_ga_t from = ACP_GA_NULL;
  std::size_t flying = 0;
  if (bytes > 0 && theirs_ != nullptr) {
    std::memcpy(room_in(*theirs_, entry, bytes), data, bytes);
  } else if (bytes > 0) {
    std::memcpy(outgoing_.memory + entry * kPairBytes, data, bytes);
    to = at_partner(room_in(*mine_, entry, bytes));
    from = outgoing_.address + entry * kPairBytes;
    flying = bytes;
  }
  // The signal makes the bytes visible, and wakes a partner that sleeps.
  if (acpx_put_signal(
          to, from, flying,
          at_partner(reinterpret_cast<const std::byte*>(&mine_->line[entry])),
          word - words_[entry], ACP_HANDLE_NULL) == ACP_HANDLE_NULL) {
    return false;
  }
  words_[entry] = word;
  ++sent_;
  return true;
}

std::uint64_t Pair::look() {
  // Acquire: pairs with the signal of the partner, which follows the bytes.
  return std::atomic_ref(mine_->line[received_ % kPairEntries].word)
      .load(std::memory_order_acquire);
}

bool Pair::has_come(void* self) {
  auto& pair = *static_cast<Pair*>(self);
  return is_for(pair.look(), pair.received_);
}

bool Pair::comes_soon() {
  int looks = 0;
  while (looks < kShortLooks && !has_come(this)) {
    ++looks;
  }
  return looks < kShortLooks;
}

bool Pair::take(const Tag& tag, void* to, std::size_t bytes) {
  if (size_of(look()) != tagged_size(tag, bytes)) {
    return false;
  }
  const std::size_t entry = received_++ % kPairEntries;
  if (bytes > 0) {
    std::memcpy(to, room_in(*mine_, entry, bytes), bytes);
  }
  return true;
}

bool Pair::peek(Tag& tag, std::uint64_t& bytes) {
  const std::uint64_t word = look();
  if (!is_for(word, received_)) {
    return false;
  }
  const std::uint64_t tagged = size_of(word);
  tag = {tagged >> 23, static_cast<std::uint8_t>(tagged >> 15)};
  bytes = tagged & 0x7fff;
  return true;
}

}  // namespace qmp
