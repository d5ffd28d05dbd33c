// Tells a thread whether it was the last of its process to come to an element.
// Included by iterators.cc: only then may the thread use a size that it read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acp/global_memory.h"

namespace acp::middle::list {

/// The order in which the threads of a process come to elements, by reading a
/// link to them. An iterator is valid in the process that got it, and another
/// thread may dereference it. The memory of an element may be another element's
/// by then.
///
/// 1. A thread reads the time before it reads a link, and arrives after that.
/// 2. An arrival counts if no other thread has arrived at that slot since.
///    Otherwise that thread may have read the newer link.
/// 3. An arrival is the last until any thread arrives at that slot, or gets an
///    iterator in another way.
///
/// Several elements share a slot, which costs such elements a round trip.
/// Thread-safe. The order of all accesses is that of one thread after the other
/// (sequentially consistent): rule 2 compares two atomics.
class Arrivals {
 public:
  struct Time {
    std::uint64_t arrivals = 0;
    std::uint64_t others = 0;
  };

  /// The mark of an arrival that does not count.
  static constexpr std::uint64_t kNone = 0;

  Time now() const noexcept { return {clock_.load(), others_.load()}; }

  /// Returns a mark for is_last(), or kNone. `read_after` is the time before
  /// the link was read.
  std::uint64_t arrive(acp_ga_t element, const Time& read_after) noexcept {
    const std::uint64_t mark = clock_.fetch_add(1) + 1;
    const std::uint64_t before = slot(element).exchange(mark);
    return before <= read_after.arrivals ? mark : kNone;
  }

  bool is_last(acp_ga_t element,
               std::uint64_t mark,
               const Time& read_after) const noexcept {
    return mark != kNone && slots_[index(element)].last.load() == mark &&
           others_.load() == read_after.others;
  }

  /// A thread gets an iterator that no arrival tells of.
  void note_other() noexcept { others_.fetch_add(1); }

 private:
  static constexpr std::size_t kSlots = 64;

  struct alignas(64) Slot {
    std::atomic<std::uint64_t> last{0};  ///< The mark of the last arrival.
  };

  /// Elements are aligned to 16.
  static std::size_t index(acp_ga_t element) noexcept {
    return ((element >> 4) * 0x9e37'79b9'7f4a'7c15) >> 58;
  }

  std::atomic<std::uint64_t>& slot(acp_ga_t element) noexcept {
    return slots_[index(element)].last;
  }

  std::atomic<std::uint64_t> clock_{0};   ///< Arrivals so far.
  std::atomic<std::uint64_t> others_{0};  ///< Calls of note_other().
  std::array<Slot, kSlots> slots_{};
};

}  // namespace acp::middle::list
