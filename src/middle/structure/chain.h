// Builds and runs chains: up to 16 steps on one rank, applied in order, in one
// flight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "acp/extension.h"
#include "middle/end_of_job.h"
#include "middle/structure/site.h"

namespace acp::middle::structure {

/// Waits until `handle` and everything issued before it is complete. False: the
/// job is ending, and acp_errno says why. A failure of the program's own
/// earlier operations is left in acp_errno, as acp_complete does, and does not
/// count here.
[[nodiscard]] bool finish(acp_handle_t handle);

/// Builds and runs one chain after the other. From run() on the results lie in
/// the scratch, until the scratch is cleared. Used by one thread.
class Chain {
 public:
  // ops_ is not cleared: clearing costs more than most chains of this layer.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  explicit Chain(Scratch& scratch) : scratch_(scratch) {}

  std::uint64_t* get(acp_ga_t from, std::size_t bytes) {
    std::uint64_t* to = scratch_.take(bytes);
    get_to(from, scratch_.ga_of(to), bytes);
    return to;
  }

  /// Reads an address that the program gave. When the address cannot be read
  /// the chain ends at this step, run() does not say so, and the words are 0.
  std::uint64_t* get_cleared(acp_ga_t from, std::size_t bytes);

  void get_to(acp_ga_t from, acp_ga_t to, std::size_t bytes) {
    step(ACPX_GET, from, to, bytes, 0, 0);
  }

  void put(acp_ga_t to, acp_ga_t from, std::size_t bytes) {
    step(ACPX_PUT, to, from, bytes, 0, 0);
  }

  /// Copies the words into the scratch and puts them from there.
  void put_words(acp_ga_t to, const std::uint64_t* words, std::size_t count);

  void put8(acp_ga_t to, std::uint64_t value) {
    step(ACPX_PUT8, to, ACP_GA_NULL, 8, value, 0);
  }

  void add8(acp_ga_t word, std::uint64_t addend) {
    step(ACPX_ADD8, word, ACP_GA_NULL, 8, addend, 0);
  }

  /// The result is the old value, as for the four atomics below.
  std::uint64_t* fetch_add8(acp_ga_t word, std::uint64_t addend) {
    return atomic(ACPX_ADD8, word, addend, 0);
  }

  std::uint64_t* fetch_or8(acp_ga_t word, std::uint64_t mask) {
    return atomic(ACPX_OR8, word, mask, 0);
  }

  std::uint64_t* fetch_and8(acp_ga_t word, std::uint64_t mask) {
    return atomic(ACPX_AND8, word, mask, 0);
  }

  std::uint64_t* swap8(acp_ga_t word, std::uint64_t value) {
    return atomic(ACPX_SWAP8, word, value, 0);
  }

  std::uint64_t* cas8(acp_ga_t word,
                      std::uint64_t expected,
                      std::uint64_t desired) {
    return atomic(ACPX_CAS8, word, desired, expected);
  }

  /// Issues the steps and empties the chain. Returns ACP_HANDLE_NULL, with
  /// acp_errno set, when that fails.
  acp_handle_t post(acp_handle_t order = ACP_HANDLE_NULL);

  /// Issues a chain that may be sent together with the next operation
  /// (ACPX_MORE).
  acp_handle_t post_with_next() {
    ops_[0].flags = ACPX_MORE;
    return post();
  }

  /// Issues the steps and waits. False: as finish().
  [[nodiscard]] bool run() {
    const acp_handle_t handle = post();
    return handle != ACP_HANDLE_NULL && finish(handle);
  }

 private:
  void step(acpx_opcode_t opcode,
            acp_ga_t remote,
            acp_ga_t local,
            std::size_t bytes,
            std::uint64_t operand,
            std::uint64_t compare);

  std::uint64_t* atomic(acpx_opcode_t opcode,
                        acp_ga_t word,
                        std::uint64_t operand,
                        std::uint64_t compare) {
    std::uint64_t* old = scratch_.take(8);
    step(opcode, word, scratch_.ga_of(old), 8, operand, compare);
    return old;
  }

  Scratch& scratch_;
  std::size_t steps_ = 0;
  std::array<acpx_op_t, ACPX_MAX_STEPS> ops_;
};

}  // namespace acp::middle::structure
