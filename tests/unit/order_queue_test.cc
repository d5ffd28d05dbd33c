// OrderQueue: when operations may start, and in which order they are complete.
// A simple model runs beside it.
#include "gma/order_queue.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::gma {

namespace {

/// The model: the behaviour of the queue in the simplest code.
class Reference {
 public:
  /// True when the operation may start at once.
  bool push(Sequence wait_for) {
    entries_.push_back({wait_for, false, false});
    return wait_for <= completed_;
  }

  Sequence issued() const { return 1 + entries_.size(); }

  Sequence completed() const { return completed_; }

  bool may_start(Sequence sequence) const {
    const Entry& entry = at(sequence);
    return !entry.is_started && entry.wait_for <= completed_;
  }

  void start(Sequence sequence) { at(sequence).is_started = true; }

  void finish(Sequence sequence) { at(sequence).is_done = true; }

  void retire() {
    while (completed_ < issued() && at(completed_ + 1).is_done) {
      ++completed_;
    }
  }

  bool is_started(Sequence sequence) const { return at(sequence).is_started; }

 private:
  struct Entry {
    Sequence wait_for;
    bool is_started;
    bool is_done;
  };

  const Entry& at(Sequence sequence) const { return entries_[sequence - 2]; }

  Entry& at(Sequence sequence) { return entries_[sequence - 2]; }

  std::vector<Entry> entries_;
  Sequence completed_ = 1;
};

/// A check that is quick when it holds: Catch2 is slow for each check.
void expect(bool holds) {
  if (!holds) {
    FAIL("queue and model differ");
  }
}

/// Drives the queue and the model side by side.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) {}

  void step() {
    const bool wants_more = random_() % 100 < fill_;
    if (running_.empty() || (wants_more && !queue_.is_full())) {
      if (!queue_.is_full()) {
        push();
      }
    } else {
      finish_one();
    }
    if (random_() % 3 == 0) {
      retire();
    }
    if (random_() % 1000 == 0) {
      fill_ = 20 + random_() % 80;  // sometimes fuller, sometimes emptier
    }
  }

  void drain() {
    while (queue_.completed() != queue_.issued()) {
      if (!running_.empty()) {
        finish_one();
      }
      retire();
    }
    expect(!queue_.is_busy());
    expect(running_.empty());
    expect(started_ == queue_.issued() - 1);
  }

  std::size_t deepest() const { return deepest_; }

 private:
  Sequence condition() {
    switch (random_() % 4) {
      case 0: return 0;
      case 1: return queue_.issued();
      default: {
        // Draw any number that was ever given out, mostly recent numbers.
        const Sequence back = random_() % (random_() % 8 == 0 ? 5000 : 30);
        return queue_.issued() > back ? queue_.issued() - back : 0;
      }
    }
  }

  void push() {
    operations_.push_back(std::make_unique<Operation>());
    Operation& operation = *operations_.back();
    const Sequence wait_for = condition();
    const Sequence sequence = queue_.push(operation, wait_for);
    const bool may_start = reference_.push(wait_for);
    expect(sequence == reference_.issued());
    expect(queue_.issued() == sequence);
    expect(operation.sequence == sequence);
    expect(operation.wait_for == wait_for);
    expect(queue_.is_busy());
    deepest_ = std::max<std::size_t>(deepest_, sequence - queue_.completed());
    if (may_start) {
      start(operation);
    }
  }

  void start(Operation& operation) {
    expect(reference_.may_start(operation.sequence));
    reference_.start(operation.sequence);
    ++started_;
    running_.push_back(operation.sequence);
  }

  void finish_one() {
    std::swap(running_[random_() % running_.size()], running_.back());
    const Sequence sequence = running_.back();
    running_.pop_back();
    queue_.finish(sequence, Status::kOk);
    reference_.finish(sequence);
    // The owner of an operation may use it again at once.
    Operation& operation = *operations_[sequence - 2];
    operation.sequence = ~Sequence{0};
  }

  void retire() {
    const Sequence before = queue_.completed();
    std::vector<Operation*> ready;
    const bool has_moved = queue_.retire(ready);
    reference_.retire();
    expect(queue_.completed() == reference_.completed());
    expect(has_moved == (queue_.completed() != before));
    expect(queue_.is_busy() == (queue_.completed() != queue_.issued()));
    Operation* last = nullptr;
    for (Operation* operation : ready) {
      // Operations that waited for one number start in order of issue.
      const bool is_alike =
          last != nullptr && last->wait_for == operation->wait_for;
      expect(!is_alike || last->sequence < operation->sequence);
      start(*operation);
      last = operation;
    }
    check_none_forgotten();
  }

  /// Checks that every operation near the front that may start has started.
  void check_none_forgotten() const {
    const Sequence first = queue_.completed() + 1;
    const Sequence last = std::min(queue_.issued(), first + 20);
    for (Sequence sequence = first; sequence <= last; ++sequence) {
      expect(!reference_.may_start(sequence));
    }
  }

  std::mt19937_64 random_;
  std::uint64_t fill_ = 60;
  OrderQueue queue_;
  Reference reference_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Sequence> running_;
  std::size_t started_ = 0;
  std::size_t deepest_ = 0;
};

/// A queue with operations that end at once.
struct Quick {
  Sequence push(Status status, Sequence wait_for = 0) {
    operations.push_back({});
    const Sequence sequence = queue.push(operations.back(), wait_for);
    queue.finish(sequence, status);
    std::vector<Operation*> ready;
    queue.retire(ready);
    return sequence;
  }

  OrderQueue queue;
  std::deque<Operation> operations;
};

}  // namespace

TEST_CASE("order queue: random orders and ends agree with a simple model",
          "[gma][order_queue]") {
  std::size_t deepest = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Model model(seed);
    INFO("seed " << seed);
    for (int i = 0; i < 100'000; ++i) {
      model.step();
    }
    model.drain();
    deepest = std::max(deepest, model.deepest());
  }
  CHECK(deepest == OrderQueue::kCapacity);  // full at times
}

TEST_CASE("order queue: numbers start behind the handle that is none",
          "[gma][order_queue]") {
  OrderQueue queue;
  CHECK(queue.issued() == 1);
  CHECK(queue.completed() == 1);
  CHECK_FALSE(queue.is_busy());
  Operation operation;
  CHECK(queue.push(operation, 0) == 2);
}

TEST_CASE("order queue: full at its capacity, and free again in order",
          "[gma][order_queue]") {
  OrderQueue queue;
  std::vector<Operation> operations(2 * OrderQueue::kCapacity);
  std::vector<Operation*> ready;
  for (std::size_t i = 0; i < OrderQueue::kCapacity; ++i) {
    REQUIRE_FALSE(queue.is_full());
    queue.push(operations[i], 0);
  }
  CHECK(queue.is_full());
  // All operations but the oldest are done, and the queue is still full.
  for (Sequence sequence = 3; sequence <= queue.issued(); ++sequence) {
    queue.finish(sequence, Status::kOk);
  }
  CHECK_FALSE(queue.retire(ready));
  CHECK(queue.is_full());
  queue.finish(2, Status::kOk);
  CHECK(queue.retire(ready));
  CHECK(queue.completed() == queue.issued());
  CHECK_FALSE(queue.is_busy());
  // A reused entry keeps nothing of the operation before.
  for (std::size_t i = 0; i < OrderQueue::kCapacity; ++i) {
    queue.push(operations[OrderQueue::kCapacity + i], 0);
  }
  CHECK_FALSE(queue.retire(ready));
  CHECK(ready.empty());
}

TEST_CASE("order queue: a condition that is done but not retired still waits",
          "[gma][order_queue]") {
  OrderQueue queue;
  std::vector<Operation> operations(3);
  std::vector<Operation*> ready;
  queue.push(operations[0], 0);
  const Sequence second = queue.push(operations[1], 0);
  queue.finish(second, Status::kOk);
  CHECK_FALSE(queue.retire(ready));
  queue.push(operations[2], second);
  CHECK_FALSE(queue.retire(ready));
  CHECK(ready.empty());
  queue.finish(2, Status::kOk);
  CHECK(queue.retire(ready));
  REQUIRE(ready.size() == 1);
  CHECK(ready[0] == &operations[2]);
}

TEST_CASE("order queue: a failure stays until it is collected",
          "[gma][order_queue]") {
  Quick quick;
  OrderQueue& queue = quick.queue;
  const Sequence good = quick.push(Status::kOk);
  CHECK_FALSE(queue.is_busy());
  const Sequence bad = quick.push(Status::kBadKey);
  const Sequence later = quick.push(Status::kOk);
  CHECK(queue.is_busy());
  CHECK(queue.completed() == later);

  CHECK(queue.failure_up_to(good) == Status::kOk);
  CHECK(queue.failure_up_to(bad) == Status::kBadKey);
  CHECK(queue.failure_up_to(later) == Status::kBadKey);
  CHECK(queue.collect_up_to(good) == Status::kOk);
  CHECK(queue.is_busy());
  CHECK(queue.collect_up_to(later) == Status::kBadKey);
  CHECK_FALSE(queue.is_busy());
  // A failure that was collected is not reported again, under no number.
  CHECK(queue.failure_up_to(later) == Status::kOk);
  CHECK(queue.collect_up_to(later) == Status::kOk);
  CHECK(queue.failure_up_to(bad) == Status::kOk);
  CHECK(queue.collect_up_to(bad) == Status::kOk);
  CHECK_FALSE(queue.is_busy());
}

TEST_CASE("order queue: the first of several failures is told",
          "[gma][order_queue]") {
  Quick quick;
  const Sequence one = quick.push(Status::kBadAddress);
  const Sequence two = quick.push(Status::kPeerDead);
  CHECK(quick.queue.failure_up_to(two) == Status::kBadAddress);
  CHECK(quick.queue.collect_up_to(one) == Status::kBadAddress);
  CHECK(quick.queue.is_busy());
  CHECK(quick.queue.failure_up_to(one) == Status::kOk);
  CHECK(quick.queue.collect_up_to(two) == Status::kPeerDead);
  CHECK_FALSE(quick.queue.is_busy());
}

// Failures alternate with good operations. Each failure is collected by its own
// number alone.
TEST_CASE("order queue: no uncollected failure is forgotten",
          "[gma][order_queue]") {
  constexpr Sequence kFailures = 2000;
  Quick quick;
  OrderQueue& queue = quick.queue;
  const Sequence first = quick.push(Status::kBadKey);
  for (Sequence i = 1; i < kFailures; ++i) {
    quick.push(Status::kOk);
    quick.push(Status::kTooLarge);
  }
  CHECK(queue.failure_up_to(first) == Status::kBadKey);
  CHECK(queue.collect_up_to(first) == Status::kBadKey);
  for (Sequence i = 1; i < kFailures; ++i) {
    const Sequence good = first + 2 * i - 1;
    if (queue.collect_up_to(good) != Status::kOk || !queue.is_busy() ||
        queue.collect_up_to(good + 1) != Status::kTooLarge) {
      FAIL("failure " << i << " is not told for its own number alone");
    }
  }
  CHECK_FALSE(queue.is_busy());
  quick.push(Status::kTooLarge);
  queue.clear_failures();
  CHECK_FALSE(queue.is_busy());
  CHECK(queue.failure_up_to(queue.issued()) == Status::kOk);
}

TEST_CASE("order queue: waiters are started although their condition failed",
          "[gma][order_queue]") {
  OrderQueue queue;
  std::vector<Operation> operations(2);
  std::vector<Operation*> ready;
  const Sequence first = queue.push(operations[0], 0);
  queue.push(operations[1], first);
  queue.finish(first, Status::kBadKey);
  REQUIRE(queue.retire(ready));
  REQUIRE(ready.size() == 1);
  // The caller that starts the operation has to ask for the failure.
  CHECK(queue.failure_up_to(ready[0]->wait_for) == Status::kBadKey);
}

}  // namespace acp::gma
