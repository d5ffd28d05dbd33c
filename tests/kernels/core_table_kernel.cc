// The table of cores under all schedules: ranks publish the core that they wait
// on, and look for other ranks there. runtime/core_table.h says how old entries
// may be.
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "kernels/kernel_memory.h"
#include "kernels/program.h"
#include "runtime/core_table.h"

namespace kernels {

namespace {

class Cores : public Program {
 public:
  /// `cores` of ranks 0, 1 and 2; all ranks wait twice.
  explicit Cores(std::array<int, 3> cores)
      : segment_(new_segment(3)), cores_(cores) {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      tables_[rank].emplace(segment_, rank);
      set_core(rank, cores[rank]);
    }
  }

  std::size_t threads() const override { return 3; }

  /// The second look comes after all ranks have made their first one.
  void run(std::size_t rank) override {
    const bool is_shared = tables_[rank]->is_shared_here();
    expect(!is_shared || has_company(rank),
           "a rank that is alone on its core does not yield it");
    looked_.fetch_add(1, std::memory_order_acq_rel);
    while (looked_.load(std::memory_order_acquire) != 3) {
    }
    expect(tables_[rank]->is_shared_here() == has_company(rank),
           "a rank that misses a new entry finds it at its next look");
    expect(segment_.core_of_slot()[rank].load(std::memory_order_relaxed) ==
               static_cast<std::uint32_t>(cores_[rank]) + 1,
           "an entry is 1 + the core");
  }

 private:
  bool has_company(std::size_t rank) const {
    for (std::size_t other = 0; other < 3; ++other) {
      if (other != rank && cores_[other] == cores_[rank]) {
        return true;
      }
    }
    return false;
  }

  const acp::protocol::HostSegment& segment_;
  const std::array<int, 3> cores_;
  std::array<std::optional<acp::runtime::CoreTable>, 3> tables_;
  std::atomic<int> looked_{0};
};

}  // namespace

std::vector<Case> all_cases() {
  return {
      make_case<Cores>("two_share", 2, std::array<int, 3>{0, 1, 0}),
      make_case<Cores>("alone", 2, std::array<int, 3>{0, 1, 2}),
  };
}

}  // namespace kernels
