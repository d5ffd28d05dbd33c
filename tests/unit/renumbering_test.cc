// Renumbering: the ranks of all hosts agree on their new numbers, or keep the
// old ones.
#include "runtime/renumbering.h"

#include <array>
#include <vector>

#include <catch2/catch.hpp>

#include "support/host_memory.h"

namespace acp::runtime {

namespace {

/// Two hosts with processes 0, 1 and 2, 3. The test is their bootstrap.
class TwoHosts {
 public:
  /// All processes propose these numbers, and every host decides.
  void propose(const std::array<int, 4>& ranks) {
    for (std::uint32_t proc = 0; proc < 4; ++proc) {
      ranks_[proc].propose(ranks[proc]);
      const auto values = segment_of(proc).published(proc).get();
      segment_of(proc ^ 2U).published(proc).set(values);
    }
    for (const Renumbering& one : ranks_) {
      one.decide();
    }
  }

  bool is_good() const {
    for (const Renumbering& one : ranks_) {
      CHECK(one.is_good() == ranks_[0].is_good());
    }
    return ranks_[0].is_good();
  }

  void take() {
    for (const Renumbering& one : ranks_) {
      one.take();
    }
  }

  const protocol::HostSegment& segment_of(std::uint32_t proc) const {
    return proc < 2 ? first_.segment() : second_.segment();
  }

 private:
  test::HostMemory first_{4, 2, 0};
  test::HostMemory second_{4, 2, 2};
  std::array<Renumbering, 4> ranks_ = {
      Renumbering(first_.segment(), 0), Renumbering(first_.segment(), 1),
      Renumbering(second_.segment(), 2), Renumbering(second_.segment(), 3)};
};

}  // namespace

TEST_CASE("renumbering: numbers of two hosts are entered on both",
          "[runtime][renumbering]") {
  TwoHosts hosts;
  hosts.propose({2, 0, 3, 1});
  REQUIRE(hosts.is_good());
  hosts.take();
  constexpr std::array<std::uint32_t, 4> kProcOfRank = {1, 3, 0, 2};
  for (const std::uint32_t proc : {0U, 2U}) {
    const protocol::HostSegment& segment = hosts.segment_of(proc);
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      INFO("host of process " << proc << ", rank " << rank);
      CHECK(segment.proc_of_rank()[rank] == kProcOfRank[rank]);
      CHECK(segment.slot_of_rank()[rank] ==
            segment.slot_of_proc(kProcOfRank[rank]));
    }
  }
  CHECK(hosts.segment_of(0).record(0).rank == 2);
  CHECK(hosts.segment_of(3).record(1).rank == 1);
}

TEST_CASE("renumbering: a number of another host that is taken is refused",
          "[runtime][renumbering]") {
  TwoHosts hosts;
  SECTION("twice the same") {
    hosts.propose({0, 1, 2, 1});
  }
  SECTION("out of range") {
    hosts.propose({0, 1, 2, 4});
  }
  SECTION("negative") {
    hosts.propose({0, -1, 2, 3});
  }
  CHECK_FALSE(hosts.is_good());
}

}  // namespace acp::runtime
