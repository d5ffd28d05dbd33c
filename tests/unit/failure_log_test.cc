// FailureLog: remembers in bounded memory which operations have failed.
#include "gma/failure_log.h"

#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch.hpp>

namespace acp::gma {

namespace {

/// The reference: keeps all failures by number, without a bound.
class Reference {
 public:
  void note(Sequence sequence, Status status) { failures_[sequence] = status; }

  Status first_up_to(Sequence sequence) const {
    const auto first = failures_.begin();
    return first != failures_.end() && first->first <= sequence ? first->second
                                                                : Status::kOk;
  }

  void collect_up_to(Sequence sequence) {
    failures_.erase(failures_.begin(), failures_.upper_bound(sequence));
  }

 private:
  std::map<Sequence, Status> failures_;
};

}  // namespace

// A log without a limit is the model. The test stays below the limit, where
// both have to agree.
TEST_CASE("failure log: agrees with one that keeps every failure",
          "[gma][failure_log]") {
  std::mt19937_64 random(5);
  FailureLog log;
  Reference reference;
  Sequence newest = 1;
  std::size_t most = 0;
  bool agrees = true;
  for (int i = 0; i < 50'000; ++i) {
    ++newest;
    if (random() % 4 != 0) {
      const Status status =
          random() % 8 == 0 ? Status::kBadKey : Status::kPeerDead;
      log.note(newest, status);
      reference.note(newest, status);
    }
    if (random() % 64 == 0) {
      const Sequence up_to = newest - random() % 2000 % newest;
      agrees &= log.first_up_to(up_to) == reference.first_up_to(up_to);
      if (random() % 8 == 0) {
        log.collect_up_to(up_to);
        reference.collect_up_to(up_to);
      }
      agrees &= log.first_up_to(up_to) == reference.first_up_to(up_to);
      agrees &= log.first_up_to(newest) == reference.first_up_to(newest);
    }
    most = std::max(most, log.entries());
  }
  CHECK(agrees);
  CHECK(most > 300);
  CHECK(most < FailureLog::kMaxEntries);
}

TEST_CASE("failure log: failures in a row take one entry",
          "[gma][failure_log]") {
  FailureLog log;
  for (Sequence sequence = 10; sequence < 1'000'010; ++sequence) {
    log.note(sequence, Status::kPeerDead);
  }
  CHECK(log.entries() == 1);
  log.collect_up_to(500'000);
  CHECK(log.first_up_to(500'000) == Status::kOk);
  CHECK(log.first_up_to(500'001) == Status::kPeerDead);
  log.collect_up_to(1'000'009);
  CHECK(log.is_empty());
}

// Three times as many failures as there are entries, each with a good number
// before it. A failure may never be lost; a good number may count as failed.
TEST_CASE("failure log: without room, numbers in between count as failed",
          "[gma][failure_log]") {
  FailureLog log;
  constexpr Sequence kFailures = 3 * FailureLog::kMaxEntries;
  for (Sequence i = 1; i <= kFailures; ++i) {
    log.note(2 * i, Status::kBadKey);
  }
  CHECK(log.entries() == FailureLog::kMaxEntries);
  bool is_any_forgotten = false;
  std::size_t counted_as_failed = 0;
  for (Sequence i = 1; i <= kFailures; ++i) {
    counted_as_failed += log.first_up_to(2 * i - 1) != Status::kOk ? 1 : 0;
    log.collect_up_to(2 * i - 1);
    is_any_forgotten |= log.first_up_to(2 * i) != Status::kBadKey;
    log.collect_up_to(2 * i);
  }
  CHECK_FALSE(is_any_forgotten);
  CHECK(counted_as_failed == kFailures - FailureLog::kMaxEntries);
  CHECK(log.is_empty());
}

}  // namespace acp::gma
