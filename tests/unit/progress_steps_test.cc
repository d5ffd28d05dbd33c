// Progress steps: added, run and removed, also from inside of a step.
#include "runtime/progress_steps.h"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "acp/extension.h"
#include "gma/progress_step_scope.h"
#include "support/verdict.h"

namespace acp::runtime {

namespace {

/// A progress step that counts its calls and runs `action` inside of them.
struct Probe {
  ProgressSteps* steps = nullptr;
  Probe* other = nullptr;
  int calls = 0;
  int result = 0;
  void (*action)(Probe&) = nullptr;

  static int run(void* argument) {
    auto& self = *static_cast<Probe*>(argument);
    ++self.calls;
    if (self.action != nullptr) {
      self.action(self);
    }
    return self.result;
  }

  Status add() { return steps->add(&run, this); }

  Status remove() { return steps->remove(&run, this); }
};

}  // namespace

TEST_CASE("steps: one that could not look is not taken for work",
          "[runtime][steps]") {
  ProgressSteps steps;
  Probe busy{&steps};
  Probe other{&steps};
  REQUIRE(busy.add() == Status::kOk);
  REQUIRE(other.add() == Status::kOk);
  busy.result = ACPX_STEP_BUSY;
  CHECK(steps.run() == ProgressSteps::Outcome::kBusy);
  CHECK(steps.run_last() == ProgressSteps::Outcome::kBusy);
  other.result = 1;
  CHECK(steps.run() == ProgressSteps::Outcome::kMoved);
  other.result = -1;
  CHECK(steps.run() == ProgressSteps::Outcome::kMoved);
}

TEST_CASE("steps: each runs once a pass and says whether it worked",
          "[runtime][steps]") {
  ProgressSteps steps;
  CHECK(steps.is_empty());
  CHECK(steps.run() == ProgressSteps::Outcome::kIdle);
  Probe one{&steps};
  Probe two{&steps};
  REQUIRE(one.add() == Status::kOk);
  REQUIRE(two.add() == Status::kOk);
  CHECK_FALSE(steps.is_empty());
  CHECK(steps.run() == ProgressSteps::Outcome::kIdle);
  two.result = 1;
  CHECK(steps.run() == ProgressSteps::Outcome::kMoved);
  CHECK(one.calls == 2);
  CHECK(two.calls == 2);
  REQUIRE(one.remove() == Status::kOk);
  steps.run();
  CHECK(one.calls == 2);
  CHECK(two.calls == 3);
  REQUIRE(two.remove() == Status::kOk);
  CHECK(steps.is_empty());
}

TEST_CASE("steps: a pair is there once", "[runtime][steps]") {
  ProgressSteps steps;
  Probe one{&steps};
  Probe two{&steps};
  CHECK(steps.add(nullptr, &one) == Status::kInvalidArgument);
  CHECK(steps.remove(nullptr, nullptr) == Status::kInvalidArgument);
  CHECK(one.remove() == Status::kInvalidArgument);
  CHECK(one.add() == Status::kOk);
  CHECK(one.add() == Status::kInvalidArgument);
  CHECK(two.remove() == Status::kInvalidArgument);
  CHECK(one.remove() == Status::kOk);
  CHECK(one.remove() == Status::kInvalidArgument);
  CHECK(one.add() == Status::kOk);
}

// The list changes while it is gone through. No step may run twice in a pass,
// or after its removal.
TEST_CASE("steps: one may remove itself and others, and add some",
          "[runtime][steps]") {
  ProgressSteps steps;
  Probe one{&steps};
  Probe two{&steps};
  SECTION("itself") {
    one.action = [](Probe& self) {
      CHECK(self.remove() == Status::kOk);
    };
    REQUIRE(one.add() == Status::kOk);
    REQUIRE(two.add() == Status::kOk);
    steps.run();
    steps.run();
    CHECK(one.calls == 1);
    CHECK(two.calls == 2);
  }
  SECTION("a later one, which does not run any more") {
    one.other = &two;
    one.action = [](Probe& self) {
      (void)self.other->remove();
    };
    REQUIRE(one.add() == Status::kOk);
    REQUIRE(two.add() == Status::kOk);
    steps.run();
    steps.run();
    CHECK(two.calls == 0);
    CHECK(two.remove() == Status::kInvalidArgument);
  }
  SECTION("an earlier one") {
    two.other = &one;
    two.action = [](Probe& self) {
      (void)self.other->remove();
    };
    REQUIRE(one.add() == Status::kOk);
    REQUIRE(two.add() == Status::kOk);
    steps.run();
    steps.run();
    CHECK(one.calls == 1);
    CHECK(two.calls == 2);
  }
  SECTION("away and back in one pass") {
    one.action = [](Probe& self) {
      CHECK(self.remove() == Status::kOk);
      CHECK(self.calls < 9);
      if (self.calls < 3) {
        CHECK(self.add() == Status::kOk);
      }
    };
    REQUIRE(one.add() == Status::kOk);
    for (int i = 0; i < 10; ++i) {
      steps.run();
    }
    CHECK(one.calls == 3);
    CHECK(steps.is_empty());
  }
  SECTION("many new ones, so that the list moves") {
    static std::array<Probe, 100> many;
    many.fill(Probe{&steps});
    one.action = [](Probe& self) {
      for (Probe& probe : many) {
        (void)self.steps->add(&Probe::run, &probe);
      }
    };
    REQUIRE(one.add() == Status::kOk);
    steps.run();
    steps.run();
    for (const Probe& probe : many) {
      CHECK(probe.calls >= 1);
    }
    for (Probe& probe : many) {
      CHECK(probe.remove() == Status::kOk);
    }
  }
}

TEST_CASE("steps: never nested, and the thread knows that it is inside",
          "[runtime][steps]") {
  ProgressSteps steps;
  Probe one{&steps};
  one.action = [](Probe& self) {
    CHECK(gma::is_inside_progress_step());
    CHECK(self.steps->run() == ProgressSteps::Outcome::kIdle);
  };
  REQUIRE(one.add() == Status::kOk);
  CHECK_FALSE(gma::is_inside_progress_step());
  steps.run();
  CHECK(one.calls == 1);
  CHECK_FALSE(gma::is_inside_progress_step());
}

TEST_CASE("steps: adding and removing leaves nothing behind",
          "[runtime][steps]") {
  ProgressSteps steps;
  Probe one{&steps};
  for (int i = 0; i < 100'000; ++i) {
    REQUIRE(one.add() == Status::kOk);
    REQUIRE(one.remove() == Status::kOk);
  }
  REQUIRE(one.add() == Status::kOk);
  steps.run();
  CHECK(one.calls == 1);
}

TEST_CASE("steps: one at a time, whoever makes progress", "[runtime][steps]") {
  struct Shared {
    std::atomic<int> inside{0};
    int calls = 0;  // guarded by the rule that a step runs once at a time
    test::Verdict verdict;

    static int run(void* argument) {
      auto& self = *static_cast<Shared*>(argument);
      self.verdict.expect(self.inside.fetch_add(1) == 0, "two at a time");
      ++self.calls;
      self.inside.fetch_sub(1);
      return 0;
    }
  };

  ProgressSteps steps;
  Shared shared;
  // Function and data together name a step; all threads run this step.
  REQUIRE(steps.add(&Shared::run, &shared) == Status::kOk);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over.load(std::memory_order_relaxed)) {
        steps.run();
      }
    });
  }
  for (int i = 0; i < 200'000; ++i) {
    steps.run();
  }
  is_over.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(shared.verdict.failure() == std::string());
  CHECK(shared.calls > 0);
}

// One thread runs steps all the time, and another adds and removes one. Any run
// after the removal reads a flag that is cleared.
TEST_CASE("steps: a removed step is not running when remove returns",
          "[runtime][steps]") {
  struct Victim {
    std::atomic<bool> is_alive{false};
    test::Verdict* verdict = nullptr;

    static int run(void* argument) {
      auto& self = *static_cast<Victim*>(argument);
      for (int i = 0; i < 20; ++i) {
        self.verdict->expect(self.is_alive.load(std::memory_order_relaxed),
                             "ran after its removal");
      }
      return 0;
    }
  };

  ProgressSteps steps;
  test::Verdict verdict;
  std::atomic<bool> is_over{false};
  std::thread runner([&] {
    while (!is_over.load(std::memory_order_relaxed)) {
      steps.run();
    }
  });
  Victim victim;
  victim.verdict = &verdict;
  for (int i = 0; i < 200'000; ++i) {
    victim.is_alive.store(true, std::memory_order_relaxed);
    verdict.expect(steps.add(&Victim::run, &victim) == Status::kOk, "add");
    verdict.expect(steps.remove(&Victim::run, &victim) == Status::kOk,
                   "remove");
    victim.is_alive.store(false, std::memory_order_relaxed);
  }
  is_over.store(true);
  runner.join();
  CHECK(verdict.failure() == std::string());
}

}  // namespace acp::runtime
