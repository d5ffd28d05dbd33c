// Tests of debug mode in this process's own memory.
#include "middle/malloc/debug_blocks.h"

#include <mutex>
#include <string_view>
#include <thread>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "middle/heap_in_memory.h"
#include "support/stderr_capture.h"

namespace acp::middle::test {

namespace {

std::mutex* g_turn = nullptr;  ///< The turn of the heap under test.
int g_reports = 0;             ///< Calls of look_at_turn().
bool g_is_turn_free = true;    ///< No report has found the turn held.

/// Called for each error line. Another thread tries the turn.
void look_at_turn(std::string_view) noexcept {
  ++g_reports;
  std::thread([] {
    const std::unique_lock turn(*g_turn, std::try_to_lock);
    g_is_turn_free = g_is_turn_free && turn.owns_lock();
  }).join();
}

}  // namespace

TEST_CASE("debug blocks: reports are written without the turn of the heap",
          "[malloc]") {
  HeapInMemory heap(std::uint64_t{1} << 20);
  PeerHeap peer(heap.memory, heap.layout, 0, nullptr);
  DebugBlocks blocks(0);
  std::uint64_t offset = 0;
  REQUIRE(blocks.allocate(peer, 100, nullptr, offset) == Outcome::kDone);
  g_turn = &peer.turn();
  g_reports = 0;
  g_is_turn_free = true;
  spmd::StderrCapture capture;
  set_error_action(look_at_turn);
  const FreeResult inside =
      blocks.free(peer, offset + 48, offset + 48, nullptr);
  const FreeResult first = blocks.free(peer, offset, offset, nullptr);
  const FreeResult second = blocks.free(peer, offset, offset, nullptr);
  set_error_action(nullptr);
  capture.stop();
  CHECK(inside == FreeResult::kWrong);
  CHECK(first == FreeResult::kDone);
  CHECK(second == FreeResult::kWrong);
  CHECK(g_reports == 2);
  CHECK(g_is_turn_free);
}

}  // namespace acp::middle::test
