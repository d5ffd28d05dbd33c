// One rank's heap as another rank (or itself) can touch it: by loads, stores
// and CPU atomics where it is mapped here, and by chains where it is not. All
// that is above is written once, as flights.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acp/extension.h"

namespace acp::middle {

/// Where a heap is. A plain value.
struct HeapMemory {
  std::byte* direct = nullptr;  ///< Its first byte here; null: by chains.
  acp_ga_t base = ACP_GA_NULL;  ///< Its first byte.
  /// Of the caller's own heap, for chains: kScratchBytes.
  std::byte* scratch = nullptr;
  acp_ga_t scratch_ga = ACP_GA_NULL;

  /// A word of a heap that is mapped here.
  std::uint64_t load_direct(std::uint64_t offset) const noexcept {
    // Pairs with the stores and atomics of flights.
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(direct + offset))
        .load(std::memory_order_acquire);
  }
};

/// A few steps on one heap that do not depend on each other's results, done
/// together: one round trip where chains are used. Steps are applied in order
/// when they are at most ACPX_MAX_STEPS. Results are written by run(); direct
/// steps are done at once. One thread; by chains, one flight at a time for
/// each scratch.
class Flight {
 public:
  static constexpr std::size_t kMaxSteps = 64;

  // Its arrays are not cleared: that would cost more than most flights here.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  explicit Flight(const HeapMemory& memory) noexcept : memory_(memory) {}

  /// `bytes` (a multiple of 8, of words) from the heap; each word is whole.
  void get(std::uint64_t offset, void* to, std::size_t bytes) noexcept;
  /// The same into the heap.
  void put(std::uint64_t offset, const void* from, std::size_t bytes) noexcept;
  /// Compare and swap, add; `old` may be null.
  void cas(std::uint64_t offset,
           std::uint64_t expected,
           std::uint64_t desired,
           std::uint64_t* old) noexcept;
  void add(std::uint64_t offset,
           std::uint64_t addend,
           std::uint64_t* old) noexcept;

  /// Does the steps and waits; the flight is empty again. False: the job is
  /// ending or the caller is a progress step, acp_errno says; what was done is
  /// not known then.
  [[nodiscard]] bool run() noexcept;

 private:
  acpx_op_t& new_step(acpx_opcode_t opcode,
                      std::uint64_t offset,
                      void* result,
                      std::size_t bytes) noexcept;

  const HeapMemory& memory_;
  std::size_t steps_ = 0;
  std::size_t used_ = 0;  ///< Bytes of scratch.
  std::array<acpx_op_t, kMaxSteps> ops_;
  std::array<void*, kMaxSteps> results_;
};

}  // namespace acp::middle
