// Operations begin: checks that the caller can see, and chains that are held
// because they would bring nothing new. Called by fake_acp.cc, in a fiber.
#include <algorithm>

#include "explore/opcodes.h"
#include "explore/world.h"

namespace explore {

/// An error that the caller can see; 0: none.
int World::check(const acpx_op_t& op) const {
  const bool has_size = is_copy(op.opcode);
  if (op.opcode < ACPX_PUT || op.opcode > ACPX_SWAP8) {
    return ACPX_INVALID_ARGUMENT;
  }
  constexpr std::uint32_t kFlags = ACPX_SIGNAL | ACPX_MORE | ACPX_HOLD;
  if ((op.flags & ~kFlags) != 0 ||
      (has_size && (op.flags & ACPX_SIGNAL) != 0)) {
    return ACPX_INVALID_ARGUMENT;
  }
  if (has_size && op.size == 0) {
    return 0;
  }
  if (op.remote == ACP_GA_NULL) {
    return ACPX_BAD_ADDRESS;
  }
  if (memory_.rank_of(op.remote) < 0) {
    return ACPX_BAD_RANK;
  }
  const bool has_local = has_size || (is_atomic(op.opcode) && op.local != 0);
  if (!has_size && (op.remote % 8 != 0 || (has_local && op.local % 8 != 0))) {
    return ACPX_MISALIGNED;
  }
  if (!has_size && has_local && op.local == op.remote) {
    return ACPX_INVALID_ARGUMENT;
  }
  if (has_local && memory_.rank_of(op.local) != rank()) {
    return op.local == ACP_GA_NULL ? ACPX_BAD_ADDRESS : ACPX_BAD_RANK;
  }
  if (has_local && memory_.find(op.local, has_size ? op.size : 8) == nullptr) {
    return ACPX_BAD_ADDRESS;
  }
  return 0;
}

std::size_t World::new_chain(acp_handle_t order) {
  if (is_long_ && flying_.empty()) {
    chain_count_ = 0;  // no chain of before is looked at any more
  }
  if (chain_count_ == chains_.size()) {
    chains_.emplace_back();
  }
  const std::size_t number = chain_count_++;
  Chain& chain = chains_[number];
  RankState& state = state_[static_cast<std::size_t>(rank())];
  chain.rank = rank();
  chain.poster = running_;
  if (order == ACP_HANDLE_ALL || order == ACP_HANDLE_CONT) {
    order = state.issued;
  }
  chain.order = order > state.issued ? ACP_HANDLE_NULL : order;
  chain.handle = ++state.issued;
  chain.ops.clear();
  chain.is_copy = false;
  chain.step = 0;
  chain.done = 0;
  chain.has_arrived = false;
  chain.is_held = false;
  chain.looked_at = ACPX_MAX_STEPS;
  chain.failure = 0;
  chain.results.clear();
  chain.targets.clear();
  state.open.push_back(chain.handle);
  return number;
}

acp_handle_t World::post(const acpx_op_t* ops,
                         std::size_t count,
                         acp_handle_t order) {
  int failure = ops == nullptr || count == 0 || count > ACPX_MAX_STEPS
                    ? ACPX_INVALID_ARGUMENT
                    : 0;
  for (std::size_t i = 0; failure == 0 && i < count; ++i) {
    failure = check(ops[i]);
    if (failure == 0 &&
        memory_.rank_of(ops[i].remote) != memory_.rank_of(ops[0].remote)) {
      failure = ACPX_INVALID_ARGUMENT;
    }
    // The caller sees all memory of its host.
    const std::size_t bytes =
        failure == 0 && is_copy(ops[i].opcode) ? ops[i].size : 8;
    if (failure == 0 && mode_.is_near && bytes != 0 &&
        memory_.find(ops[i].remote, bytes) == nullptr) {
      failure = ACPX_BAD_ADDRESS;
    }
  }
  if (failure == 0 && is_ending_) {
    failure = ACPX_ABORTED;
  }
  if (failure != 0) {
    error() = failure;
    return ACP_HANDLE_NULL;
  }
  const std::size_t number = new_chain(order);
  chains_[number].ops.assign(ops, ops + count);
  return fly(number);
}

/// A copy between any two ranks, as a chain of one put whose `local` may be
/// anywhere. `behind` is an addition that follows it, or null.
acp_handle_t World::copy(acp_ga_t to,
                         acp_ga_t from,
                         std::size_t bytes,
                         acp_handle_t order,
                         const acpx_op_t* behind) {
  RankState& state = state_[static_cast<std::size_t>(rank())];
  int failure = 0;
  if (bytes != 0) {
    for (const acp_ga_t ga : {to, from}) {
      const bool is_visible = mode_.is_near || memory_.rank_of(ga) == rank();
      failure = failure != 0              ? failure
                : ga == ACP_GA_NULL       ? ACPX_BAD_ADDRESS
                : memory_.rank_of(ga) < 0 ? ACPX_BAD_RANK
                : is_visible && memory_.find(ga, bytes) == nullptr
                    ? ACPX_BAD_ADDRESS
                    : 0;
    }
  }
  if (failure == 0 && is_ending_) {
    failure = ACPX_ABORTED;
  }
  if (failure != 0) {
    error() = failure;
    return ACP_HANDLE_NULL;
  }
  if (bytes == 0 && behind == nullptr) {
    return state.issued == 0 ? ++state.issued : state.issued;
  }
  const std::size_t number = new_chain(order);
  Chain& chain = chains_[number];
  chain.is_copy = true;
  if (bytes != 0) {
    chain.ops.push_back({ACPX_PUT, 0, to, from, bytes, 0, 0});
  }
  if (behind != nullptr) {
    chain.ops.push_back(*behind);
  }
  return fly(number);
}

/// Where ranks share memory the chain is done before the call returns.
acp_handle_t World::fly(std::size_t number) {
  const acp_handle_t handle = chains_[number].handle;
  hold(chains_[number]);
  flying_.push_back(number);
  if (is_ordering_) {
    order_.fork(number_of(number));
  }
  if (mode_.is_near) {
    Wait wait;
    wait.kind = Wait::Kind::kChain;
    wait.chain = number;
    block(wait);
  }
  return handle;
}

/// A loop that waits for another rank posts one chain again and again. If such
/// a chain only reads, then it brings the old values until another rank has
/// written; it waits for that. A chain that writes may be repeated once.
void World::hold(Chain& chain) {
  Task& task = *running_;
  const auto are_equal = [](const acpx_op_t& a, const acpx_op_t& b) {
    return a.opcode == b.opcode && a.remote == b.remote && a.size == b.size &&
           a.operand == b.operand;
  };
  if (!std::equal(chain.ops.begin(), chain.ops.end(), task.newest.begin(),
                  task.newest.end(), are_equal)) {
    task.newest = chain.ops;
    task.repeats = 0;
    return;
  }
  ++task.repeats;
  const bool only_reads =
      std::all_of(chain.ops.begin(), chain.ops.end(),
                  [](const acpx_op_t& op) { return op.opcode == ACPX_GET; });
  chain.is_held = task.repeats > (only_reads ? 0U : 1U);
  chain.held_at = foreign_writes(chain.rank);
}

}  // namespace explore
