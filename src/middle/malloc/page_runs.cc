// Runs of pages: small ones from chunks that are broken up, large ones from
// whole chunks. Called by Spans and PeerHeap, only with the heap's turn held.
#include "middle/malloc/page_runs.h"

#include <algorithm>
#include <bit>

namespace acp::middle {

namespace {

constexpr std::uint64_t kAllPages = ~std::uint64_t{0};

/// Two ranks that want overlapping runs can make each other give up. They stop
/// after so many rounds.
constexpr int kRounds = 64;

/// A mask of `count` (1 .. 64) bits from `first` on.
constexpr std::uint64_t bits(unsigned first, std::uint64_t count) noexcept {
  return (count >= 64 ? kAllPages : (std::uint64_t{1} << count) - 1) << first;
}

/// The first of `count` ones in a row; 64 when there are none.
unsigned find_run(std::uint64_t word, unsigned count) noexcept {
  // After each step bit i says that `have` ones begin at i.
  unsigned have = 1;
  while (have < count && word != 0) {
    const unsigned step = std::min(have, count - have);
    word &= word >> step;
    have += step;
  }
  return static_cast<unsigned>(std::countr_zero(word));
}

}  // namespace

Outcome PageRuns::take(std::uint64_t pages, PageNumber& first) noexcept {
  if (pages < kPagesPerChunk) {
    return take_small(static_cast<unsigned>(pages), first);
  }
  const std::uint64_t chunks = (pages + kPagesPerChunk - 1) / kPagesPerChunk;
  if (chunks > layout_.chunks()) {
    return Outcome::kFull;
  }
  const Outcome outcome = take_chunks(chunks, first);
  const std::uint64_t in_last = pages % kPagesPerChunk;
  if (outcome != Outcome::kDone || in_last == 0) {
    return outcome;
  }
  // The rest of the last chunk goes to smaller runs.
  return return_pages(first / kPagesPerChunk + chunks - 1,
                      kAllPages << in_last);
}

bool PageRuns::read(std::uint64_t group,
                    std::uint64_t count,
                    ChunkGroup* to) noexcept {
  Flight flight(memory_);
  for (std::uint64_t i = 0; i < count; ++i) {
    flight.get(layout_.group(group + i), &to[i], sizeof(ChunkGroup));
  }
  groups_read_ += count;
  if (!flight.run()) {
    return false;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    to[i].taken_chunks |= layout_.missing_chunks(group + i);
  }
  return true;
}

/// Goes once through all groups, starting with that of the last success.
Outcome PageRuns::take_small(unsigned pages, PageNumber& first) noexcept {
  ChunkGroup seen[kGroupsPerFlight];
  const std::uint64_t groups = layout_.groups();
  // Reads the group of the last success alone, then many groups in one
  // flight.
  for (std::uint64_t done = 0; done < groups;) {
    const std::uint64_t group = (hint_ + done) % groups;
    const std::uint64_t count =
        done == 0 ? 1
                  : std::min({kGroupsPerFlight, groups - done, groups - group});
    if (!read(group, count, seen)) {
      return Outcome::kFailed;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const Outcome outcome = take_in(group + i, seen[i], pages, first);
      if (outcome != Outcome::kFull) {
        hint_ = group + i;
        return outcome;
      }
    }
    done += count;
  }
  return Outcome::kFull;
}

/// Takes pages in one group, first from chunks that are broken up already. A
/// lost race updates `seen`.
Outcome PageRuns::take_in(std::uint64_t group,
                          ChunkGroup& seen,
                          unsigned pages,
                          PageNumber& first) noexcept {
  for (unsigned chunk = 0; chunk < kChunksPerGroup;) {
    std::uint64_t& free = seen.free_pages[chunk];
    const unsigned at = find_run(free, pages);
    if (at == 64) {
      ++chunk;
      continue;
    }
    const std::uint64_t number = group * kChunksPerGroup + chunk;
    const std::uint64_t expected = free;
    Flight flight(memory_);
    flight.cas(layout_.free_pages(number), expected,
               expected & ~bits(at, pages), &free);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    if (free == expected) {
      first = number * kPagesPerChunk + at;
      return Outcome::kDone;
    }
  }
  return break_up(group, seen, pages, first);
}

/// Takes a whole chunk, and returns the pages that are not needed.
Outcome PageRuns::break_up(std::uint64_t group,
                           ChunkGroup& seen,
                           unsigned pages,
                           PageNumber& first) noexcept {
  while (seen.taken_chunks != kAllPages) {
    const auto chunk =
        static_cast<unsigned>(std::countr_one(seen.taken_chunks));
    const std::uint64_t expected =
        seen.taken_chunks & ~layout_.missing_chunks(group);
    std::uint64_t old = 0;
    Flight flight(memory_);
    flight.cas(layout_.group(group), expected, expected | bits(chunk, 1), &old);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    if (old == expected) {
      index_.mark_taken(group, bits(chunk, 1));
      const std::uint64_t number = group * kChunksPerGroup + chunk;
      first = number * kPagesPerChunk;
      return return_pages(number, kAllPages << pages);
    }
    seen.taken_chunks = old | layout_.missing_chunks(group);
  }
  return Outcome::kFull;
}

/// Reads into the index which chunks of some groups are taken.
bool PageRuns::refresh(std::uint64_t first, std::uint64_t count) noexcept {
  std::uint64_t taken[Flight::kMaxSteps];
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t some =
        std::min<std::uint64_t>(count - done, Flight::kMaxSteps);
    Flight flight(memory_);
    for (std::uint64_t i = 0; i < some; ++i) {
      flight.get(layout_.group(first + done + i), &taken[i], 8);
    }
    groups_read_ += some;
    if (!flight.run()) {
      return false;
    }
    for (std::uint64_t i = 0; i < some; ++i) {
      const std::uint64_t group = first + done + i;
      index_.set(group, taken[i] | layout_.missing_chunks(group));
    }
    done += some;
  }
  return true;
}

/// Takes whole chunks: asks the index for the first fit, reads the groups
/// there, and claims the chunks if they are free indeed. Each wrong guess
/// corrects the index, so there are at most as many of them as other ranks have
/// made changes.
Outcome PageRuns::take_chunks(std::uint64_t chunks,
                              PageNumber& first) noexcept {
  bool is_fresh = false;
  std::uint64_t ahead = 1;  // groups to read; more after each wrong guess
  for (int round = 0; round < kRounds;) {
    const std::uint64_t begin = index_.find(chunks);
    if (begin == ChunkIndex::kNone) {
      // Other ranks may have returned chunks since the last look.
      if (is_fresh) {
        return Outcome::kFull;
      }
      if (!refresh(0, layout_.groups())) {
        return Outcome::kFailed;
      }
      is_fresh = true;
      continue;
    }
    const std::uint64_t group = begin / kChunksPerGroup;
    const std::uint64_t end = (begin + chunks - 1) / kChunksPerGroup + 1;
    const std::uint64_t count = std::max(end - group, ahead);
    if (!refresh(group, std::min(count, layout_.groups() - group))) {
      return Outcome::kFailed;
    }
    if (index_.find(chunks) != begin) {
      ahead = std::min<std::uint64_t>(2 * ahead, Flight::kMaxSteps);
      continue;
    }
    const Outcome outcome = claim(begin, chunks);
    if (outcome != Outcome::kFull) {
      first = begin * kPagesPerChunk;
      return outcome;
    }
    // Another rank was first. It may give up in its turn and return its chunks,
    // so kFull is only true after another look at everything.
    ++round;
    is_fresh = false;
  }
  return Outcome::kFull;
}

/// Marks chunks as taken, word by word from the front. kFull, and nothing has
/// changed: another rank was first.
Outcome PageRuns::claim(std::uint64_t first_chunk,
                        std::uint64_t chunks) noexcept {
  std::uint64_t claimed = 0;
  while (claimed < chunks) {
    const std::uint64_t chunk = first_chunk + claimed;
    const auto at = static_cast<unsigned>(chunk % kChunksPerGroup);
    const std::uint64_t count =
        std::min<std::uint64_t>(chunks - claimed, kChunksPerGroup - at);
    const std::uint64_t mask = bits(at, count);
    std::uint64_t old = 0;
    std::uint64_t expected = 0;
    do {
      expected = old & ~mask;
      Flight flight(memory_);
      flight.cas(layout_.group(chunk / kChunksPerGroup), expected,
                 expected | mask, &old);
      if (!flight.run()) {
        return Outcome::kFailed;
      }
    } while (old != expected && (old & mask) == 0);
    const std::uint64_t group = chunk / kChunksPerGroup;
    index_.set(group, old | layout_.missing_chunks(group));
    if (old != expected) {
      const Outcome undone =
          claimed == 0 ? Outcome::kDone : return_chunks(first_chunk, claimed);
      return undone == Outcome::kDone ? Outcome::kFull : undone;
    }
    index_.mark_taken(group, mask);
    claimed += count;
  }
  return Outcome::kDone;
}

/// Returns whole chunks as chunks, and the pages of the last one as pages.
Outcome PageRuns::give_back(PageNumber first, std::uint64_t pages) noexcept {
  const std::uint64_t chunk = first / kPagesPerChunk;
  const auto at = static_cast<unsigned>(first % kPagesPerChunk);
  if (at + pages < kPagesPerChunk || at != 0) {
    return return_pages(chunk, bits(at, pages));
  }
  const std::uint64_t whole = pages / kPagesPerChunk;
  const std::uint64_t in_last = pages % kPagesPerChunk;
  const Outcome outcome = return_chunks(chunk, whole);
  if (outcome != Outcome::kDone || in_last == 0) {
    return outcome;
  }
  return return_pages(chunk + whole, bits(0, in_last));
}

/// The bits are set and belong to the caller, so a subtraction clears them
/// without a retry. Many words go in one flight.
Outcome PageRuns::return_chunks(std::uint64_t first_chunk,
                                std::uint64_t chunks) noexcept {
  Flight flight(memory_);
  std::size_t steps = 0;
  for (std::uint64_t done = 0; done < chunks;) {
    const std::uint64_t chunk = first_chunk + done;
    const auto at = static_cast<unsigned>(chunk % kChunksPerGroup);
    const std::uint64_t count =
        std::min<std::uint64_t>(chunks - done, kChunksPerGroup - at);
    flight.add(layout_.group(chunk / kChunksPerGroup), -bits(at, count),
               nullptr);
    index_.mark_free(chunk / kChunksPerGroup, bits(at, count));
    done += count;
    if (++steps == Flight::kMaxSteps || done == chunks) {
      if (!flight.run()) {
        return Outcome::kFailed;
      }
      steps = 0;
    }
  }
  return Outcome::kDone;
}

/// Returns pages of a chunk. The rank that makes the word full makes the chunk
/// whole, unless another rank takes pages in between. Then the return of these
/// pages does it.
Outcome PageRuns::return_pages(std::uint64_t chunk,
                               std::uint64_t mask) noexcept {
  std::uint64_t old = 0;
  Flight flight(memory_);
  flight.add(layout_.free_pages(chunk), mask, &old);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  if ((old | mask) != kAllPages) {
    return Outcome::kDone;
  }
  flight.cas(layout_.free_pages(chunk), kAllPages, 0, &old);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  return old == kAllPages ? return_chunks(chunk, 1) : Outcome::kDone;
}

}  // namespace acp::middle
