// acp_create_ch when the heap is full: it fails, and leaves nothing behind.
// Heaps are small: middle/CMakeLists.txt sets ACP_HEAP_SIZE. No case comes
// before, so the numbers of the ends are known.
#include <cstdint>

#include "acp/channel.h"
#include "middle/heap_filler.h"
#include "support/spmd.h"
#include "support/stderr_capture.h"

namespace {

/// The number of an end of this rank, from 0. A handle has the number plus 1 in
/// its lowest 24 bits (src/middle/channel/handles.h).
std::uint64_t number_of_end(acp_ch_t ch) {
  return (reinterpret_cast<std::uint64_t>(ch) & 0xffffff) - 1;
}

}  // namespace

SPMD_CASE(create_ch_no_memory,
          "acp_create_ch: without memory it fails, and takes no end") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() < 2) {
    const acp_ch_t first = acp_create_ch(0, 1);
    EXPECT(first != ACP_CH_NULL);
    {
      const spmd::HeapFiller filler(acp_rank());
      const spmd::StderrCapture quiet;
      for (int i = 0; i < 5; ++i) {
        EXPECT_FAILS(acp_create_ch(0, 1), ACP_CH_NULL, ACPX_NO_MEMORY);
      }
    }
    const acp_ch_t second = acp_create_ch(0, 1);
    EXPECT(second != ACP_CH_NULL);
    EXPECT_EQ(number_of_end(second), number_of_end(first) + 1);
    for (const acp_ch_t ch : {first, second}) {
      std::uint64_t word = 17;
      const acp_request_t request = acp_rank() == 0
                                        ? acp_nbsend_ch(ch, &word, 8)
                                        : acp_nbrecv_ch(ch, &word, 8);
      EXPECT(acp_wait_ch(request) != SIZE_MAX);
      EXPECT_EQ(word, std::uint64_t{17});
      EXPECT_EQ(acp_free_ch(ch), 0);
    }
  }
  EXPECT_EQ(acp_sync(), 0);
}
