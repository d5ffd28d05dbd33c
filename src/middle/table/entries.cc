// Compares and writes entries of buckets. Called by the operations on sets and
// maps, with the bucket's words read before. It locks nothing: for a change the
// caller holds the bucket's lock.
#include "middle/table/entries.h"

#include <atomic>

#include "acp/gma.h"

namespace acp::middle::table {

using structure::Call;
using structure::Chain;
using structure::Scratch;

namespace {

/// Compares a block's key, piece by piece. The block's serial number is read
/// before and after each piece: the element may be removed and its memory used
/// again.
Match compare_block(Scratch& scratch, const Key& key, const BlockArea& area) {
  // The scratch has room for 8 KiB less two words. Smaller pieces need more
  // round trips, larger ones read more of a key that differs early.
  constexpr std::size_t kPiece = 4096;
  for (std::size_t done = 0; done < key.size(); done += kPiece) {
    const std::size_t some = std::min(kPiece, key.size() - done);
    scratch.clear();
    Chain chain(scratch);
    const std::uint64_t* before = chain.get(area.block, 8);
    const std::uint64_t* bytes =
        chain.get(area.block + kBlockHeaderBytes + done, some);
    const std::uint64_t* after = chain.get(area.block, 8);
    if (!chain.run()) {
      return Match::kFailed;
    }
    if (*before != area.serial || *after != area.serial) {
      return Match::kChanged;
    }
    if (std::memcmp(bytes, key.bytes() + done, some) != 0) {
      return Match::kNo;
    }
  }
  return Match::kYes;
}

}  // namespace

/// Compares fingerprints first. Keys in the bucket cost nothing more, keys in a
/// block cost a round trip.
Match find_in(Scratch& scratch,
              const Key& key,
              const Bucket& words,
              std::size_t& entry) {
  for (entry = 0; entry < kEntries; ++entry) {
    const Entry word{words.entries[entry]};
    if (word.state() == State::kFree ||
        word.fingerprint() != key.fingerprint()) {
      continue;
    }
    if (word.state() == State::kInline) {
      if (word.key_bytes() == key.size() &&
          std::memcmp(words.areas[entry], key.bytes(), key.size()) == 0) {
        return Match::kYes;
      }
      continue;
    }
    const BlockArea area = block_in(words, entry);
    if (area.key_bytes == key.size()) {
      const Match match = compare_block(scratch, key, area);
      if (match != Match::kNo) {
        return match;
      }
    }
  }
  return Match::kNo;
}

acp_pair_t pair_in(acp_ga_t bucket, const Bucket& words, std::size_t entry) {
  const Entry word{words.entries[entry]};
  if (word.state() == State::kInline) {
    const acp_ga_t area = area_of(bucket, entry);
    return {{area, word.key_bytes()},
            {area + padded(word.key_bytes()), word.value_bytes()}};
  }
  const BlockArea area = block_in(words, entry);
  const acp_ga_t key = area.block + kBlockHeaderBytes;
  return {{key, area.key_bytes},
          {key + padded(area.key_bytes), area.value_bytes}};
}

void set_found(Found& found,
               acp_ga_t bucket,
               const Bucket& words,
               std::size_t entry) {
  found.is_there = true;
  found.bucket = bucket;
  found.entry = entry;
  found.generation = Entry{words.entries[entry]}.generation();
  found.pair = pair_in(bucket, words, entry);
  std::copy_n(words.areas[entry], kAreaBytes / 8, found.area);
  found.serial = Entry{words.entries[entry]}.state() == State::kBlock
                     ? block_in(words, entry).serial
                     : 0;
}

namespace {

/// Returns a serial number that no other insert of the job gets. It is made of
/// rank + 1 and a count of this process. acp_reset may give the rank to another
/// process, but it ends all tables first.
std::uint64_t new_serial(int rank) {
  constexpr int kCountBits = 44;  // rank + 1 has 20 bits
  constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
  // Relaxed: only the numbers have to differ.
  static std::atomic<std::uint64_t> count{0};
  const std::uint64_t number =
      (static_cast<std::uint64_t>(rank) + 1) << kCountBits |
      (count.fetch_add(1, std::memory_order_relaxed) & kCountMask);
  // An odd factor keeps the numbers different, and never makes one 0. Other
  // data that uses the memory of a block later is not likely to have them.
  return number * 0x9e37'79b9'7f4a'7c15;
}

}  // namespace

/// An element that fits an area needs no memory. A larger one gets a block and
/// a serial number.
bool NewElement::make(const Call& call,
                      const Key& key,
                      acp_ga_t value,
                      std::uint64_t value_bytes) {
  key_bytes_ = key.size();
  value_bytes_ = value_bytes;
  if (fits_area(key_bytes_, value_bytes)) {
    std::memcpy(area_, key.bytes(), key_bytes_);
    if (value_bytes != 0) {
      std::memcpy(&area_[padded(key_bytes_) / 8], bytes_at(value), value_bytes);
    }
    return true;
  }
  key_ = key.ga();
  value_ = value;
  block_.allocate(kBlockHeaderBytes + padded(key_bytes_) + value_bytes,
                  call.rank);
  serial_ = new_serial(call.site->rank());
  return block_.is_good();
}

/// A block is written before its serial number, and that before the entry that
/// names it.
void NewElement::write(Chain& chain,
                       LockedBuckets& buckets,
                       std::size_t entry,
                       const Key& key) {
  const std::uint64_t generation =
      Entry{buckets.words().entries[entry]}.generation() + 1;
  if (!block_.is_good()) {
    buckets.change(chain, entry,
                   Entry::make(State::kInline, generation, key.fingerprint(),
                               key_bytes_, value_bytes_),
                   area_);
    return;
  }
  const acp_ga_t first = block_.ga() + kBlockHeaderBytes;
  chain.put(first, key_, key_bytes_);
  if (value_bytes_ != 0) {
    chain.put(first + padded(key_bytes_), value_, value_bytes_);
  }
  chain.put8(block_.ga(), serial_);
  area_[0] = block_.ga();
  area_[1] = key_bytes_;
  area_[2] = value_bytes_;
  area_[3] = serial_;
  buckets.change(
      chain, entry,
      Entry::make(State::kBlock, generation, key.fingerprint(), 0, 0), area_);
  block_.give();
}

}  // namespace acp::middle::table
