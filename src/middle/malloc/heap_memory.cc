// Flights: steps on a heap that is mapped here or not. Called by PageRuns,
// Spans, PeerHeap and DebugBlocks, with the heap's turn held. A flight longer
// than its scratch aborts the program.
#include "middle/malloc/heap_memory.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "middle/malloc/layout.h"

namespace acp::middle {

namespace {

std::atomic_ref<std::uint64_t> word_at(std::byte* address) noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address));
}

int is_complete(void* handle) {
  return acp_inquire(*static_cast<const acp_handle_t*>(handle)) == 0 ? 1 : 0;
}

}  // namespace

acpx_op_t& Flight::new_step(acpx_opcode_t opcode,
                            std::uint64_t offset,
                            void* result,
                            std::size_t bytes) noexcept {
  if (steps_ == kMaxSteps || used_ + bytes > kScratchBytes) {
    std::abort();  // this library never builds a longer flight
  }
  results_[steps_] = result;
  acpx_op_t& op = ops_[steps_++];
  op = acpx_op_t{};
  op.opcode = opcode;
  op.remote = memory_.base + offset;
  op.local = bytes == 0 ? ACP_GA_NULL : memory_.scratch_ga + used_;
  op.size = bytes;
  used_ += bytes;
  return op;
}

void Flight::get(std::uint64_t offset, void* to, std::size_t bytes) noexcept {
  if (memory_.direct == nullptr) {
    new_step(ACPX_GET, offset, to, bytes);
    return;
  }
  auto* words = static_cast<std::uint64_t*>(to);
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    // Pairs with the stores of put() and the atomics below.
    words[i] = word_at(memory_.direct + offset + i * 8)
                   .load(std::memory_order_acquire);
  }
}

void Flight::put(std::uint64_t offset,
                 const void* from,
                 std::size_t bytes) noexcept {
  if (memory_.direct == nullptr) {
    std::memcpy(memory_.scratch + used_, from, bytes);
    new_step(ACPX_PUT, offset, nullptr, bytes);
    return;
  }
  const auto* words = static_cast<const std::uint64_t*>(from);
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    word_at(memory_.direct + offset + i * 8)
        .store(words[i], std::memory_order_release);
  }
}

void Flight::cas(std::uint64_t offset,
                 std::uint64_t expected,
                 std::uint64_t desired,
                 std::uint64_t* old) noexcept {
  if (memory_.direct == nullptr) {
    acpx_op_t& op = new_step(ACPX_CAS8, offset, old, old == nullptr ? 0 : 8);
    op.compare = expected;
    op.operand = desired;
    return;
  }
  word_at(memory_.direct + offset).compare_exchange_strong(expected, desired);
  if (old != nullptr) {
    *old = expected;
  }
}

void Flight::add(std::uint64_t offset,
                 std::uint64_t addend,
                 std::uint64_t* old) noexcept {
  if (memory_.direct == nullptr) {
    new_step(ACPX_ADD8, offset, old, old == nullptr ? 0 : 8).operand = addend;
    return;
  }
  const std::uint64_t before =
      word_at(memory_.direct + offset).fetch_add(addend);
  if (old != nullptr) {
    *old = before;
  }
}

/// Posts the steps in chains, waits for the last one, and copies the results
/// out of the scratch.
bool Flight::run() noexcept {
  acp_handle_t handle = ACP_HANDLE_NULL;
  for (std::size_t first = 0; first < steps_; first += ACPX_MAX_STEPS) {
    const std::size_t left = steps_ - first;
    handle =
        acpx_post(&ops_[first], left < ACPX_MAX_STEPS ? left : ACPX_MAX_STEPS,
                  ACP_HANDLE_NULL);
    if (handle == ACP_HANDLE_NULL) {
      return false;
    }
  }
  // acp_complete would collect failures of the program's own operations.
  if (steps_ != 0) {
    const char* before = acpx_enter_call("acp_malloc or acp_free");
    const int result = acpx_wait_until(is_complete, &handle, -1);
    acpx_leave_call(before);
    if (result != 0) {
      return false;
    }
  }
  for (std::size_t i = 0; i < steps_; ++i) {
    if (results_[i] != nullptr) {
      std::memcpy(results_[i],
                  memory_.scratch + (ops_[i].local - memory_.scratch_ga),
                  ops_[i].size);
    }
  }
  steps_ = 0;
  used_ = 0;
  return true;
}

}  // namespace acp::middle
