// Access to one rank's heap from any rank. It is by loads, stores and CPU
// atomics where the heap is mapped here, and by chains where it is not. The
// layers above are written once, with flights.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acp/extension.h"

namespace acp::middle {

/// Addresses of a heap. A plain value.
struct HeapMemory {
  /// First byte, where it is mapped; null: use chains.
  std::byte* direct = nullptr;
  acp_ga_t base = ACP_GA_NULL;  ///< Global address of the first byte.
  /// Scratch in the caller's own heap, for chains: kScratchBytes.
  std::byte* scratch = nullptr;
  acp_ga_t scratch_ga = ACP_GA_NULL;

  /// Reads a word of a heap that is mapped here.
  std::uint64_t load_direct(std::uint64_t offset) const noexcept {
    // Pairs with the stores and atomics of flights.
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(direct + offset))
        .load(std::memory_order_acquire);
  }
};

/// Steps on one heap that do not depend on each other's results and are done
/// together: one round trip where chains are used.
///
/// 1. Up to ACPX_MAX_STEPS steps are applied in order.
/// 2. Results are there after run(). On a mapped heap each step is done at
///    once.
/// 3. By chains, one flight at a time uses the scratch.
///
/// Used by one thread.
class Flight {
 public:
  /// Four chains. More steps per flight would need fewer round trips on large
  /// heaps, and longer arrays in each flight.
  static constexpr std::size_t kMaxSteps = 64;

  // The arrays are not cleared: clearing costs more than most flights.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  explicit Flight(const HeapMemory& memory) noexcept : memory_(memory) {}

  /// Reads `bytes` bytes, a multiple of 8. Each word is read whole.
  void get(std::uint64_t offset, void* to, std::size_t bytes) noexcept;
  /// Writes `bytes` bytes, a multiple of 8. Each word is written whole.
  void put(std::uint64_t offset, const void* from, std::size_t bytes) noexcept;
  /// Compare and swap, and addition. `old` may be null.
  void cas(std::uint64_t offset,
           std::uint64_t expected,
           std::uint64_t desired,
           std::uint64_t* old) noexcept;
  void add(std::uint64_t offset,
           std::uint64_t addend,
           std::uint64_t* old) noexcept;

  /// Does the steps and waits; the flight is empty again. False: the job is
  /// ending or the caller is a progress step, as acp_errno says. It is then not
  /// known which steps were done.
  [[nodiscard]] bool run() noexcept;

 private:
  acpx_op_t& new_step(acpx_opcode_t opcode,
                      std::uint64_t offset,
                      void* result,
                      std::size_t bytes) noexcept;

  const HeapMemory& memory_;
  std::size_t steps_ = 0;
  std::size_t used_ = 0;  ///< Bytes of scratch in use.
  std::array<acpx_op_t, kMaxSteps> ops_;
  std::array<void*, kMaxSteps> results_;
};

}  // namespace acp::middle
