// HMPI's gate under all schedules: calls of the program and visits of the
// library's thread exclude each other. hmpi/gate.h says how.
#include <cstdint>

#include "hmpi/gate.h"
#include "kernels/program.h"

namespace kernels {

namespace {

/// Thread 0 visits, and each other thread makes calls.
class Calls : public Program {
 public:
  Calls(std::size_t callers, std::uint32_t calls, bool is_favored)
      : callers_(callers), calls_(calls) {
    if (is_favored) {
      gate_.favor_calls();
    }
    name_memory(&gate_, sizeof gate_, "gate");
    name_memory(&state_, sizeof state_, "state");
  }

  std::size_t threads() const override { return 1 + callers_; }

  void run(std::size_t thread) override {
    if (thread == 0) {
      visit();
      return;
    }
    for (std::uint32_t i = 0; i < calls_; ++i) {
      const hmpi::Inside inside(gate_);
      use();
    }
  }

  void check() override {
    expect(state_ == callers_ * calls_ + visits_,
           "each call and each visit has had the gate alone");
    expect(gate_.try_visit(), "the gate is open at the end");
  }

 private:
  void visit() {
    if (gate_.try_visit()) {
      use();
      visits_ = 1;
      gate_.end_visit();
    }
  }

  /// Two at a time are a race.
  void use() {
    expect(!is_in_use_.get(), "one thread at a time is inside");
    is_in_use_.set(true);
    ++state_;
    is_in_use_.set(false);
  }

  const std::size_t callers_;
  const std::uint32_t calls_;
  hmpi::Gate gate_;
  std::uint64_t state_ = 0;  ///< Guarded by the gate.
  std::uint64_t visits_ = 0;
  Unseen<bool> is_in_use_;
};

}  // namespace

std::vector<Case> all_cases() {
  return {
      make_case<Calls>("favored", 4, 1U, 2U, true),
      make_case<Calls>("lock", 3, 1U, 2U, false),
      make_case<Calls>("lock.two", 2, 2U, 1U, false),
      make_case<Calls>("lock.three", 1, 3U, 1U, false),
  };
}

}  // namespace kernels
