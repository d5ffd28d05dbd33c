// Implements Memory: the module memory and the registered memory that the rows
// read and write. main.cc opens it on every rank; rows only use it, and may not
// register more.
#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace acp::perf {

namespace {

// Layout of the library memory: facts of the rank, words, inbox, outbox. Each
// part begins on a page of its own.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kRankFactsOffset = 0;
constexpr std::size_t kWordsOffset = kPage;
constexpr std::size_t kInboxOffset = 2 * kPage;
constexpr std::size_t kOutboxOffset = kInboxOffset + kBufferBytes;
constexpr std::size_t kModuleBytes = kOutboxOffset + kBufferBytes;

static_assert(static_cast<std::size_t>(Word::kWords) * kWordStride <= kPage);
static_assert(sizeof(RankFacts) <= kPage);

std::size_t offset_of(Word word) {
  return kWordsOffset + static_cast<std::size_t>(word) * kWordStride;
}

int nothing_to_do(void* /*arg*/) {
  return 0;
}

std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

void Memory::Free::operator()(std::byte* p) const {
  std::free(p);
}

bool Memory::request() {
  acpx_module_t module{};
  module.name = "acp_perf";
  module.bytes = kModuleBytes;
  module.init = nothing_to_do;
  module.fini = nothing_to_do;
  module_ = acpx_add_module(&module);
  return module_ >= 0;
}

bool Memory::open() {
  const acp_ga_t mine = acpx_module_ga(module_, acp_rank());
  if (mine == ACP_GA_NULL) return false;
  base_ = static_cast<std::byte*>(acp_query_address(mine));
  registered_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kPage, kRegisteredBytes)));
  if (base_ == nullptr || registered_ == nullptr) return false;
  std::memset(registered_.get(), 0, kRegisteredBytes);
  std::memset(own_inbox(), 0, kBufferBytes);
  std::memset(own_outbox(), 0, kBufferBytes);
  const acp_atkey_t key =
      acp_register_memory(registered_.get(), kRegisteredBytes, 0);
  if (key == ACP_ATKEY_NULL) return false;
  own_rank_facts().registered = acp_query_ga(key, registered_.get());
  own_rank_facts().registered_address =
      reinterpret_cast<std::uint64_t>(registered_.get());
  return own_rank_facts().registered != ACP_GA_NULL;
}

acp_ga_t Memory::word(int rank, Word word) const {
  return acpx_module_ga(module_, rank) + offset_of(word);
}

std::uint64_t* Memory::own_word(Word word) const {
  return reinterpret_cast<std::uint64_t*>(own(offset_of(word)));
}

acp_ga_t Memory::inbox(int rank) const {
  return acpx_module_ga(module_, rank) + kInboxOffset;
}

acp_ga_t Memory::outbox(int rank) const {
  return acpx_module_ga(module_, rank) + kOutboxOffset;
}

std::byte* Memory::own_inbox() const {
  return own(kInboxOffset);
}

std::byte* Memory::own_outbox() const {
  return own(kOutboxOffset);
}

RankFacts& Memory::own_rank_facts() const {
  return *reinterpret_cast<RankFacts*>(own(kRankFactsOffset));
}

bool Memory::read_rank_facts(int rank, RankFacts& facts) const {
  const acp_handle_t handle = acp_copy(
      outbox(acp_rank()), acpx_module_ga(module_, rank) + kRankFactsOffset,
      sizeof(RankFacts), ACP_HANDLE_NULL);
  if (handle == ACP_HANDLE_NULL) return false;
  acp_complete(handle);
  std::memcpy(&facts, own_outbox(), sizeof(RankFacts));
  return true;
}

void Memory::put_word(int rank, Word word_id, std::uint64_t value) const {
  *own_word(Word::kScratch) = value;
  acp_complete(acp_copy(word(rank, word_id), word(acp_rank(), Word::kScratch),
                        sizeof(value), ACP_HANDLE_NULL));
}

std::uint64_t Memory::get_word(int rank, Word word_id) const {
  acp_complete(acp_copy(word(acp_rank(), Word::kScratch), word(rank, word_id),
                        sizeof(std::uint64_t), ACP_HANDLE_NULL));
  return *own_word(Word::kScratch);
}

std::byte* Memory::own(std::size_t offset) const {
  return base_ + offset;
}

void fill_pattern(std::byte* bytes, std::size_t size, std::uint64_t seed) {
  std::uint64_t state = seed * 2 + 1;
  for (std::size_t i = 0; i < size; i += sizeof(state)) {
    const std::uint64_t value = next_random(state);
    std::memcpy(bytes + i, &value, std::min(sizeof(value), size - i));
  }
}

bool has_pattern(const std::byte* bytes, std::size_t size, std::uint64_t seed) {
  std::uint64_t state = seed * 2 + 1;
  for (std::size_t i = 0; i < size; i += sizeof(state)) {
    const std::uint64_t value = next_random(state);
    if (std::memcmp(bytes + i, &value, std::min(sizeof(value), size - i)) !=
        0) {
      return false;
    }
  }
  return true;
}

}  // namespace acp::perf
