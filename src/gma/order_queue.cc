// Numbers operations and completes them in order. The engine calls it under its
// mutex; it may not start an operation.
#include "gma/order_queue.h"

#include <type_traits>

#include "base/assert.h"

namespace acp::gma {

OrderQueue::OrderQueue() : rooms_(new std::byte[kCapacity * sizeof(Entry)]) {
  static_assert(std::is_trivially_destructible_v<Entry>);
  static_assert(alignof(Entry) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}

/// Makes the entry and puts the operation into the list of waiters first, and
/// publishes the number last. The list is in order of issue, so retire()
/// collects operations in that order.
Sequence OrderQueue::push(Operation& operation, Sequence wait_for) {
  ACP_ASSERT(!is_full() && wait_for <= issued());
  const Sequence sequence = issued() + 1;
  new (room_of(sequence)) Entry{};
  operation.sequence = sequence;
  operation.wait_for = wait_for;
  if (wait_for > completed()) {
    Entry& other = entry(wait_for);
    if (other.last_waiter == nullptr) {
      other.first_waiter = &operation;
    } else {
      entry(other.last_waiter->sequence).next_waiter = &operation;
    }
    other.last_waiter = &operation;
  }
  // The fast path of other threads may read these at once: first busy, then
  // the number, so that a number above completed() implies busy.
  is_busy_.store(true, std::memory_order_release);
  issued_.store(sequence, std::memory_order_release);
  return sequence;
}

void OrderQueue::finish(Sequence sequence, Status status) {
  ACP_ASSERT(sequence > completed() && sequence <= issued());
  Entry& mine = entry(sequence);
  ACP_ASSERT(!mine.is_done);
  mine.is_done = true;
  mine.status = status;
}

/// Stores completed_ before update_busy(): a thread that reads "not busy" then
/// sees all operations complete, and no failure is left to collect.
bool OrderQueue::retire(std::vector<Operation*>& ready) {
  Sequence done = completed();
  const Sequence newest = issued();
  const Sequence before = done;
  while (done < newest && entry(done + 1).is_done) {
    Entry& next = entry(done + 1);
    if (next.status != Status::kOk) {
      failures_.note(done + 1, next.status);
    }
    for (Operation* waiter = next.first_waiter; waiter != nullptr;
         waiter = entry(waiter->sequence).next_waiter) {
      ready.push_back(waiter);
    }
    ++done;
  }
  if (done == before) {
    return false;
  }
  completed_.store(done, std::memory_order_release);
  update_busy();
  return true;
}

Status OrderQueue::collect_up_to(Sequence sequence) {
  const Status status = failure_up_to(sequence);
  failures_.collect_up_to(sequence);
  update_busy();
  return status;
}

void OrderQueue::clear_failures() {
  failures_.clear();
  update_busy();
}

void OrderQueue::update_busy() {
  is_busy_.store(completed() != issued() || !failures_.is_empty(),
                 std::memory_order_release);
}

}  // namespace acp::gma
