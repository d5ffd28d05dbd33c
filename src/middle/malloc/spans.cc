// Spans: taking and returning small blocks, the lists of spans, and sweeps.
// Called by PeerHeap with the heap's turn held. The invariants of layout.h are
// kept here. Other ranks change the heap meanwhile, so only atomics may change
// the bits of a span and the word of a list.
#include "middle/malloc/spans.h"

#include <algorithm>
#include <array>
#include <bit>

namespace acp::middle {

namespace {

/// Spans that one flight lists: a link each, and the list's word.
constexpr std::size_t kListedAtOnce = ACPX_MAX_STEPS - 1;
/// Spans that one flight frees blocks of.
constexpr std::size_t kFreedAtOnce = ACPX_MAX_STEPS;

constexpr std::uint64_t next_head(std::uint64_t old,
                                  std::uint64_t link) noexcept {
  return ((old >> 32) + 1) << 32 | link;
}

/// The first span of a list's word. The list must not be empty.
constexpr PageNumber first_of(std::uint64_t head) noexcept {
  return (head & 0xffff'ffff) - 1;
}

constexpr bool is_empty(std::uint64_t head) noexcept {
  return (head & 0xffff'ffff) == 0;
}

}  // namespace

/// Tries the span of the last success, then the first spans of the list, then
/// makes a new span. Two round trips when the hint is right, three for the
/// list.
Outcome Spans::take(SizeClass size_class,
                    Amount amount,
                    Blocks& found) noexcept {
  std::uint32_t& hint = hints_[size_class];
  Listed first;
  Flight flight(memory_);
  flight.get(HeapLayout::span_list(size_class), &first.head, 8);
  std::uint64_t hint_bits = 0;
  if (hint != 0) {
    flight.get(layout_.bits_of(hint - 1), &hint_bits, 8);
  }
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  Outcome outcome = Outcome::kFull;
  if (hint != 0) {
    outcome = take_from(hint - 1, hint_bits, amount, found);
  }
  while (outcome == Outcome::kFull && !is_empty(first.head)) {
    const PageNumber head = first_of(first.head);
    flight.get(layout_.bits_of(head), &first.bits, 8);
    flight.get(layout_.info_of(head), &first.info, 8);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    outcome = take_from(head, first.bits, amount, found);
    if (outcome == Outcome::kFull) {
      outcome = unlist(size_class, first);
      if (outcome == Outcome::kDone) {
        outcome = Outcome::kFull;  // look at the next span of the list
      }
    }
  }
  if (outcome == Outcome::kFull) {
    outcome = make_span(size_class, amount, found);
  }
  if (outcome == Outcome::kDone) {
    hint = 0;  // the hint's page may be of another class by now
    hints_[found.size_class] = static_cast<std::uint32_t>(found.head + 1);
  }
  return outcome;
}

/// Takes free blocks at a page that was a span's head once. Invariant 3: if the
/// bits are not zero it is a span, and its info, read after the blocks are
/// taken, tells its class. Any page may therefore be tried.
Outcome Spans::take_from(PageNumber head,
                         std::uint64_t seen_bits,
                         Amount amount,
                         Blocks& found) noexcept {
  while (true) {
    const std::uint64_t free = seen_bits & ~kListed;
    if (free == 0) {
      return Outcome::kFull;
    }
    const std::uint64_t taken =
        amount == Amount::kOne ? free & (~free + 1) : free;
    std::uint64_t old = 0;
    std::uint64_t info_after = 0;
    Flight flight(memory_);
    flight.cas(layout_.bits_of(head), seen_bits, seen_bits & ~taken, &old);
    flight.get(layout_.info_of(head), &info_after, 8);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    if (old == seen_bits) {
      found = {head, info::size_class(info_after), taken, seen_bits & ~taken};
      return Outcome::kDone;
    }
    seen_bits = old;
  }
}

/// Takes the first span, which had no free blocks, off its list. Puts it back
/// when blocks were freed into it meanwhile. `first` is read again.
Outcome Spans::unlist(SizeClass size_class, Listed& first) noexcept {
  const PageNumber head = first_of(first.head);
  const std::uint64_t after = next_head(first.head, info::link(first.info));
  std::uint64_t old = 0;
  Flight flight(memory_);
  flight.cas(HeapLayout::span_list(size_class), first.head, after, &old);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  if (old != first.head) {
    first.head = old;
    return Outcome::kDone;
  }
  // Without kListed, the rank that frees the next block of it lists it again.
  std::uint64_t bits = 0;
  flight.cas(layout_.bits_of(head), kListed, 0, &bits);
  flight.get(HeapLayout::span_list(size_class), &first.head, 8);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  if (bits == kListed) {
    return Outcome::kDone;
  }
  const Outcome outcome = list(size_class, {&head, 1});
  flight.get(HeapLayout::span_list(size_class), &first.head, 8);
  return flight.run() ? outcome : Outcome::kFailed;
}

/// Makes a new span. All its blocks are the caller's, or all but one go to the
/// list.
Outcome Spans::make_span(SizeClass size_class,
                         Amount amount,
                         Blocks& found) noexcept {
  const ClassShape& shape = shape_of(size_class);
  PageNumber head = 0;
  const Outcome outcome = runs_.take(shape.span_pages, head);
  if (outcome != Outcome::kDone) {
    return outcome;
  }
  std::array<std::uint64_t, kPagesPerChunk> infos{};
  for (std::uint32_t i = 0; i < shape.span_pages; ++i) {
    infos[i] = info::span(size_class, i, 0);
  }
  const bool is_shared = amount == Amount::kOne;
  found = {head, size_class, is_shared ? 1 : shape.all_blocks(), 0};
  Flight flight(memory_);
  flight.put(layout_.info_of(head), infos.data(), 8 * shape.span_pages);
  if (is_shared) {
    flight.add(layout_.bits_of(head), kListed | (shape.all_blocks() & ~1ULL),
               nullptr);
  }
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  return is_shared ? list(size_class, {&head, 1}) : Outcome::kDone;
}

Outcome Spans::give_back(std::span<const Blocks> spans,
                         std::uint64_t& wrong) noexcept {
  while (!spans.empty()) {
    const std::size_t count = std::min(spans.size(), kFreedAtOnce);
    const Outcome outcome = free_some(spans.first(count), wrong);
    if (outcome != Outcome::kDone) {
      return outcome;
    }
    spans = spans.subspan(count);
  }
  return Outcome::kDone;
}

/// Sets the blocks' bits and kListed. The rank that sets kListed of a span
/// lists it, or dissolves it when all its blocks are free (invariant 2).
Outcome Spans::free_some(std::span<const Blocks> spans,
                         std::uint64_t& wrong) noexcept {
  std::array<std::uint64_t, kFreedAtOnce> bits{};
  std::array<std::uint64_t, kFreedAtOnce> seen{};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    bits[i] = spans[i].seen;  // a wrong guess costs as much as reading the bits
  }
  Flight flight(memory_);
  std::array<bool, kFreedAtOnce> is_done{};
  for (std::size_t left = spans.size(); left != 0;) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!is_done[i]) {
        seen[i] = bits[i];
        flight.cas(layout_.bits_of(spans[i].head), seen[i],
                   seen[i] | spans[i].mask | kListed, &bits[i]);
      }
    }
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!is_done[i] && bits[i] == seen[i]) {
        is_done[i] = true;
        --left;
      }
    }
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    wrong += static_cast<std::uint64_t>(std::popcount(seen[i] & spans[i].mask));
    if ((seen[i] & kListed) != 0) {
      continue;
    }
    const SizeClass size_class = spans[i].size_class;
    bool is_dissolved = false;
    Outcome outcome = Outcome::kDone;
    if ((seen[i] | spans[i].mask) == shape_of(size_class).all_blocks()) {
      outcome = dissolve(spans[i].head, size_class, is_dissolved);
    }
    if (outcome == Outcome::kDone && !is_dissolved) {
      outcome = list(size_class, {&spans[i].head, 1});
    }
    if (outcome != Outcome::kDone) {
      return outcome;
    }
  }
  return Outcome::kDone;
}

/// Puts spans whose kListed is set, and that are in no list, into their list.
Outcome Spans::list(SizeClass size_class,
                    std::span<const PageNumber> heads) noexcept {
  std::uint64_t head = 0;
  Flight flight(memory_);
  flight.get(HeapLayout::span_list(size_class), &head, 8);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  while (!heads.empty()) {
    const std::size_t count = std::min(heads.size(), kListedAtOnce);
    std::array<std::uint64_t, kListedAtOnce> infos{};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t link =
          i + 1 < count ? heads[i + 1] + 1 : head & 0xffff'ffff;
      infos[i] = info::span(size_class, 0, link);
      flight.put(layout_.info_of(heads[i]), &infos[i], 8);
    }
    const std::uint64_t expected = head;
    flight.cas(HeapLayout::span_list(size_class), expected,
               next_head(expected, heads[0] + 1), &head);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    if (head == expected) {
      head = next_head(expected, heads[0] + 1);
      heads = heads.subspan(count);
    }
  }
  return Outcome::kDone;
}

/// Returns the pages of a span whose kListed is set, that is in no list and
/// wholly free. Does nothing when a rank with an old hint has taken blocks of
/// it.
Outcome Spans::dissolve(PageNumber head,
                        SizeClass size_class,
                        bool& is_dissolved) noexcept {
  const ClassShape& shape = shape_of(size_class);
  const std::uint64_t full = shape.all_blocks() | kListed;
  std::uint64_t old = 0;
  Flight flight(memory_);
  flight.cas(layout_.bits_of(head), full, 0, &old);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  is_dissolved = old == full;
  if (!is_dissolved) {
    return Outcome::kDone;
  }
  static constexpr std::array<std::uint64_t, kPagesPerChunk> kNothing{};
  flight.put(layout_.info_of(head), kNothing.data(), 8 * shape.span_pages);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  return runs_.give_back(head, shape.span_pages);
}

Outcome Spans::look_up(PageNumber page,
                       std::uint64_t& info,
                       std::uint64_t& bits) noexcept {
  // The span's head is less than a chunk back, so its bits are among these.
  const PageNumber first =
      page < kPagesPerChunk ? 0 : page - (kPagesPerChunk - 1);
  std::array<std::uint64_t, kPagesPerChunk> near{};
  Flight flight(memory_);
  flight.get(layout_.info_of(page), &info, 8);
  flight.get(layout_.bits_of(first), near.data(), 8 * (page - first + 1));
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  bits = 0;
  if (info::is_span(info) && info::back(info) <= page - first) {
    bits = near[page - first - info::back(info)];
  }
  return Outcome::kDone;
}

bool Spans::read_sweeps(std::uint64_t& word) noexcept {
  Flight flight(memory_);
  flight.get(HeapLayout::sweeps(), &word, 8);
  return flight.run();
}

/// Counts itself in the sweeps word while it has lists in hand.
Outcome Spans::sweep() noexcept {
  Flight flight(memory_);
  flight.add(HeapLayout::sweeps(), 1, nullptr);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    const Outcome outcome = sweep_class(static_cast<SizeClass>(i));
    if (outcome != Outcome::kDone) {
      return outcome;
    }
  }
  flight.add(HeapLayout::sweeps(), (std::uint64_t{1} << 32) - 1, nullptr);
  return flight.run() ? Outcome::kDone : Outcome::kFailed;
}

/// Takes the whole list off, dissolves the spans that are free, and puts the
/// others back.
Outcome Spans::sweep_class(SizeClass size_class) noexcept {
  std::uint64_t head = 0;
  Outcome outcome = detach(size_class, head);
  const std::uint64_t full = shape_of(size_class).all_blocks() | kListed;
  std::array<PageNumber, kListedAtOnce> kept{};
  std::size_t kept_count = 0;
  while (outcome == Outcome::kDone && !is_empty(head)) {
    const PageNumber page = first_of(head);
    std::uint64_t bits = 0;
    std::uint64_t info = 0;
    Flight flight(memory_);
    flight.get(layout_.bits_of(page), &bits, 8);
    flight.get(layout_.info_of(page), &info, 8);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    head = info::link(info);
    bool is_dissolved = false;
    if (bits == full) {
      outcome = dissolve(page, size_class, is_dissolved);
    }
    if (!is_dissolved) {
      kept[kept_count++] = page;
    }
    if (outcome == Outcome::kDone && kept_count == kept.size()) {
      outcome = list(size_class, kept);
      kept_count = 0;
    }
  }
  if (outcome == Outcome::kDone && kept_count != 0) {
    outcome = list(size_class, {kept.data(), kept_count});
  }
  return outcome;
}

/// Empties a list and returns its old head.
Outcome Spans::detach(SizeClass size_class, std::uint64_t& head) noexcept {
  Flight flight(memory_);
  flight.get(HeapLayout::span_list(size_class), &head, 8);
  if (!flight.run()) {
    return Outcome::kFailed;
  }
  while (!is_empty(head)) {
    const std::uint64_t expected = head;
    flight.cas(HeapLayout::span_list(size_class), expected,
               next_head(expected, 0), &head);
    if (!flight.run()) {
      return Outcome::kFailed;
    }
    if (head == expected) {
      break;
    }
  }
  return Outcome::kDone;
}

}  // namespace acp::middle
