// The queue of the threads that wait for a lock of a data structure. Called by
// the locks. A waiter sleeps on a word of its own rank; the waiter before it,
// or a holder, changes that word. No step of this file looks at a lock: the
// lock's owner builds the chains.
#include "middle/structure/wait_queue.h"

#include <atomic>
#include <string>

#include "middle/log.h"

namespace acp::middle::structure {

namespace {

/// A line appears each ten seconds: soon enough for a user who watches, and too
/// seldom to fill a log. The front also looks at its lock then, by which the
/// line has the newest holder.
constexpr int kPerReportMs = 10'000;

/// Values of WaitNode::state.
constexpr std::uint64_t kBehind = 0;
constexpr std::uint64_t kFront = 1;

std::uint64_t load(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word))
      .load(std::memory_order_acquire);  // partner: the signal of another rank
}

void store(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

/// Address of a waiter's node, or ACP_GA_NULL when no thread has that number.
acp_ga_t node_of(const Site& site, std::uint64_t waiter) {
  const std::uint64_t index = waiter - 1;
  const std::uint64_t rank = index / kScratches;
  return rank < static_cast<std::uint64_t>(site.procs())
             ? site.memory_of(static_cast<int>(rank)) + kNodesOffset +
                   index % kScratches * sizeof(WaitNode)
             : ACP_GA_NULL;
}

bool signal(acpx_opcode_t opcode, acp_ga_t word, std::uint64_t value) {
  acpx_op_t op{};
  op.opcode = opcode;
  op.flags = ACPX_SIGNAL;
  op.remote = word;
  op.size = 8;
  op.operand = value;
  return acpx_post(&op, 1, ACP_HANDLE_NULL) != ACP_HANDLE_NULL;
}

}  // namespace

bool wake_front(const Site& site, std::uint64_t front) {
  const acp_ga_t node = front == 0 ? ACP_GA_NULL : node_of(site, front);
  return node == ACP_GA_NULL ||
         signal(ACPX_ADD8, node + offsetof(WaitNode, looks), 1);
}

void Turn::want(Scratch& scratch,
                acp_ga_t queue,
                const char* what,
                acp_ga_t where) {
  scratch_ = &scratch;
  queue_ = queue;
  what_ = what;
  where_ = where;
  me_ = static_cast<std::uint64_t>(scratch.site().rank()) * kScratches +
        scratch.index() + 1;
}

/// Reads the number of wake-ups first: one that comes after the try has to end
/// the next wait.
void Turn::announce_in(Chain& chain) {
  if (__builtin_expect(is_front_, 0)) {
    looks_ = load(scratch_->node().looks);
    chain.put8(front_word(), me_);
  }
}

bool Turn::wait(std::uint64_t holder) {
  return is_front_ ? wait_word(offsetof(WaitNode, looks), looks_, holder)
                   : join();
}

/// Swaps itself in as the tail. The waiter that was the tail before gets to
/// know its successor, and makes it the front when it leaves.
bool Turn::join() {
  WaitNode& node = scratch_->node();
  store(node.state, kBehind);
  store(node.next, 0);
  scratch_->clear();
  Chain chain(*scratch_);
  const std::uint64_t* old = chain.swap8(tail_word(), me_);
  if (!chain.run()) {
    return false;
  }
  const acp_ga_t before =
      *old == 0 ? ACP_GA_NULL : node_of(scratch_->site(), *old);
  if (before != ACP_GA_NULL) {
    if (!signal(ACPX_PUT8, before + offsetof(WaitNode, next), me_)) {
      return false;
    }
    while (load(node.state) == kBehind) {
      if (!wait_word(offsetof(WaitNode, state), kBehind, 0)) {
        return false;
      }
    }
  }
  is_front_ = true;
  return true;
}

/// Waits as other waits of this library do (ACP_WAIT), and not without end: a
/// front that has waited long looks again, and the line appears. `offset` is
/// that of the word in the node.
bool Turn::wait_word(std::size_t offset,
                     std::uint64_t unlike,
                     std::uint64_t holder) {
  const NamedCall call;
  const int result = acpx_wait_word(scratch_->node_ga() + offset, unlike,
                                    kPerReportMs, nullptr);
  if (result == 1) {
    log_warning(
        "{} at {:#x}: waiting for {} s for {}; acprun --watchdog ends a job "
        "that stands still",
        what_, where_, ++reports_ * (kPerReportMs / 1000),
        holder == 0 || holder >= kForQueue
            ? std::string("others that came before")
            : fmt::format("rank {}", holder - 1));
  }
  return result >= 0;
}

void Turn::take(std::uint64_t tail) {
  has_others_ = tail != 0 && tail != me_;
}

/// A front without a successor empties the queue. Front comes before tail, so a
/// waiter that finds the queue empty finds no front, and its own word stays.
void Turn::leave_in(Chain& chain) {
  old_tail_ = nullptr;
  if (__builtin_expect(is_front_, 0)) {
    has_others_ = has_others_ || load(scratch_->node().next) != 0;
    if (!has_others_) {
      chain.put8(front_word(), 0);
      old_tail_ = chain.cas8(tail_word(), me_, 0);
    }
  }
}

/// A front that knows of others need not look: no other waiter is the front.
void Turn::look_in(Chain& chain) {
  front_seen_ = is_front_ && has_others_ ? nullptr : chain.get(front_word(), 8);
}

void Turn::pass() {
  const bool has_successor =
      is_front_ && (old_tail_ == nullptr || *old_tail_ != me_);
  if (__builtin_expect(front_seen_ != nullptr && *front_seen_ != 0, 0)) {
    wake_front(scratch_->site(), *front_seen_);
  }
  front_seen_ = nullptr;
  is_front_ = false;
  if (__builtin_expect(has_successor, 0)) {
    // The successor has swapped itself in. Its number may still be on its way.
    const WaitNode& node = scratch_->node();
    while (load(node.next) == 0) {
      if (!wait_word(offsetof(WaitNode, next), 0, 0)) {
        return;
      }
    }
    signal(
        ACPX_PUT8,
        node_of(scratch_->site(), load(node.next)) + offsetof(WaitNode, state),
        kFront);
  }
}

void Turn::give_up() {
  if (!is_front_) {
    return;
  }
  has_others_ = false;
  scratch_->clear();
  Chain chain(*scratch_);
  leave_in(chain);
  if (has_others_ || chain.run()) {
    pass();
  }
}

}  // namespace acp::middle::structure
