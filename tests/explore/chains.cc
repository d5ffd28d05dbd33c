// Operations under way. Every step of a chain is a step of the schedule, at the
// memory of its target. Its results and its completion are one more. Runs
// outside of all fibers.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "explore/opcodes.h"
#include "explore/world.h"

namespace explore {

namespace {

const char* name_of(acpx_opcode_t opcode) {
  switch (opcode) {
    case ACPX_PUT: return "put";
    case ACPX_PUT8: return "put8";
    case ACPX_GET: return "get";
    case ACPX_ADD8: return "add8";
    case ACPX_CAS8: return "cas8";
    case ACPX_AND8: return "and8";
    case ACPX_OR8: return "or8";
    case ACPX_XOR8: return "xor8";
    case ACPX_SWAP8: return "swap8";
  }
  return "?";
}

std::uint64_t word_at(const std::byte* at, std::size_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, std::min<std::size_t>(bytes, 8));
  return word;
}

}  // namespace

bool World::may_step(const Chain& chain) const {
  if (is_held(chain)) {
    return false;
  }
  const RankState& state = state_[static_cast<std::size_t>(chain.rank)];
  return chain.step != 0 || chain.done != 0 || chain.order == 0 ||
         state.open.front() > chain.order;
}

/// Does the next step, and the steps around it that no other rank can notice.
/// The last step brings the completion at once if the poster waits; it then
/// goes on at once, because that touches nothing that others see.
void World::step_chain(std::size_t number) {
  Chain& chain = chains_[number];
  const std::uint32_t process = number_of(number);
  if (is_ordering_) {
    order_.begin(process);
  }
  const auto is_last = [&] {
    return chain.step == chain.ops.size() || chain.failure != 0;
  };
  if (is_last()) {
    note_step(process, chain.rank);
    arrive(number);
  } else {
    bool has_seen = false;  // a step that others can notice
    do {
      has_seen = has_seen || is_visible(chain);
      note_step(process, chain.rank);
      const RankState& state = state_[static_cast<std::size_t>(chain.rank)];
      if (chain.step == 0 && chain.order != 0 && state.failure != 0 &&
          state.failed <= chain.order) {
        chain.failure = ACPX_ORDER_FAILED;
      } else if (!do_step(chain, number)) {
        chain.failure = ACPX_BAD_ADDRESS;
      }
    } while (is_ordering_ && !contention_.is_everything() && !is_last() &&
             !(has_seen && is_visible(chain)));
    const Wait::Kind kind = chain.poster->wait.kind;
    if (is_last() && kind != Wait::Kind::kReady && kind != Wait::Kind::kOver &&
        kind != Wait::Kind::kSteps) {
      arrive(number);
    }
  }
  if (is_ordering_) {
    order_.end();
  }
  Task& poster = *chain.poster;
  if (chain.has_arrived && is_ready(poster)) {
    run_task(poster);
  }
}

/// The order in which a step copies its units. Ranges that overlap are copied
/// as memmove does. An order of the mode "any" depends on the chain's place
/// among those of its rank, so that schedules that are equal have equal orders.
void World::arrange(Chain& chain, Arrangement arrangement) const {
  std::vector<std::uint32_t>& order = chain.arranged;
  if (arrangement == Arrangement::kAny) {
    constexpr Arrangement kAll[] = {
        Arrangement::kForwards, Arrangement::kBackwards,
        Arrangement::kEvenFirst, Arrangement::kOddFirst};
    arrangement = kAll[(chain.handle + chain.step + mode_.seed) % 4];
  }
  std::iota(order.begin(), order.end(), 0U);
  if (arrangement == Arrangement::kBackwards) {
    std::reverse(order.begin(), order.end());
  } else if (arrangement != Arrangement::kForwards) {
    const std::uint32_t first = arrangement == Arrangement::kEvenFirst ? 0 : 1;
    std::stable_partition(order.begin(), order.end(), [=](std::uint32_t unit) {
      return unit % 2 == first;
    });
  }
}

/// Notes for each unit of the next step, in the order of copying, whether it is
/// contended. Done once for each step.
void World::look_at_units(Chain& chain) const {
  if (chain.looked_at == chain.step) {
    return;
  }
  chain.looked_at = chain.step;
  chain.seen.clear();
  const acpx_op_t& op = chain.ops[chain.step];
  const std::size_t bytes = is_copy(op.opcode) ? op.size : 8;
  const std::byte* remote = memory_.find(op.remote, bytes);
  const std::byte* local =
      op.opcode == ACPX_PUT ? memory_.find(op.local, bytes) : nullptr;
  const bool overlaps =
      local != nullptr && remote < local + bytes && local < remote + bytes;
  // An aligned copy of 8 bytes is seen whole.
  chain.unit = bytes > 8 ? mode_.unit_bytes : 8;
  chain.arranged.resize(
      remote == nullptr ? 0 : (bytes + chain.unit - 1) / chain.unit);
  arrange(chain, overlaps && remote > local ? Arrangement::kBackwards
                 : overlaps                 ? Arrangement::kForwards
                 : op.opcode == ACPX_GET    ? mode_.gets
                                            : mode_.puts);
  for (const std::uint32_t unit : chain.arranged) {
    const std::size_t at = unit * chain.unit;
    const std::size_t some = std::min(chain.unit, bytes - at);
    chain.seen.push_back((op.flags & ACPX_SIGNAL) != 0 ||
                         is_contended(remote + at, some) ||
                         (local != nullptr && is_contended(local + at, some)));
  }
}

/// Whether the rest of the next step accesses a contended word.
bool World::is_visible(Chain& chain) const {
  look_at_units(chain);
  return std::find(chain.seen.begin() + static_cast<std::ptrdiff_t>(chain.done),
                   chain.seen.end(), true) != chain.seen.end();
}

/// Does one step at the target, and tells the target. False: the step has
/// failed, because no memory is there.
bool World::do_step(Chain& chain, std::size_t number) {
  const acpx_op_t& op = chain.ops[chain.step];
  const std::size_t bytes = is_copy(op.opcode) ? op.size : 8;
  std::byte* remote = bytes == 0 ? nullptr : memory_.find(op.remote, bytes);
  if (bytes != 0 && remote == nullptr) {
    return false;
  }
  TraceLine line;
  if (trace_ != nullptr) {
    line = {steps_,
            time_,
            chain.rank,
            name_of(op.opcode),
            op.remote,
            bytes,
            bytes == 0 ? 0 : word_at(remote, bytes),
            0};
  }
  bool is_done = true;
  if (op.opcode == ACPX_PUT && bytes != 0) {
    const std::byte* from = memory_.find(op.local, bytes);
    if (from == nullptr) {
      return false;
    }
    is_done = copy_bytes(chain, remote, from, bytes);
  } else if (op.opcode == ACPX_GET && bytes != 0) {
    if (chain.done == 0) {
      take_result(chain, op, nullptr, bytes);
    }
    is_done = copy_bytes(chain, nullptr, remote, bytes);
  } else if (!is_copy(op.opcode)) {
    change_word(chain, op, remote);
  }
  if (trace_ != nullptr) {
    line.after = bytes == 0 ? 0 : word_at(remote, bytes);
    line.what += " of chain " + std::to_string(number);
    trace_->push_back(line);
  }
  if (is_done) {
    chain.done = 0;
    ++chain.step;
  }
  if (op.opcode != ACPX_GET && bytes != 0) {
    ++writes_;
    ++state_[static_cast<std::size_t>(chain.rank)].writes;
    const int at = rank_at(remote);
    if (at >= 0 && at != chain.rank) {
      tell(at, (op.flags & ACPX_SIGNAL) != 0);
    } else if (at == chain.rank && (op.flags & ACPX_SIGNAL) != 0) {
      tell(at, true);
    }
  }
  return true;
}

/// Copies all bytes. When copies are torn: up to the next contended unit, in
/// the order of the mode. `to` null: to the newest result. False: units are
/// left.
bool World::copy_bytes(Chain& chain,
                       std::byte* to,
                       const std::byte* from,
                       std::size_t bytes) {
  std::byte* target =
      to != nullptr ? to : chain.results.data() + chain.targets.back().from;
  const auto copy = [&](std::size_t at, std::size_t some) {
    if (is_ordering_) {
      touch(from + at, some, false, user_of(chain));
      if (to != nullptr) {
        touch(to + at, some, true, user_of(chain));
      }
    }
    std::memmove(target + at, from + at, some);
  };
  if (!mode_.is_torn) {
    copy(0, bytes);
    return true;
  }
  look_at_units(chain);
  const std::vector<std::uint32_t>& order = chain.arranged;
  std::size_t end = chain.done;
  bool has_seen = false;
  while (end < order.size() && !(has_seen && chain.seen[end])) {
    has_seen = has_seen || chain.seen[end];
    ++end;
  }
  // Each unit is a step when all words are contended.
  for (std::size_t more = chain.done + 1; more < end; ++more) {
    note_step(number_of(static_cast<std::size_t>(&chain - chains_.data())),
              chain.rank);
  }
  while (chain.done < end) {
    const std::size_t at = order[chain.done] * chain.unit;
    std::size_t some = chain.unit;
    while (++chain.done < end && order[chain.done] * chain.unit == at + some) {
      some += chain.unit;
    }
    copy(at, std::min(some, bytes - at));
  }
  return chain.done >= order.size();
}

/// Does a put8 or an atomic. The old value is a result.
void World::change_word(Chain& chain, const acpx_op_t& op, std::byte* at) {
  std::uint64_t old = 0;
  std::memcpy(&old, at, 8);
  std::uint64_t value = op.operand;
  switch (op.opcode) {
    case ACPX_ADD8: value = old + op.operand; break;
    case ACPX_CAS8: value = old == op.compare ? op.operand : old; break;
    case ACPX_AND8: value = old & op.operand; break;
    case ACPX_OR8: value = old | op.operand; break;
    case ACPX_XOR8: value = old ^ op.operand; break;
    default: break;
  }
  if (is_ordering_) {
    touch(at, 8, op.opcode != ACPX_CAS8 || value != old, user_of(chain));
  }
  std::memcpy(at, &value, 8);
  if (is_ordering_ && watcher_ != nullptr) {
    watcher_->on_change({chain.poster, chain.rank, op, old, chain.ops});
  }
  if (is_atomic(op.opcode) && op.local != ACP_GA_NULL) {
    take_result(chain, op, &old, 8);
  }
}

/// Makes room for a result, which arrives with the completion.
void World::take_result(Chain& chain,
                        const acpx_op_t& op,
                        const void* from,
                        std::size_t bytes) {
  const std::size_t at = chain.results.size();
  chain.results.resize(at + bytes);
  chain.targets.push_back({memory_.find(op.local, bytes), at, bytes});
  if (from != nullptr) {
    std::memcpy(chain.results.data() + at, from, bytes);
  }
}

/// The results come together, and the handle is complete. A chain that has
/// failed brings the results of the steps before.
void World::arrive(std::size_t number) {
  Chain& chain = chains_[number];
  if (is_ordering_) {
    order_.write(local_word(chain.rank));
  }
  for (const Chain::Result& result : chain.targets) {
    if (result.to != nullptr) {
      if (is_ordering_) {
        touch(result.to, result.bytes, true, user_of(chain));
      }
      std::memcpy(result.to, chain.results.data() + result.from, result.bytes);
    }
  }
  RankState& state = state_[static_cast<std::size_t>(chain.rank)];
  std::erase(state.open, chain.handle);
  if (chain.failure != 0 &&
      (state.failure == 0 || chain.handle < state.failed)) {
    state.failure = chain.failure;
    state.failed = chain.handle;
  }
  chain.has_arrived = true;
  std::erase(flying_, number);
  ++state.events;
}

}  // namespace explore
