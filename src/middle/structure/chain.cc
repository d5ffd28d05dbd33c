// Issues chains by acpx_post. Called by every operation of the data structures.
// A chain may have ACPX_MAX_STEPS steps at most: a longer one aborts the
// program. Nothing here locks, or reports a failure to the user: callers do.
#include "middle/structure/chain.h"

#include <algorithm>
#include <cstdlib>

#include "acp/gma.h"

namespace acp::middle::structure {

/// Only a wait needs the name of the call; most chains on this host are
/// complete already.
bool finish(acp_handle_t handle) {
  if (acpx_complete_timeout(handle, 0) == 0) {
    return true;
  }
  const NamedCall call;
  return acpx_complete_timeout(handle, -1) == 0 || !is_end_of_job(acp_errno);
}

std::uint64_t* Chain::get_cleared(acp_ga_t from, std::size_t bytes) {
  std::uint64_t* words = get(from, bytes);
  std::fill_n(words, bytes / 8, 0);
  return words;
}

void Chain::put_words(acp_ga_t to,
                      const std::uint64_t* words,
                      std::size_t count) {
  std::uint64_t* copy = scratch_.take(count * 8);
  std::copy_n(words, count, copy);
  put(to, scratch_.ga_of(copy), count * 8);
}

void Chain::step(acpx_opcode_t opcode,
                 acp_ga_t remote,
                 acp_ga_t local,
                 std::size_t bytes,
                 std::uint64_t operand,
                 std::uint64_t compare) {
  if (steps_ == ACPX_MAX_STEPS) {
    std::abort();  // this library never builds a longer chain
  }
  ops_[steps_++] = acpx_op_t{opcode, 0, remote, local, bytes, operand, compare};
}

acp_handle_t Chain::post(acp_handle_t order) {
  const std::size_t steps = steps_;
  steps_ = 0;
  return acpx_post(ops_.data(), steps, order);
}

}  // namespace acp::middle::structure
