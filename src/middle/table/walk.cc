// Walks through sets and maps, and dereferences iterators. Called by
// table_api.h and copies.cc. Takes no locks and changes nothing.
#include "middle/table/walk.h"

#include <algorithm>
#include <cstring>

#include "middle/structure/waiting.h"

namespace acp::middle::table {

using structure::Call;
using structure::Chain;
using structure::Scratch;

Position Position::of(Extent extent, const Found& found) {
  Position position;
  position.extent = extent;
  if (found.is_there) {
    position.rank = found.rank;
    position.bucket_index = found.bucket_index;
    position.entry = found.bucket | (found.generation & 7) << 3 | found.entry;
  }
  return position;
}

namespace {

/// Whether both reads saw the same version and no change was under way. A
/// change writes between the two versions of a bucket. The lock word may
/// differ.
bool is_settled(const Bucket& first, const Bucket& again) {
  const auto* from = reinterpret_cast<const std::byte*>(&first);
  return first.begin == first.end &&
         std::memcmp(from + sizeof first.lock, &again.end,
                     sizeof first - sizeof first.lock) == 0;
}

}  // namespace

/// Reads `count` buckets that follow each other and makes the first current. If
/// the first was being changed it is read again, alone.
bool Walk::read(acp_ga_t bucket, std::size_t count) {
  structure::Backoff backoff(call_.function, call_.handle);
  for (read_ = count;; read_ = 1) {
    scratch_.clear();
    Chain chain(scratch_);
    const std::uint64_t* words = chain.get(bucket, read_ * kBucketBytes);
    const std::uint64_t* again = chain.get(bucket, read_ * kBucketBytes);
    if (!chain.run()) {
      return false;
    }
    words_ = reinterpret_cast<const Bucket*>(words);
    words_again_ = reinterpret_cast<const Bucket*>(again);
    current_ = 0;
    at_ = bucket;
    entry_ = 0;
    if (words_->lock >> 32 != directory_.uid) {
      structure::fail_text(call_, ACPX_INVALID_ARGUMENT,
                           "its buckets have changed: it was swapped, cleared "
                           "or destroyed under the iterator");
      return false;
    }
    if (is_settled(*words_, *words_again_)) {
      return true;
    }
    if (!backoff.pause()) {
      return false;
    }
  }
}

/// Starts with the first share of the extent, after it has checked that the
/// directory is right.
bool Walk::begin() {
  unsigned attempts = 0;
  const Directory* known = find_directory(call_);
  if (known == nullptr) {
    return false;
  }
  // The thread may have read the directory long ago: compare it with a bucket.
  for (;;) {
    directory_ = *known;
    scratch_.clear();
    Chain chain(scratch_);
    const std::uint64_t* lock = chain.get(directory_.bucket(0, 0), 8);
    if (!chain.run()) {
      return false;
    }
    if (*lock >> 32 == directory_.uid) {
      break;
    }
    known = renew_directory(call_, attempts);
    if (known == nullptr) {
      return false;
    }
  }
  share_ = 0;
  end_share_ = directory_.shares.size();
  if (extent_ == Extent::kLocal) {
    share_ = directory_.share_of(call_.site->rank());
    end_share_ = std::min(share_ + 1, end_share_);
  }
  bucket_ = 0;
  words_ = nullptr;
  found_ = Found{};
  return true;
}

/// Checks that the position can be one of this table before it reads there.
bool Walk::begin_at(const Position& position) {
  if (!begin()) {
    return false;
  }
  const std::size_t share = directory_.share_of(position.rank);
  if (share >= end_share_ || share < share_ ||
      position.bucket_index >= directory_.buckets ||
      position.number() >= kEntries ||
      acp_query_rank(position.entry) != position.rank) {
    structure::fail_numbers(call_, ACPX_INVALID_ARGUMENT,
                            "the iterator is of another {}",
                            structure::name_of(call_.kind));
    return false;
  }
  share_ = share;
  bucket_ = position.bucket_index;
  const bool is_first = position.bucket() == directory_.bucket(share_, bucket_);
  if (!read(position.bucket(),
            is_first
                ? std::min<std::uint64_t>(kAtOnce, directory_.buckets - bucket_)
                : 1)) {
    return false;
  }
  entry_ = position.number() + 1;
  return true;
}

/// Goes to the next bucket: the overflow bucket, the neighbour, or the first of
/// the next share. At the end words_ is null.
bool Walk::next_bucket() {
  if (words_ != nullptr && words_->overflow != ACP_GA_NULL) {
    return read(words_->overflow, 1);
  }
  if (words_ != nullptr) {
    ++bucket_;
    // Buckets that were read ahead are lost when an overflow bucket was read
    // since.
    if (current_ + 1 < read_) {
      ++current_;
      ++words_;
      ++words_again_;
      at_ += kBucketBytes;
      entry_ = 0;
      return is_settled(*words_, *words_again_) || read(at_, 1);
    }
    if (bucket_ == directory_.buckets) {
      bucket_ = 0;
      ++share_;
    }
  }
  if (share_ >= end_share_) {
    words_ = nullptr;
    return true;
  }
  return read(directory_.bucket(share_, bucket_),
              std::min<std::uint64_t>(kAtOnce, directory_.buckets - bucket_));
}

/// Goes on to the next entry that is not free.
bool Walk::next() {
  found_.is_there = false;
  if (words_ == nullptr && share_ >= end_share_) {
    return true;
  }
  do {
    if (words_ == nullptr || entry_ == kEntries) {
      if (!next_bucket()) {
        return false;
      }
      if (words_ == nullptr) {
        return true;
      }
    }
    for (; entry_ < kEntries; ++entry_) {
      const Entry word{words_->entries[entry_]};
      if (word.state() != State::kFree) {
        found_.is_there = true;
        found_.rank = acp_query_rank(at_);
        found_.bucket_index = bucket_;
        found_.bucket = at_;
        found_.entry = entry_;
        found_.generation = word.generation();
        found_.pair = pair_in(at_, *words_, entry_);
        found_.serial =
            word.state() == State::kBlock ? words_->areas[entry_][3] : 0;
        std::copy_n(words_->areas[entry_], kAreaBytes / 8, found_.area);
        ++entry_;
        return true;
      }
    }
  } while (true);
}

bool Walk::copy(Copy& copy, Part part) {
  if (found_.serial != 0) {
    return copy_block(copy, part);
  }
  const std::size_t key_bytes = found_.pair.first.size;
  std::copy_n(found_.area, kAreaBytes / 8,
              reinterpret_cast<std::uint64_t*>(scratch_.data()));
  copy.is_there = true;
  copy.pair = {
      {scratch_.data_ga(), key_bytes},
      {scratch_.data_ga() + padded(key_bytes), found_.pair.second.size}};
  return true;
}

/// Copies the key and the value from a block. The serial number is read after
/// the copy, which may have come after the removal of the element.
bool Walk::copy_block(Copy& copy, Part part) {
  const acp_pair_t& there = found_.pair;
  const std::uint64_t key_bytes = padded(there.first.size);
  const std::uint64_t bytes =
      part == Part::kKey ? key_bytes : key_bytes + there.second.size;
  copy.block.allocate(bytes, call_.site->rank());
  const acp_ga_t here = copy.block.ga();
  if (!copy.block.is_good() ||
      !structure::move_all({{here, there.first.ga, bytes}})) {
    return false;
  }
  Scratch scratch(*call_.site);
  Chain chain(scratch);
  const std::uint64_t* serial =
      chain.get(there.first.ga - kBlockHeaderBytes, 8);
  if (!chain.run()) {
    return false;
  }
  copy.is_there = *serial == found_.serial;
  copy.pair = {{here, there.first.size}, {here + key_bytes, there.second.size}};
  return true;
}

/// Reads the bucket until it is settled, then compares the uid and the entry's
/// generation with the iterator's.
bool dereference(const Call& call, const Position& position, acp_pair_t& pair) {
  const Directory* directory = find_directory(call);
  if (directory == nullptr) {
    return false;
  }
  Scratch scratch(*call.site);
  structure::Backoff backoff(call.function, call.handle);
  Bucket words{};
  Bucket again{};
  do {
    scratch.clear();
    Chain chain(scratch);
    const std::uint64_t* read =
        chain.get_cleared(position.bucket(), kBucketBytes);
    const std::uint64_t* read_again =
        chain.get_cleared(position.bucket(), kBucketBytes);
    if (!chain.run() && is_end_of_job(acp_errno)) {
      return false;
    }
    std::memcpy(&words, read, sizeof words);
    std::memcpy(&again, read_again, sizeof again);
    if (words.lock >> 32 != directory->uid) {
      break;
    }
  } while (!is_settled(words, again) && backoff.pause());
  const Entry word{words.entries[std::min(position.number(), kEntries - 1)]};
  if (position.number() >= kEntries || words.lock >> 32 != directory->uid ||
      word.state() == State::kFree ||
      (word.generation() & 7) != position.generation()) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                         "the iterator is of no element, or of one that was "
                         "removed");
    return false;
  }
  pair = pair_in(position.bucket(), words, position.number());
  return true;
}

}  // namespace acp::middle::table
