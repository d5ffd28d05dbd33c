// Tests of the promises that vectors and deques share. `S` names the functions
// of vectors or of deques: Handle, It, and each function without prefix and
// suffix.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "acp.h"
#include "acp/extension.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace sequence {

using Bytes = std::vector<std::byte>;

/// Memory of this rank to put from and to read to.
class Scratch {
 public:
  static constexpr std::size_t kBytes = 1 << 17;

  Scratch() : block_(spmd::Memory::kLibrary, kBytes) {}

  acp_ga_t ga(std::size_t at = 0) const { return block_.mine(at); }

  acp_ga_t of(int rank, std::size_t at = 0) const {
    return block_.at(rank, at);
  }

  std::byte* data() const { return block_.data(); }

  void get(acp_ga_t from, std::size_t bytes) const {
    if (bytes != 0) EXPECT_DONE(acp_copy(ga(), from, bytes, ACP_HANDLE_NULL));
  }

 private:
  spmd::Block block_;
};

/// Returns all bytes of a sequence.
template <typename S>
Bytes contents(const Scratch& scratch, typename S::Handle h) {
  const std::size_t size = S::size(h);
  EXPECT(size <= Scratch::kBytes);
  if (size != 0) scratch.get(S::at(h, 0), size);
  return Bytes(scratch.data(), scratch.data() + size);
}

template <typename S>
void expect_contents(const Scratch& scratch,
                     typename S::Handle h,
                     const Bytes& expected) {
  const Bytes found = contents<S>(scratch, h);
  EXPECT_EQ(found.size(), expected.size());
  EXPECT(found == expected);
}

template <typename S>
typename S::Handle share(typename S::Handle h, int from) {
  return {spmd::broadcast(h.ga, from)};
}

template <typename S>
typename S::It place(typename S::Handle h, std::size_t offset) {
  return S::advance(S::begin(h), static_cast<int>(offset));
}

// ---- Random operations against std::vector --------------------------------

/// Two sequences and their models.
template <typename S>
class Model {
 public:
  explicit Model(std::mt19937_64& random) : random_(random) {
    for (Pair& pair : pairs_) {
      const int rank = static_cast<int>(below(acp_procs()));
      const std::size_t size = below(100);
      pair.handle = S::create(size, rank);
      EXPECT(pair.handle.ga != ACP_GA_NULL);
      EXPECT_EQ(acp_query_rank(pair.handle.ga), rank);
      pair.bytes.assign(S::kHasSize ? size : 0, std::byte{0});
    }
  }

  ~Model() {
    for (Pair& pair : pairs_)
      S::destroy(pair.handle);
  }

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void step() {
    Pair& a = pairs_[below(2)];
    Pair& b = pairs_[below(2)];  // often the same
    switch (below(S::kHasFront ? 20 : 16)) {
      case 0:
      case 1:
      case 2:
      case 3: push(a); break;
      case 4:
      case 5: insert(a); break;
      case 6:
      case 7: erase(a); break;
      case 8: erase_range(a); break;
      case 9: insert_range(a, b); break;
      case 10: pop(a); break;
      case 11: assign(a, b); break;
      case 12: assign_range(a, b); break;
      case 13: swap(a, b); break;
      case 14: clear_or_reserve(a); break;
      case 15: insert_own(a); break;
      default: front(a); break;
    }
    // Keeps the sequence small, so that ends and empty sequences occur.
    if (a.bytes.size() > 3000) {
      S::pop_back(a.handle, a.bytes.size() - 10);
      a.bytes.resize(10);
    }
    check(a);
  }

  void check_all() {
    for (Pair& pair : pairs_)
      expect_contents<S>(scratch_, pair.handle, pair.bytes);
  }

 private:
  struct Pair {
    typename S::Handle handle{};
    Bytes bytes;
  };

  std::size_t below(std::size_t n) { return random_() % n; }

  /// The source is this rank's or the right neighbour's, and small or larger
  /// than a chain's scratch.
  acp_ga_t fresh(std::size_t size, Bytes& bytes) {
    bytes.resize(size);
    for (std::byte& one : bytes)
      one = static_cast<std::byte>(random_());
    const bool is_far = below(4) == 0;
    const std::size_t at = 50'000 + 1 * below(9);
    if (size != 0) std::memcpy(scratch_.data() + at, bytes.data(), size);
    const acp_ga_t own = scratch_.ga(at);
    if (!is_far || size == 0) return own;
    const acp_ga_t far =
        scratch_.of(spmd::right_of(acp_rank()), 80'000 + at % 9);
    EXPECT_DONE(acp_copy(far, own, size, ACP_HANDLE_NULL));
    return far;
  }

  std::size_t some_size() {
    return below(50) == 0 ? 9000 + below(1000) : below(8) == 0 ? 0 : below(70);
  }

  static auto offset(Bytes& bytes, std::size_t at) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(at);
  }

  void push(Pair& a) {
    Bytes bytes;
    const acp_ga_t ga = fresh(some_size(), bytes);
    S::push_back(a.handle, ga, bytes.size());
    a.bytes.insert(a.bytes.end(), bytes.begin(), bytes.end());
  }

  void insert(Pair& a) {
    Bytes bytes;
    const acp_ga_t ga = fresh(some_size(), bytes);
    const std::size_t at = below(a.bytes.size() + 1);
    const auto it = S::insert(place<S>(a.handle, at), ga, bytes.size());
    EXPECT_EQ(std::size_t(it.index), at);
    a.bytes.insert(offset(a.bytes, at), bytes.begin(), bytes.end());
  }

  /// A source within the sequence itself.
  void insert_own(Pair& a) {
    if (a.bytes.empty()) return;
    const std::size_t from = below(a.bytes.size());
    const std::size_t size =
        1 + below(std::min<std::size_t>(a.bytes.size() - from, 300));
    const std::size_t at = below(a.bytes.size() + 1);
    const acp_ga_t ga = S::at(a.handle, static_cast<int>(from));
    EXPECT(ga != ACP_GA_NULL);
    const Bytes bytes(offset(a.bytes, from), offset(a.bytes, from + size));
    S::insert(place<S>(a.handle, at), ga, size);
    a.bytes.insert(offset(a.bytes, at), bytes.begin(), bytes.end());
  }

  void erase(Pair& a) {
    const std::size_t at = below(a.bytes.size() + 1);
    const std::size_t size = below(100);
    const auto it = S::erase(place<S>(a.handle, at), size);
    EXPECT_EQ(std::size_t(it.index), at);
    a.bytes.erase(offset(a.bytes, at),
                  offset(a.bytes, std::min(at + size, a.bytes.size())));
  }

  std::pair<std::size_t, std::size_t> some_range(const Pair& a) {
    const std::size_t one = below(a.bytes.size() + 1);
    const std::size_t two = below(a.bytes.size() + 1);
    return {std::min(one, two),
            std::min(std::max(one, two), std::min(one, two) + 500)};
  }

  void erase_range(Pair& a) {
    const auto [start, end] = some_range(a);
    S::erase_range(place<S>(a.handle, start), place<S>(a.handle, end));
    a.bytes.erase(offset(a.bytes, start), offset(a.bytes, end));
  }

  void insert_range(Pair& a, Pair& b) {
    const auto [start, end] = some_range(b);
    const std::size_t at = below(a.bytes.size() + 1);
    S::insert_range(place<S>(a.handle, at), place<S>(b.handle, start),
                    place<S>(b.handle, end));
    const Bytes bytes(offset(b.bytes, start), offset(b.bytes, end));
    a.bytes.insert(offset(a.bytes, at), bytes.begin(), bytes.end());
  }

  void assign_range(Pair& a, Pair& b) {
    const auto [start, end] = some_range(b);
    S::assign_range(a.handle, place<S>(b.handle, start),
                    place<S>(b.handle, end));
    a.bytes = Bytes(offset(b.bytes, start), offset(b.bytes, end));
  }

  void pop(Pair& a) {
    const std::size_t size = below(120);
    S::pop_back(a.handle, size);
    a.bytes.resize(a.bytes.size() - std::min(size, a.bytes.size()));
  }

  void assign(Pair& a, Pair& b) {
    S::assign(a.handle, b.handle);
    a.bytes = Bytes(b.bytes);
  }

  void swap(Pair& a, Pair& b) {
    S::swap(a.handle, b.handle);
    if (&a != &b) std::swap(a.bytes, b.bytes);
  }

  void clear_or_reserve(Pair& a) {
    if (below(3) == 0) {
      S::clear(a.handle);
      a.bytes.clear();
      return;
    }
    const std::size_t size = below(5000);
    const std::size_t before = S::capacity(a.handle);
    S::reserve(a.handle, size);
    EXPECT(S::capacity(a.handle) >= std::max(before, size));
  }

  void front(Pair& a) {
    if constexpr (S::kHasFront) {
      const std::size_t size = below(120);
      if (below(2) == 0) {
        Bytes bytes;
        const acp_ga_t ga = fresh(some_size(), bytes);
        S::push_front(a.handle, ga, bytes.size());
        a.bytes.insert(a.bytes.begin(), bytes.begin(), bytes.end());
      } else if (below(2) == 0) {
        S::pop_front(a.handle, size);
        a.bytes.erase(a.bytes.begin(),
                      offset(a.bytes, std::min(size, a.bytes.size())));
      } else {
        take(a, size);
      }
    }
  }

  void take(Pair& a, std::size_t size) {
    if constexpr (S::kHasFront) {
      const bool is_front = below(2) == 0;
      const int taken = is_front ? S::take_front(a.handle, scratch_.ga(), size)
                                 : S::take_back(a.handle, scratch_.ga(), size);
      EXPECT_EQ(taken, size <= a.bytes.size() ? 1 : 0);
      if (taken == 0) return;
      const auto first =
          is_front ? a.bytes.begin() : offset(a.bytes, a.bytes.size() - size);
      const auto last = first + static_cast<std::ptrdiff_t>(size);
      EXPECT(std::equal(first, last, scratch_.data()));
      a.bytes.erase(first, last);
    }
  }

  void check(Pair& a) {
    EXPECT_EQ(int{acp_errno}, 0);
    EXPECT_EQ(S::size(a.handle), a.bytes.size());
    EXPECT_EQ(S::empty(a.handle), a.bytes.empty() ? 1 : 0);
    EXPECT(S::capacity(a.handle) >= a.bytes.size());
    EXPECT_EQ(S::distance(S::begin(a.handle), S::end(a.handle)),
              static_cast<int>(a.bytes.size()));
    if (below(4) == 0) expect_contents<S>(scratch_, a.handle, a.bytes);
    if (!a.bytes.empty()) {
      const std::size_t at = below(a.bytes.size());
      scratch_.get(S::dereference(place<S>(a.handle, at)), 1);
      EXPECT(scratch_.data()[0] == a.bytes[at]);
    }
  }

  std::mt19937_64& random_;
  Scratch scratch_;
  Pair pairs_[2];
};

/// Every rank has two sequences of its own, on random ranks, all at the same
/// time.
template <typename S>
void run_model() {
  auto random = spmd::random_of_rank();
  Model<S> model(random);
  const std::size_t count = spmd::scaled_flights(20'000);
  for (std::size_t i = 0; i < count; ++i)
    model.step();
  model.check_all();
  acp_sync();
}

// ---- All ranks at once ----------------------------------------------------

/// An element that tells the rank that pushed it, and its number there.
inline std::uint64_t element(std::size_t number) {
  return (static_cast<std::uint64_t>(acp_rank()) + 1) << 32 | number;
}

/// All words are there once, and each rank's in the order of its pushes.
inline void expect_all(const std::vector<std::uint64_t>& words,
                       std::size_t per_rank) {
  const auto procs = static_cast<std::size_t>(acp_procs());
  EXPECT_EQ(words.size(), procs * per_rank);
  std::vector<std::size_t> next(procs, 0);
  for (const std::uint64_t word : words) {
    const std::size_t rank = (word >> 32) - 1;
    EXPECT(rank < procs);
    EXPECT_EQ(word & 0xffff'ffff, next[rank]);
    ++next[rank];
  }
}

template <typename S>
std::vector<std::uint64_t> words_of(const Scratch& scratch,
                                    typename S::Handle h) {
  std::vector<std::uint64_t> words(S::size(h) / 8);
  std::size_t done = 0;
  while (done < words.size()) {
    const std::size_t some = std::min(words.size() - done, Scratch::kBytes / 8);
    scratch.get(S::at(h, static_cast<int>(done * 8)), some * 8);
    std::memcpy(&words[done], scratch.data(), some * 8);
    done += some;
  }
  return words;
}

/// The capacity is 0 at first, so the sequence grows while all ranks push.
template <typename S>
void run_push_contention() {
  const Scratch scratch;
  const int last = acp_procs() - 1;
  typename S::Handle h{};
  if (acp_rank() == 0) h = S::create(0, last);
  h = share<S>(h, 0);
  const std::size_t count = spmd::scaled_flights(100'000);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = element(i);
    std::memcpy(scratch.data(), &word, 8);
    S::push_back(h, scratch.ga(), 8);
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  EXPECT_EQ(S::size(h), count * 8 * static_cast<std::size_t>(acp_procs()));
  if (acp_rank() == 0) expect_all(words_of<S>(scratch, h), count);
  acp_sync();
  if (acp_rank() == last) S::destroy(h);
}

/// The even ranks push while the odd ones make changes that keep the number of
/// bytes: reserve, swap, assign from the sequence, and erase nothing.
template <typename S>
void run_changes_among_pushes() {
  SPMD_NEEDS_RANKS(2);
  const Scratch scratch;
  typename S::Handle h{};
  typename S::Handle other{};
  if (acp_rank() == 0) {
    h = S::create(0, 0);
    other = S::create(0, acp_procs() - 1);
  }
  h = share<S>(h, 0);
  other = share<S>(other, 0);
  const std::size_t count = spmd::scaled_flights(20'000);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = element(i);
    std::memcpy(scratch.data(), &word, 8);
    if (acp_rank() % 2 == 0) {
      S::push_back(h, scratch.ga(), 8);
    } else if (i % 3 == 0) {
      S::reserve(h, i * 8);
    } else if (i % 3 == 1) {
      S::assign(other, h);
    } else {
      S::swap(other, other);
      S::erase(S::begin(h), 0);
      S::pop_back(h, 0);
    }
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  const std::size_t pushers = (static_cast<std::size_t>(acp_procs()) + 1) / 2;
  EXPECT_EQ(S::size(h), count * 8 * pushers);
  acp_sync();
  if (acp_rank() == 0) {
    std::vector<std::size_t> next(static_cast<std::size_t>(acp_procs()), 0);
    for (const std::uint64_t word : words_of<S>(scratch, h)) {
      EXPECT_EQ(word & 0xffff'ffff, next.at((word >> 32) - 1)++);
    }
    S::destroy(h);
    S::destroy(other);
  }
  acp_sync();
}

/// swap(a, b) at the same time as swap(b, a), and inserts of one into the
/// other.
template <typename S>
void run_swap_contention() {
  const Scratch scratch;
  typename S::Handle h[2]{};
  if (acp_rank() == 0) {
    for (int i = 0; i < 2; ++i) {
      h[i] = S::create(0, i % acp_procs());
      std::memset(scratch.data(), 'a' + i, 8);
      for (int j = 0; j <= i; ++j)
        S::push_back(h[i], scratch.ga(), 8);
    }
  }
  h[0] = share<S>(h[0], 0);
  h[1] = share<S>(h[1], 0);
  const std::size_t count = spmd::scaled_flights(5'000);
  for (std::size_t i = 0; i < count; ++i) {
    const int first = (acp_rank() + static_cast<int>(i)) % 2;
    S::swap(h[first], h[1 - first]);
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  const std::size_t sizes[2] = {S::size(h[0]), S::size(h[1])};
  EXPECT_EQ(sizes[0] + sizes[1], std::size_t{24});
  EXPECT(sizes[0] == 8 || sizes[0] == 16);
  for (const auto& one : h) {
    const Bytes bytes = contents<S>(scratch, one);
    EXPECT(std::all_of(bytes.begin(), bytes.end(),
                       [&](std::byte b) { return b == bytes[0]; }));
  }
  acp_sync();
  if (acp_rank() == 0) {
    S::destroy(h[0]);
    S::destroy(h[1]);
  }
}

// ---- Bad input ------------------------------------------------------------

/// Calls each function with a number that is no handle.
template <typename S>
void expect_dead(const Scratch& scratch, typename S::Handle h) {
  const spmd::StderrCapture quiet;
  const int code = ACPX_INVALID_ARGUMENT;
  const auto it = S::begin(h);
  EXPECT_FAILS(S::size(h), std::size_t{0}, code);
  EXPECT_FAILS(S::capacity(h), std::size_t{0}, code);
  EXPECT_FAILS(S::empty(h), 1, code);
  EXPECT_FAILS(S::at(h, 0), ACP_GA_NULL, code);
  EXPECT_FAILS(S::dereference(it), ACP_GA_NULL, code);
  EXPECT_FAILS(S::end(h).index, 0, code);
  EXPECT_ERRNO(S::push_back(h, scratch.ga(), 8), code);
  EXPECT_ERRNO(S::push_back(h, scratch.ga(), 0), code);
  EXPECT_ERRNO(S::pop_back(h, 1), code);
  EXPECT_ERRNO(S::clear(h), code);
  EXPECT_ERRNO(S::reserve(h, 100), code);
  EXPECT_ERRNO(S::assign(h, h), code);
  EXPECT_ERRNO(S::swap(h, h), code);
  EXPECT_ERRNO(S::insert(it, scratch.ga(), 8), code);
  EXPECT_ERRNO(S::erase(it, 8), code);
  EXPECT_ERRNO(S::assign_range(h, it, it), code);
  EXPECT_ERRNO(S::insert_range(it, it, it), code);
  EXPECT_ERRNO(S::erase_range(it, it), code);
  EXPECT_ERRNO(S::destroy(h), code);
}

template <typename S>
void run_refuses_handles() {
  const Scratch scratch;
  acp_sync();
  expect_dead<S>(scratch, {ACP_GA_NULL});
  expect_dead<S>(scratch, {scratch.ga()});
  expect_dead<S>(scratch, {~acp_ga_t{0} >> 1});
  const int right = spmd::right_of(acp_rank());
  const auto h = S::create(100, right);
  const auto alive = S::create(0, right);
  S::push_back(alive, scratch.ga(), 16);
  S::destroy(h);
  expect_dead<S>(scratch, h);
  // Handles of another kind, and of a control that has a new use.
  acp_sync();
  for (int i = 0; i < 200; ++i)
    S::destroy(S::create(10, right));
  expect_dead<S>(scratch, h);
  EXPECT_EQ(S::size(alive), std::size_t{16});
  S::destroy(alive);
}

template <typename S>
void run_refuses_values() {
  const Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  const spmd::StderrCapture quiet;
  EXPECT_FAILS(S::create(8, -1).ga, ACP_GA_NULL, ACPX_BAD_RANK);
  EXPECT_FAILS(S::create(8, acp_procs()).ga, ACP_GA_NULL, ACPX_BAD_RANK);
  EXPECT_FAILS(S::create(SIZE_MAX, right).ga, ACP_GA_NULL, ACPX_TOO_LARGE);
  EXPECT_FAILS(S::create(std::size_t{1} << 45, right).ga, ACP_GA_NULL,
               ACPX_TOO_LARGE);
  const auto h = S::create(0, right);
  const auto other = S::create(0, acp_rank());
  Bytes bytes(20);
  spmd::fill_pattern({scratch.data(), 20}, 3);
  std::memcpy(bytes.data(), scratch.data(), 20);
  S::push_back(h, scratch.ga(), 20);
  const auto begin = S::begin(h);
  const auto beyond = S::advance(begin, 21);
  EXPECT_FAILS(S::at(h, 20), ACP_GA_NULL, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(S::at(h, -1), ACP_GA_NULL, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(S::at(h, INT_MAX), ACP_GA_NULL, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(S::dereference(S::end(h)), ACP_GA_NULL, ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(S::insert(beyond, scratch.ga(), 4), ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(S::erase(beyond, 1), ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(S::erase_range(begin, beyond), ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(S::erase_range(S::end(h), begin), ACPX_INVALID_ARGUMENT);
  EXPECT_ERRNO(S::erase_range(begin, S::end(other)), ACPX_INVALID_ARGUMENT);
  EXPECT_ERRNO(S::insert_range(S::begin(other), begin, beyond),
               ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(S::insert_range(beyond, begin, begin), ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(S::assign_range(other, begin, beyond), ACPX_BAD_ADDRESS);
  EXPECT_FAILS(S::distance(begin, S::begin(other)), 0, ACPX_INVALID_ARGUMENT);
  // Sources that cannot be read, of this rank and of another.
  EXPECT_ERRNO(S::push_back(h, ACP_GA_NULL, 8), ACPX_BAD_ADDRESS);
  EXPECT_ERRNO(S::insert(begin, ACP_GA_NULL, 8), ACPX_BAD_ADDRESS);
  acp_errno = 0;
  S::push_back(h, scratch.of(right) + (acp_ga_t{1} << 40), 8);
  EXPECT(acp_errno != 0);
  EXPECT_ERRNO(S::push_back(h, scratch.ga(), SIZE_MAX), ACPX_TOO_LARGE);
  EXPECT_ERRNO(S::reserve(h, SIZE_MAX), ACPX_TOO_LARGE);
  EXPECT_ERRNO(S::reserve(h, std::size_t{1} << 45), ACPX_TOO_LARGE);
  // No call has changed anything. Then the limits of iterators.
  EXPECT_EQ(S::advance(begin, INT_MIN).index, S::kHasFront ? -1 : 0);
  EXPECT_EQ(S::advance(S::advance(begin, INT_MAX), INT_MAX).index, INT_MAX);
  EXPECT_EQ(S::distance(S::end(h), begin), -20);
  expect_contents<S>(scratch, h, bytes);
  EXPECT_EQ(S::size(other), std::size_t{0});
  S::pop_back(h, SIZE_MAX);
  EXPECT_EQ(S::size(h), std::size_t{0});
  S::destroy(h);
  S::destroy(other);
}

/// A push that finds no memory disturbs no push of another rank.
template <typename S>
void run_no_memory() {
  const Scratch scratch;
  std::uint64_t heap = 0;
  EXPECT_EQ(acpx_setting("ACP_HEAP_SIZE", &heap), 0);
  typename S::Handle h{};
  if (acp_rank() == 0) h = S::create(0, 0);
  h = share<S>(h, 0);
  acp_ga_t large = ACP_GA_NULL;
  if (acp_rank() == 0) {
    large = acp_malloc(heap / 2, 0);
    EXPECT(large != ACP_GA_NULL);
  }
  acp_sync();
  const std::size_t count = spmd::scaled_flights(2'000);
  std::size_t failures = 0;
  {
    const spmd::StderrCapture quiet;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t word = element(i);
      std::memcpy(scratch.data(), &word, 8);
      acp_errno = 0;
      S::push_back(h, scratch.ga(), 8);
      EXPECT_EQ(int{acp_errno}, 0);
      if (i % 10 == 0) {
        S::reserve(h, heap / 4 * 3);
        EXPECT(acp_errno == ACPX_NO_MEMORY || acp_errno == ACPX_TOO_LARGE);
        ++failures;
      }
    }
  }
  acp_errno = 0;
  acp_sync();
  EXPECT(failures != 0);
  if (acp_rank() == 0) {
    expect_all(words_of<S>(scratch, h), count);
    acp_free(large);
    S::destroy(h);
  }
  acp_sync();
}

/// Makes and destroys structures on the neighbour's heap, and then allocates
/// nearly the whole heap. That fails if they have left blocks behind.
template <typename S>
void run_leak() {
  std::uint64_t heap = 0;
  EXPECT_EQ(acpx_setting("ACP_HEAP_SIZE", &heap), 0);
  const Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  const std::size_t count = spmd::scaled_flights(10'000);
  for (std::size_t i = 0; i < count; ++i) {
    const auto h = S::create(i % 300, right);
    EXPECT(h.ga != ACP_GA_NULL);
    if (i % 4 == 0) S::push_back(h, scratch.ga(), 1000);
    S::destroy(h);
  }
  EXPECT_EQ(acpx_trim_malloc(), 0);
  acp_sync();
  const acp_ga_t all = acp_malloc(heap - heap / 40, right);
  EXPECT(all != ACP_GA_NULL);
  acp_free(all);
  acp_sync();
}

}  // namespace sequence
