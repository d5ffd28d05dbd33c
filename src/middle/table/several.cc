// The extensions for several elements of a map. Called by map_api.cc. The
// flights of a window of elements are under way at the same time, and their
// scratch may not be used again before they end. Elements that need more than
// one flight are done one by one at the window's end.
#include "middle/table/several.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>

#include "base/memory_reserve.h"
#include "middle/table/entries.h"

namespace acp::middle::table {

using structure::Call;
using structure::Chain;
using structure::Scratch;

namespace {

/// Elements of a window. The words that their flights read fit a scratch.
constexpr std::size_t kWindow = 16;

/// Whether the bytes are on this rank, so that they need no fetching.
bool is_here(const Call& call, acp_element_t element) {
  return acp_query_rank(element.ga) == call.site->rank() &&
         bytes_at(element.ga) != nullptr;
}

/// An element of a window, and where the results of its flight will be.
struct Flying {
  bool is_flying = false;
  Key key;
  Location location;
  BucketView view;
  Call there;  ///< The call, with the bucket's rank.
  std::optional<LockedBuckets> buckets;
  LockedBuckets::Try locking{};
};

/// The flights of the elements of a window. Used by one thread.
class Flights {
 public:
  explicit Flights(const Call& call)
      : scratch(*call.site), key_scratch(*call.site) {}

  /// Posts a chain beside those that are under way. False: it is not posted.
  bool post(Chain& chain) {
    const acp_handle_t handle = chain.post_with_next();
    last_ = handle != ACP_HANDLE_NULL ? handle : last_;
    return handle != ACP_HANDLE_NULL;
  }

  /// Waits for all chains that were posted. False: as structure::finish().
  [[nodiscard]] bool finish() const {
    return last_ == ACP_HANDLE_NULL || structure::finish(last_);
  }

  Scratch scratch;      ///< The chains use it until finish() returns.
  Scratch key_scratch;  ///< The keys lie here.
  std::array<Flying, kWindow> window;

 private:
  acp_handle_t last_ = ACP_HANDLE_NULL;
};

}  // namespace

/// Order in each window: post one chain per key, wait once, look at the
/// results, and search for the rest one by one.
bool find_many(const Call& call,
               const acp_element_t* keys,
               std::size_t count,
               Found* found) {
  for (std::size_t first = 0; first < count; first += kWindow) {
    const std::size_t some = std::min(kWindow, count - first);
    const Directory* directory = find_directory(call);
    if (directory == nullptr) {
      return false;
    }
    Flights flights(call);
    bool is_good = true;
    for (std::size_t i = 0; i < some; ++i) {
      const acp_element_t& element = keys[first + i];
      Flying& one = flights.window[i];
      if (!is_here(call, element)) {
        continue;  // done by itself, below
      }
      if (!one.key.open(flights.key_scratch, call, element)) {
        // Operations in flight still use the scratch: wait first.
        is_good = false;
        break;
      }
      one.location = Location::of(one.key, *directory);
      Chain chain(flights.scratch);
      one.view = BucketView::in(chain, one.location.bucket);
      one.is_flying = flights.post(chain);
    }
    if (!flights.finish() || !is_good) {
      return false;
    }
    std::array<bool, kWindow> is_done{};
    for (std::size_t i = 0; i < some; ++i) {
      const Flying& one = flights.window[i];
      if (!one.is_flying) {
        continue;
      }
      const Bucket words = one.view.bucket();
      std::size_t entry = 0;
      if (uid_of(words) != one.location.uid || !one.view.is_whole() ||
          has_block(words)) {
        continue;
      }
      Found& result = found[first + i];
      if (find_in(flights.key_scratch, one.key, words, entry) == Match::kYes) {
        result.rank = one.location.rank;
        result.bucket_index = one.location.bucket_index;
        set_found(result, one.location.bucket, words, entry);
        is_done[i] = true;
      } else if (words.overflow == ACP_GA_NULL) {
        result.is_there = false;
        is_done[i] = true;
      }
    }
    for (std::size_t i = 0; i < some; ++i) {
      if (!is_done[i] && !find(call, keys[first + i], found[first + i])) {
        return false;
      }
    }
  }
  return true;
}

namespace {

/// Posts a chain that locks and reads the bucket of one pair. A pair that needs
/// more than its bucket does not fly.
void post_locking(const Call& call,
                  Flights& flights,
                  const Directory& directory,
                  const acp_pair_t& pair,
                  Flying& one) {
  if (!fits_area(pair.first.size, pair.second.size) || pair.first.size == 0 ||
      !is_here(call, pair.first) ||
      (pair.second.size != 0 && !is_here(call, pair.second)) ||
      !one.key.open(flights.key_scratch, call, pair.first)) {
    return;
  }
  one.location = Location::of(one.key, directory);
  one.there = call;
  one.there.rank = one.location.rank;
  one.buckets.emplace(one.there, flights.scratch);
  Chain chain(flights.scratch);
  one.locking =
      one.buckets->try_in(chain, one.location.bucket, one.location.uid);
  one.is_flying = flights.post(chain);
}

/// Inserts into a bucket that a flight has locked, and posts the chain that
/// unlocks it. kFailed: the pair has to be inserted by itself.
Outcome insert_locked(Flights& flights, const acp_pair_t& pair, Flying& one) {
  LockedBuckets& buckets = *one.buckets;
  if (has_block(buckets.words()) || buckets.has_next()) {
    return Outcome::kFailed;
  }
  std::size_t entry = 0;
  if (find_in(flights.key_scratch, one.key, buckets.words(), entry) ==
      Match::kYes) {
    return Outcome::kPresent;
  }
  entry = free_entry(buckets.words());
  NewElement added;
  if (entry == kEntries ||
      !added.make(one.there, one.key, pair.second.ga, pair.second.size)) {
    return Outcome::kFailed;
  }
  Chain chain(flights.scratch);
  added.write(chain, buckets, entry, one.key);
  buckets.count(chain, 1);
  buckets.unlock_in(chain);
  return flights.post(chain) ? Outcome::kInserted : Outcome::kFailed;
}

/// Takes the locks of a window's flights one after the other, inserts, and
/// unlocks. Every lock is released before another lock is waited for. Two ranks
/// with overlapping windows therefore cannot wait for each other. False: the
/// job is ending.
bool insert_window(Flights& flights,
                   const acp_pair_t* pairs,
                   std::size_t some,
                   Outcome* outcomes) {
  for (std::size_t i = 0; i < some; ++i) {
    Flying& one = flights.window[i];
    if (one.is_flying && one.locking.is_locked(one.location.uid)) {
      one.buckets->take(one.location.share, one.location.bucket,
                        one.location.uid, one.locking);
      outcomes[i] = insert_locked(flights, pairs[i], one);
      one.buckets->unlock();
    }
  }
  // Unlocks of present keys are not waited for, but leave now.
  (void)acp_inquire(ACP_HANDLE_ALL);
  if (!flights.finish()) {
    return false;
  }
  for (std::size_t i = 0; i < some; ++i) {
    if (outcomes[i] == Outcome::kInserted) {
      flights.window[i].buckets->pass();
    }
  }
  return true;
}

}  // namespace

/// Order in each window: post one chain per key that locks and reads its
/// bucket, wait once, write and unlock. Then insert the rest one by one.
bool insert_many(const Call& call,
                 const acp_pair_t* pairs,
                 std::size_t count,
                 Outcome* outcomes) {
  bool is_good = true;
  for (std::size_t first = 0; first < count; first += kWindow) {
    const std::size_t some = std::min(kWindow, count - first);
    const Directory* directory = find_directory(call);
    if (directory == nullptr) {
      return false;
    }
    {
      Flights flights(call);
      for (std::size_t i = 0; i < some; ++i) {
        outcomes[first + i] = Outcome::kFailed;
        post_locking(call, flights, *directory, pairs[first + i],
                     flights.window[i]);
      }
      if (!flights.finish() ||
          !insert_window(flights, pairs + first, some, outcomes + first)) {
        return false;
      }
    }
    for (std::size_t i = 0; i < some; ++i) {
      Outcome& outcome = outcomes[first + i];
      if (outcome == Outcome::kFailed) {
        const acp_pair_t& pair = pairs[first + i];
        outcome = insert(call, pair.first, pair.second, Present::kKeep);
        is_good = is_good && outcome != Outcome::kFailed;
      }
    }
  }
  return is_good;
}

// ---- As the public functions ----------------------------------------------

namespace {

/// An array with one item for each element, or null (reported). Does not throw,
/// because a program's wrong count must not end the program.
template <typename T>
std::unique_ptr<T[]> results_for(const Call& call, std::size_t count) {
  // Array new throws for a size beyond the address space, even with nothrow.
  std::unique_ptr<T[]> results;
  if (count <= PTRDIFF_MAX / sizeof(T)) {
    const MayFail may_fail;
    results.reset(new (std::nothrow) T[count]{});
  }
  if (results == nullptr) {
    structure::fail_numbers(
        call, ACPX_NO_MEMORY,
        "no memory for the results of {} elements, {} bytes for each", count,
        sizeof(T));
  }
  return results;
}

bool has_arrays(const Call& call, const void* in, const void* out) {
  if (in == nullptr || out == nullptr) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT, "an array is NULL");
  }
  return in != nullptr && out != nullptr;
}

int as_count(std::size_t count) {
  return static_cast<int>(
      std::min<std::size_t>(count, std::numeric_limits<int>::max()));
}

}  // namespace

/// Translates outcomes to the results of acpx_insert_map_n.
int insert_all(const Call& call,
               const acp_pair_t* pairs,
               std::size_t count,
               int* results) {
  if (count != 0 && !has_arrays(call, pairs, pairs)) {
    return -1;
  }
  const auto outcomes = results_for<Outcome>(call, count);
  if (outcomes == nullptr) {
    return -1;
  }
  const bool is_good = insert_many(call, pairs, count, outcomes.get());
  for (std::size_t i = 0; results != nullptr && i < count; ++i) {
    results[i] = outcomes[i] == Outcome::kInserted  ? 1
                 : outcomes[i] == Outcome::kPresent ? 0
                                                    : -1;
  }
  return is_good
             ? as_count(static_cast<std::size_t>(std::count(
                   outcomes.get(), outcomes.get() + count, Outcome::kInserted)))
             : -1;
}

int find_all(const Call& call,
             const acp_element_t* keys,
             std::size_t count,
             acp_pair_t* pairs) {
  if (count != 0 && !has_arrays(call, keys, pairs)) {
    return -1;
  }
  const auto found = results_for<Found>(call, count);
  if (found == nullptr || !find_many(call, keys, count, found.get())) {
    return -1;
  }
  std::size_t there = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pairs[i] = found[i].is_there ? found[i].pair : acp_pair_t{};
    there += found[i].is_there ? 1 : 0;
  }
  return as_count(there);
}

int upsert(const Call& call,
           acp_element_t key,
           std::uint64_t add,
           std::uint64_t* old) {
  std::uint64_t before = 0;
  const Outcome outcome = upsert_add8(call, key, add, before);
  if (outcome == Outcome::kFailed) {
    return -1;
  }
  if (old != nullptr) {
    *old = before;
  }
  return outcome == Outcome::kInserted ? 1 : 0;
}

}  // namespace acp::middle::table
