// A full heap, for SPMD tests of calls that need memory.
#pragma once

#include <cstddef>
#include <vector>

#include "acp/malloc.h"
#include "support/spmd.h"
#include "support/stderr_capture.h"

namespace spmd {

/// Takes everything that a heap has, down to the smallest blocks, and the
/// cached blocks of each size. Gives it back at the end.
class HeapFiller {
 public:
  explicit HeapFiller(int rank) {
    const StderrCapture quiet;
    for (std::size_t size = std::size_t{8} << 20; size >= 16;
         size = size > 2048 ? size / 2 : size - 16) {
      for (;;) {
        const acp_ga_t ga = acp_malloc(size, rank);
        if (ga == ACP_GA_NULL) break;
        blocks_.push_back(ga);
      }
    }
    EXPECT_EQ(int{acp_errno}, ACPX_NO_MEMORY);
    acp_errno = 0;
  }

  HeapFiller(const HeapFiller&) = delete;
  HeapFiller& operator=(const HeapFiller&) = delete;

  ~HeapFiller() {
    for (const acp_ga_t ga : blocks_)
      acp_free(ga);
  }

 private:
  std::vector<acp_ga_t> blocks_;
};

}  // namespace spmd
