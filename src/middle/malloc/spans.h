// Small blocks of a heap: spans, runs of pages cut into blocks of one class,
// and for each class the list of spans that have free blocks. Lock-free, from
// any rank; docs/malloc.md has the states of a span.
#pragma once

#include <cstdint>
#include <span>

#include "middle/malloc/page_runs.h"

namespace acp::middle {

/// Some blocks of one span. A plain value.
struct Blocks {
  PageNumber head = 0;
  SizeClass size_class = 0;
  std::uint64_t mask = 0;
  std::uint64_t seen = 0;  ///< For giving back: the span's bits at last sight.
};

/// How many blocks to take at once.
enum class Amount : std::uint8_t {
  kOne,
  kSpan,  ///< All that a span has free.
};

/// The spans of one heap as one rank sees them. One thread at a time.
class Spans {
 public:
  Spans(const HeapMemory& memory, const HeapLayout& layout) noexcept
      : memory_(memory), layout_(layout), runs_(memory, layout) {}

  /// Blocks of the class, nobody else's from now on. May find blocks of
  /// another class: then `found` says so, and the caller has these as well
  /// and asks again.
  Outcome take(SizeClass size_class, Amount amount, Blocks& found) noexcept;

  /// Returns blocks, one entry for each span. Blocks that are free already
  /// stay as they are; `wrong` counts them.
  Outcome give_back(std::span<const Blocks> spans,
                    std::uint64_t& wrong) noexcept;

  /// The info of a page and, when it is a span's, the bits of that span: what
  /// freeing a block at an address takes, in one round trip.
  Outcome look_up(PageNumber page,
                  std::uint64_t& info,
                  std::uint64_t& bits) noexcept;

  /// Turns spans that are wholly free back into pages.
  Outcome sweep() noexcept;

  /// The word that tells whether others are sweeping.
  bool read_sweeps(std::uint64_t& word) noexcept;

  PageRuns& runs() noexcept { return runs_; }

  const HeapLayout& layout() const noexcept { return layout_; }

 private:
  /// A list's first span as it was read.
  struct Listed {
    std::uint64_t head = 0;  ///< The list's word.
    std::uint64_t bits = 0;
    std::uint64_t info = 0;
  };

  Outcome take_from(PageNumber head,
                    std::uint64_t seen_bits,
                    Amount amount,
                    Blocks& found) noexcept;
  Outcome unlist(SizeClass size_class, Listed& first) noexcept;
  Outcome make_span(SizeClass size_class,
                    Amount amount,
                    Blocks& found) noexcept;
  Outcome free_some(std::span<const Blocks> spans,
                    std::uint64_t& wrong) noexcept;
  Outcome list(SizeClass size_class,
               std::span<const PageNumber> heads) noexcept;
  Outcome dissolve(PageNumber head,
                   SizeClass size_class,
                   bool& is_dissolved) noexcept;
  Outcome sweep_class(SizeClass size_class) noexcept;
  Outcome detach(SizeClass size_class, std::uint64_t& head) noexcept;

  const HeapMemory& memory_;
  const HeapLayout& layout_;
  PageRuns runs_;
  std::uint32_t hints_[kClasses] = {};  ///< Page + 1 of a span with blocks.
};

}  // namespace acp::middle
