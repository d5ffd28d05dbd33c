// Small blocks of a heap. A span is a run of pages, divided into blocks of one
// class. Each class has a list of the spans that have free blocks. Lock-free,
// from any rank; docs/malloc.md has the states of a span, layout.h the
// invariants.
#pragma once

#include <cstdint>
#include <span>

#include "middle/malloc/page_runs.h"

namespace acp::middle {

/// Some blocks of one span, as bits of `mask`. A plain value.
struct Blocks {
  PageNumber head = 0;
  SizeClass size_class = 0;
  std::uint64_t mask = 0;
  /// The span's bits when last read; a hint for give_back().
  std::uint64_t seen = 0;
};

/// The number of blocks to take.
enum class Amount : std::uint8_t {
  kOne,
  kSpan,  ///< All free blocks of a span.
};

/// The spans of one heap as one rank sees them. One thread at a time.
class Spans {
 public:
  Spans(const HeapMemory& memory, const HeapLayout& layout) noexcept
      : memory_(memory), layout_(layout), runs_(memory, layout) {}

  /// Takes blocks of the class, which belong to the caller from now on. It may
  /// find blocks of another class, as `found` tells. The caller then owns these
  /// as well, and asks again.
  Outcome take(SizeClass size_class, Amount amount, Blocks& found) noexcept;

  /// Returns blocks, with one item for each span. Blocks that are free already
  /// are left alone and counted in `wrong`.
  Outcome give_back(std::span<const Blocks> spans,
                    std::uint64_t& wrong) noexcept;

  /// Reads the info of a page and, when it is a span's, the bits of that span,
  /// in one round trip. To free a block at an address needs no more.
  Outcome look_up(PageNumber page,
                  std::uint64_t& info,
                  std::uint64_t& bits) noexcept;

  /// Turns spans that are wholly free back into pages.
  Outcome sweep() noexcept;

  /// Reads the word that tells whether other ranks are sweeping.
  bool read_sweeps(std::uint64_t& word) noexcept;

  PageRuns& runs() noexcept { return runs_; }

 private:
  /// The first span of a list, as it was read.
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
  /// Page + 1 of a span that had free blocks, by class; 0: none.
  std::uint32_t hints_[kClasses] = {};
};

}  // namespace acp::middle
