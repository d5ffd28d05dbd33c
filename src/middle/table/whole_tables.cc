// The operations of acp/set.h and acp/map.h on whole tables, but for their
// creation (new_table.cc). Called by table_api.h. They lock one bucket after
// the other, so other ranks use the remaining buckets meanwhile. A function may
// not hold two locks of buckets, and takes those of tables in the order of
// their addresses. Only destroy() and swap() take them.
#include "middle/table/whole_tables.h"

#include <algorithm>
#include <vector>

#include "acp/gma.h"
#include "acp/malloc.h"
#include "middle/structure/waiting.h"
#include "middle/table/entries.h"

namespace acp::middle::table {

using structure::Call;
using structure::Chain;
using structure::Lock;
using structure::Scratch;
using structure::View;

// ---- Buckets of a locked table --------------------------------------------

namespace {

/// Locks a bucket of the table that `directory` tells, and calls `work`. False:
/// failed, also when the bucket is of another table by now (reported).
template <typename Work>
bool with_bucket(const Call& call,
                 Scratch& scratch,
                 const Directory& directory,
                 std::size_t share,
                 std::uint64_t bucket,
                 const Work& work) {
  Call there = call;
  there.rank = acp_query_rank(directory.shares[share]);
  LockedBuckets buckets(there, scratch);
  switch (buckets.lock(directory.shares[share], directory.bucket(share, bucket),
                       directory.uid)) {
    case LockedBuckets::Answer::kLocked: return work(buckets);
    case LockedBuckets::Answer::kOtherTable:
      structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                           "it was destroyed or swapped at the same time");
      return false;
    case LockedBuckets::Answer::kFailed: break;
  }
  return false;
}

/// Removes all elements of a locked bucket and its overflow buckets. The
/// destructor of `buckets` unlocks.
bool clear_buckets(Scratch& scratch, LockedBuckets& buckets) {
  for (;;) {
    std::vector<acp_ga_t> blocks;
    const Bucket words = buckets.words();
    const bool is_last = !buckets.has_next();
    scratch.clear();
    Chain chain(scratch);
    for (std::size_t entry = 0; entry < kEntries; ++entry) {
      const Entry word{words.entries[entry]};
      if (word.state() == State::kFree) {
        continue;
      }
      // One flight for each entry: more would not fit a chain.
      buckets.change(chain, entry,
                     Entry::make(State::kFree, word.generation(), 0, 0, 0),
                     nullptr);
      if (word.state() == State::kBlock) {
        chain.put8(words.areas[entry][0], 0);
        blocks.push_back(words.areas[entry][0]);
      }
      buckets.count(chain, ~std::uint64_t{0});
      if (!chain.run()) {
        return false;
      }
    }
    for (const acp_ga_t block : blocks) {
      acp_free(block);
    }
    if (is_last) {
      return true;  // the destructor of `buckets` unlocks
    }
    if (!buckets.next()) {
      return false;
    }
  }
}

/// Calls `work` for each bucket of a share, but not for overflow buckets, with
/// the words as they were read. 16 buckets are read in one flight. False:
/// failed.
template <typename Work>
bool for_buckets(const Call& call,
                 const Directory& directory,
                 std::size_t share,
                 const Work& work) {
  constexpr std::uint64_t kAtOnce = 16;  // 4 KiB; the scratch has room for 32
  Scratch scratch(*call.site);
  for (std::uint64_t first = 0; first < directory.buckets; first += kAtOnce) {
    const std::uint64_t some = std::min(kAtOnce, directory.buckets - first);
    scratch.clear();
    Chain chain(scratch);
    const auto* words = reinterpret_cast<const Bucket*>(
        chain.get(directory.bucket(share, first), some * kBucketBytes));
    if (!chain.run()) {
      return false;
    }
    for (std::uint64_t i = 0; i < some; ++i) {
      if (!work(first + i, words[i])) {
        return false;
      }
    }
  }
  return true;
}

bool is_empty(const Bucket& words) {
  return words.overflow == ACP_GA_NULL &&
         std::all_of(std::begin(words.entries), std::end(words.entries),
                     [](std::uint64_t word) {
                       return Entry{word}.state() == State::kFree;
                     });
}

/// Reads the directory from the control, not from the thread's cache.
bool read_now(const Call& call, Directory& directory) {
  Scratch scratch(*call.site);
  View view{};
  return structure::look(scratch, call, view) &&
         read_directory(call, scratch, view, directory);
}

/// The range of share numbers that an extent covers.
std::pair<std::size_t, std::size_t> shares_of(const Call& call,
                                              const Directory& directory,
                                              Extent extent) {
  if (extent == Extent::kAll) {
    return {0, directory.shares.size()};
  }
  const std::size_t mine = directory.share_of(call.site->rank());
  return {mine, std::min(mine + 1, directory.shares.size())};
}

}  // namespace

/// Locks only buckets that are not empty, one at a time.
bool clear(const Call& call, Extent extent) {
  Directory directory;
  if (!read_now(call, directory)) {
    return false;
  }
  const auto [begin, end] = shares_of(call, directory, extent);
  Scratch scratch(*call.site);
  for (std::size_t share = begin; share < end; ++share) {
    const bool is_good = for_buckets(
        call, directory, share, [&](std::uint64_t bucket, const Bucket& words) {
          return is_empty(words) ||
                 with_bucket(call, scratch, directory, share, bucket,
                             [&](LockedBuckets& buckets) {
                               return clear_buckets(scratch, buckets);
                             });
        });
    if (!is_good) {
      return false;
    }
  }
  return true;
}

namespace {

/// Ends a locked bucket that is not empty: clears the serial numbers of its
/// blocks and the uids of its overflow buckets, then frees both.
bool end_buckets(Scratch& scratch, LockedBuckets& buckets) {
  std::vector<acp_ga_t> blocks;
  std::vector<acp_ga_t> overflow;
  for (;;) {
    for (std::size_t entry = 0; entry < kEntries; ++entry) {
      if (Entry{buckets.words().entries[entry]}.state() == State::kBlock) {
        blocks.push_back(buckets.words().areas[entry][0]);
      }
    }
    if (!buckets.has_next()) {
      break;
    }
    if (!buckets.next()) {
      return false;
    }
    overflow.push_back(buckets.at());
  }
  for (const std::vector<acp_ga_t>* words : {&blocks, &overflow}) {
    for (const acp_ga_t word : *words) {
      scratch.clear();
      Chain chain(scratch);
      chain.put8(word, 0);  // a block's serial number, a bucket's uid
      if (!chain.run()) {
        return false;
      }
    }
  }
  for (const acp_ga_t block : blocks) {
    acp_free(block);
  }
  for (const acp_ga_t bucket : overflow) {
    acp_free(bucket);
  }
  return true;
}

/// Takes the uid from all buckets of a share, so that no operation accepts them
/// any more, then frees the share.
bool end_share(const Call& call,
               Scratch& scratch,
               const Directory& directory,
               std::size_t share) {
  const bool is_good = for_buckets(
      call, directory, share, [&](std::uint64_t bucket, const Bucket& words) {
        if (!is_empty(words) &&
            !with_bucket(call, scratch, directory, share, bucket,
                         [&](LockedBuckets& buckets) {
                           return end_buckets(scratch, buckets);
                         })) {
          return false;
        }
        // The step has no result, because the result could arrive when another
        // call uses the scratch.
        Chain chain(scratch);
        chain.add8(directory.bucket(share, bucket),
                   0 - locked_by(directory.uid, 0));
        return chain.post() != ACP_HANDLE_NULL;
      });
  if (!is_good || !structure::finish(ACP_HANDLE_ALL)) {
    return false;
  }
  acp_free(directory.shares[share]);
  return true;
}

}  // namespace

/// Takes the table's lock, so that no swap or other destroy is under way. Then
/// the shares end, then the control, and the directory's memory last.
bool destroy(const Call& call) {
  Scratch scratch(*call.site);
  Scratch work(*call.site);
  Lock lock(call);
  View view{};
  Directory directory;
  if (!lock.acquire(scratch, view)) {
    return false;
  }
  const acp_ga_t addresses = view.field(kDirectoryField);
  if (!read_directory(call, work, view, directory)) {
    return false;
  }
  for (std::size_t share = 0; share < directory.shares.size(); ++share) {
    if (!end_share(call, work, directory, share)) {
      return false;
    }
  }
  lock.destroy();
  acp_free(addresses);
  return true;
}

/// Reads all counts in one flight for each 512 shares, and repeats it all when
/// a uid is not that of the directory.
bool size(const Call& call, Extent extent, std::uint64_t& elements) {
  constexpr std::size_t kPerScratch = 512;  // the scratch has room for 1,024
  unsigned attempts = 0;
  const Directory* directory = find_directory(call);
  while (directory != nullptr) {
    elements = 0;
    const auto [begin, end] = shares_of(call, *directory, extent);
    Scratch scratch(*call.site);
    bool is_right = true;
    for (std::size_t first = begin; first < end; first += kPerScratch) {
      const std::size_t last = std::min(first + kPerScratch, end);
      std::vector<const std::uint64_t*> counts;
      acp_handle_t handle = ACP_HANDLE_NULL;
      scratch.clear();
      // The uid of the first bucket tells whether the directory is still right.
      for (std::size_t share = first; share < last; ++share) {
        Chain chain(scratch);
        counts.push_back(chain.get(directory->shares[share], 8));
        chain.get_to(directory->bucket(share, 0),
                     scratch.data_ga() + (share - first) * 8, 8);
        handle = chain.post();
        if (handle == ACP_HANDLE_NULL) {
          return false;
        }
      }
      if (!structure::finish(handle)) {
        return false;
      }
      const auto* locks =
          reinterpret_cast<const std::uint64_t*>(scratch.data());
      for (std::size_t i = 0; i < counts.size(); ++i) {
        elements += *counts[i];
        is_right = is_right && locks[i] >> 32 == directory->uid;
      }
    }
    // A rank without a share has read no bucket, so it reads the control
    // instead.
    View view{};
    if (is_right && (begin != end || structure::look(scratch, call, view))) {
      return true;
    }
    if (is_right) {
      return false;
    }
    directory = renew_directory(call, attempts);
  }
  return false;
}

// ---- Swap -----------------------------------------------------------------

namespace {

/// Gives all buckets another uid. A rank that knows the old one then reads the
/// control again. The first bucket changes last, with the unlocking.
bool change_uid(const Call& call,
                const Directory& directory,
                std::uint32_t uid) {
  Scratch scratch(*call.site);
  for (std::size_t share = 0; share < directory.shares.size(); ++share) {
    const bool is_good = for_buckets(
        call, directory, share, [&](std::uint64_t bucket, const Bucket&) {
          return with_bucket(call, scratch, directory, share, bucket,
                             [&](LockedBuckets& buckets) {
                               const std::uint64_t change =
                                   std::uint64_t{uid - directory.uid} << 32;
                               const acp_ga_t first = buckets.at();
                               while (buckets.has_next()) {
                                 if (!buckets.next()) {
                                   return false;
                                 }
                                 scratch.clear();
                                 Chain chain(scratch);
                                 chain.add8(buckets.at(), change);
                                 if (!chain.run()) {
                                   return false;
                                 }
                               }
                               Chain chain(scratch);
                               chain.add8(first, change);
                               return buckets.unlock_later(
                                   chain, structure::Sending::kNow);
                             });
        });
    if (!is_good) {
      return false;
    }
  }
  return structure::finish(ACP_HANDLE_ALL);
}

}  // namespace

/// Takes both tables' locks in the order of their addresses, gives all buckets
/// new uids, and then exchanges the fields of the controls.
bool swap(const Call& call1, const Call& call2) {
  const bool is_ordered = call1.control < call2.control;
  const Call& lower = is_ordered ? call1 : call2;
  const Call& upper = is_ordered ? call2 : call1;
  // A scratch for each lock: a thread waits in one queue by one scratch.
  Scratch lower_scratch(*call1.site);
  Scratch upper_scratch(*call1.site);
  Scratch* scratches[2] = {&lower_scratch, &upper_scratch};
  std::uint64_t fields[2][structure::kFields];
  std::uint64_t versions[2];
  Directory directories[2];
  Lock lower_lock(lower);
  Lock upper_lock(upper);
  Lock* locks[2] = {&lower_lock, &upper_lock};
  const Call* calls[2] = {&lower, &upper};
  for (std::size_t i = 0; i < 2; ++i) {
    View view{};
    if (!locks[i]->acquire(*scratches[i], view)) {
      return false;
    }
    versions[i] = view.version();
    for (std::size_t field = 0; field < structure::kFields; ++field) {
      fields[i][field] = view.field(field);
    }
    Scratch work(*call1.site);
    if (!read_directory(*calls[i], work, view, directories[i])) {
      return false;
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint32_t uid = new_uid(call1.site->rank());
    if (!change_uid(*calls[i], directories[i], uid)) {
      return false;
    }
    fields[i][kUidField] = uid;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    scratches[i]->clear();
    Chain chain(*scratches[i]);
    structure::write_fields(chain, *calls[i], versions[i] + 1, fields[1 - i]);
    if (!locks[i]->release_with(chain)) {
      return false;
    }
  }
  return true;
}

}  // namespace acp::middle::table
