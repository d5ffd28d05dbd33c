// Tests of acp/workspace.h, function by function, and against a plain array.
#include "acp/workspace.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

/// Parameters hold for workspaces that are created later, so every case sets
/// its own.
void set_parameters(std::size_t start, std::size_t part) {
  EXPECT_EQ(acp_setparams_ws(start, part), 0);
}

acp_wsd_t create(std::size_t size) {
  const acp_wsd_t ws = acp_create_ws(size);
  EXPECT(ws != ACP_WSD_NULL);
  return ws;
}

}  // namespace

SPMD_CASE(acp_create_ws_refuses, "acp_create_ws: no bytes, no memory") {
  const spmd::StderrCapture quiet;
  set_parameters(0, 0);
  EXPECT_FAILS(acp_create_ws(0), ACP_WSD_NULL, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_create_ws(SIZE_MAX), ACP_WSD_NULL, ACPX_NO_MEMORY);
  EXPECT_FAILS(acp_create_ws(std::size_t{1} << 50), ACP_WSD_NULL,
               ACPX_NO_MEMORY);
  // Only the last rank has too little memory: the call fails on all ranks.
  set_parameters(static_cast<std::size_t>(acp_procs()) - 1,
                 std::size_t{1} << 50);
  EXPECT_FAILS(acp_create_ws(std::size_t{1} << 45), ACP_WSD_NULL,
               ACPX_NO_MEMORY);
  set_parameters(0, 0);
  acp_destroy_ws(create(100));
}

// Each rank is the one that differs in turn, and then all differ. Afterwards
// ranks that agree have to get a workspace.
SPMD_CASE(acp_create_ws_refuses_differing,
          "acp_create_ws: ranks that want different ones") {
  if (acp_procs() == 1) {
    spmd::note_skip("needs 2 ranks");
    return;
  }
  const spmd::StderrCapture quiet;
  const auto me = static_cast<std::size_t>(acp_rank());
  const auto procs = static_cast<std::size_t>(acp_procs());
  for (std::size_t other = 0; other < procs; ++other) {
    EXPECT_FAILS(acp_create_ws(me == other ? 200 : 100), ACP_WSD_NULL,
                 ACPX_INVALID_ARGUMENT);
  }
  EXPECT_FAILS(acp_create_ws(100 * (1 + me)), ACP_WSD_NULL,
               ACPX_INVALID_ARGUMENT);
  set_parameters(me == 0 ? 0 : procs - 1, 0);
  EXPECT_FAILS(acp_create_ws(100), ACP_WSD_NULL, ACPX_INVALID_ARGUMENT);
  set_parameters(0, 0);
  acp_destroy_ws(create(100));
}

namespace {

/// Checks that the ranks' calls of acp_sync are in step with each other.
void expect_in_step() {
  static std::uint64_t round = 0;
  ++round;
  for (const std::uint64_t theirs : spmd::gather(round)) {
    EXPECT_EQ(theirs, round);
  }
}

}  // namespace

SPMD_CASE(acp_create_ws_refuses_one,
          "acp_create_ws: one rank's bad size fails on all, and acp_sync stays "
          "in step") {
  SPMD_NEEDS_RANKS(2);
  const spmd::StderrCapture quiet;
  set_parameters(0, 0);
  for (int bad = 0; bad < acp_procs(); bad += acp_procs() - 1) {
    for (const std::size_t size : {std::size_t{0}, SIZE_MAX}) {
      EXPECT_FAILS(acp_create_ws(acp_rank() == bad ? size : 100), ACP_WSD_NULL,
                   ACPX_INVALID_ARGUMENT);
      expect_in_step();
    }
  }
  acp_destroy_ws(create(100));
}

SPMD_CASE(
    acp_destroy_ws_refuses_one,
    "acp_destroy_ws: one rank's bad handle destroys nothing, and acp_sync "
    "stays in step") {
  const spmd::StderrCapture quiet;
  const spmd::Block block(spmd::Memory::kLibrary, 256);
  set_parameters(0, 0);
  const acp_wsd_t gone = create(100);
  acp_destroy_ws(gone);
  const auto procs = static_cast<std::size_t>(acp_procs());
  const acp_wsd_t ws = create(100 * procs);
  const acp_wsd_t other = create(100 * procs);
  // Each rank has bytes of its own.
  const std::size_t mine = 100 * static_cast<std::size_t>(acp_rank());
  for (const acp_wsd_t handle : {gone, ACP_WSD_NULL, acp_wsd_t{}, other}) {
    const bool is_bad = acp_rank() == acp_procs() - 1;
    if (handle == other && acp_procs() == 1) continue;
    EXPECT_ERRNO(acp_destroy_ws(is_bad ? handle : ws), ACPX_INVALID_ARGUMENT);
    expect_in_step();
    EXPECT_EQ(acp_write_ws(ws, block.mine(), 100, mine), 0);
    EXPECT_EQ(acp_write_ws(other, block.mine(), 100, mine), 0);
  }
  acp_sync();
  acp_errno = 0;
  acp_destroy_ws(ws);
  acp_destroy_ws(other);
  EXPECT_EQ(int{acp_errno}, 0);
}

SPMD_CASE(acp_setparams_ws_refuses, "acp_setparams_ws: a rank that is none") {
  const spmd::StderrCapture quiet;
  EXPECT_FAILS(acp_setparams_ws(static_cast<std::size_t>(acp_procs()), 0), 1,
               ACPX_BAD_RANK);
  EXPECT_FAILS(acp_setparams_ws(SIZE_MAX, 0), 1, ACPX_BAD_RANK);
}

// Offset and size are beyond the end alone and by a sum that wraps. The memory
// of the caller must not change.
SPMD_CASE(acp_read_ws_refuses,
          "acp_read_ws, acp_write_ws: beyond the end, no workspace") {
  const spmd::StderrCapture quiet;
  const spmd::Block block(spmd::Memory::kLibrary, 256);
  spmd::fill_pattern(block.bytes(), 1);
  set_parameters(0, 0);
  const acp_wsd_t ws = create(100);
  EXPECT_FAILS(acp_read_ws(ws, block.mine(), 101, 0), 1, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_read_ws(ws, block.mine(), 1, 100), 1, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_write_ws(ws, block.mine(), 2, SIZE_MAX), 1,
               ACPX_BAD_ADDRESS);
  EXPECT_FAILS(acp_write_ws(ws, block.mine(), SIZE_MAX, 2), 1,
               ACPX_BAD_ADDRESS);
  EXPECT_EQ(acp_read_ws(ws, block.mine(), 0, 100), 0);
  EXPECT_EQ(spmd::pattern_mismatch(block.bytes(), 1), block.size());
  acp_sync();
  acp_destroy_ws(ws);
  EXPECT_FAILS(acp_read_ws(ws, block.mine(), 1, 0), 1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_write_ws(ACP_WSD_NULL, block.mine(), 1, 0), 1,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_read_ws(nullptr, block.mine(), 1, 0), 1,
               ACPX_INVALID_ARGUMENT);
  acp_errno = 0;
  acp_destroy_ws(ws);
  EXPECT_EQ(acp_errno, int{ACPX_INVALID_ARGUMENT});
  acp_errno = 0;
}

SPMD_CASE(acp_write_ws_everywhere,
          "acp_write_ws: all bytes, any distribution, as an array") {
  const auto procs = static_cast<std::size_t>(acp_procs());
  auto random = spmd::random_of_job();
  const std::size_t parts[] = {0, 1, 7, 64, 1000, 4096, 1 << 20};
  for (const std::size_t part : parts) {
    const std::size_t size = part == 1 ? 40 : 1 + random() % 9000;
    set_parameters(random() % procs, part);
    const acp_wsd_t ws = create(size);
    const spmd::Block block(
        part % 2 == 0 ? spmd::Memory::kLibrary : spmd::Memory::kRegistered,
        2 * size);
    // Each rank writes every procs-th piece of some bytes.
    const std::size_t piece = 1 + random() % 500;
    const auto mine = static_cast<std::size_t>(acp_rank());
    spmd::fill_pattern(block.bytes().first(size), part);
    for (std::size_t at = mine * piece; at < size; at += procs * piece) {
      EXPECT_EQ(
          acp_write_ws(ws, block.mine(at), std::min(piece, size - at), at), 0);
    }
    acp_sync();
    for (int i = 0; i < 20; ++i) {
      const std::size_t at = random() % size;
      const std::size_t bytes = random() % (size - at + 1);
      std::memset(block.data() + size, 0x5a, size);
      EXPECT_EQ(acp_read_ws(ws, block.mine(size + at), bytes, at), 0);
      for (std::size_t j = 0; j < size; ++j) {
        EXPECT(block.data()[size + j] == (j >= at && j < at + bytes
                                              ? spmd::pattern_byte(part, j)
                                              : std::byte{0x5a}));
      }
    }
    acp_destroy_ws(ws);
  }
  set_parameters(0, 0);
}

SPMD_CASE(acp_read_ws_any_memory, "acp_read_ws: to memory of another rank") {
  set_parameters(0, 0);
  const spmd::Block block(spmd::Memory::kLibrary, 2048);
  spmd::fill_pattern(block.bytes().first(1024),
                     static_cast<std::uint64_t>(acp_rank()));
  const auto mine = static_cast<std::size_t>(acp_rank());
  const int right = spmd::right_of(acp_rank());
  const acp_wsd_t ws = create(1024 * static_cast<std::size_t>(acp_procs()));
  acp_sync();
  // Copies the right neighbour's bytes to this rank's part, and back to its
  // other half.
  EXPECT_EQ(acp_write_ws(ws, block.at(right), 1024, mine * 1024), 0);
  EXPECT_EQ(acp_read_ws(ws, block.at(right, 1024), 1024, mine * 1024), 0);
  acp_sync();
  EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(1024), mine),
            std::size_t{1024});
  acp_destroy_ws(ws);
}

SPMD_CASE(acp_create_ws_many, "acp_create_ws: many, and no leak") {
  set_parameters(0, 0);
  std::vector<acp_wsd_t> all;
  const std::size_t places = acp_procs() > 4 ? 8 : 256;
  for (std::size_t i = 0; i < places; ++i) {
    all.push_back(create(64 * (i + 1)));
  }
  if (places == 256) {
    const spmd::StderrCapture quiet;
    EXPECT_FAILS(acp_create_ws(64), ACP_WSD_NULL, ACPX_NO_MEMORY);
  }
  for (const acp_wsd_t ws : all) {
    acp_destroy_ws(ws);
  }
  // A create or destroy that kept its memory would use up the heap: each takes
  // a tenth.
  std::uint64_t heap = 0;
  EXPECT_EQ(acpx_setting("ACP_HEAP_SIZE", &heap), 0);
  const std::size_t times = spmd::scaled(acp_procs() > 4 ? 400 : 4'000, 20);
  for (std::size_t i = 0; i < times; ++i) {
    acp_destroy_ws(create(heap / 10 * static_cast<std::size_t>(acp_procs())));
  }
}
