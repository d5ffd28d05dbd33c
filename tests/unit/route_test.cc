// The way of a step, from where both ends are and the settings.
#include "gma/route.h"

#include <vector>

#include <catch2/catch.hpp>

namespace acp::gma {

namespace {

constexpr End kMapped = End::kMapped;
constexpr End kHost = End::kHost;
constexpr End kFar = End::kFar;

struct Row {
  End to;
  End from;
  Way first;         ///< Transfers possible.
  Way refused;       ///< Transfers refused.
  Way if_relayable;  ///< Transfers possible, endpoints reach both ranks.
};

const std::vector<Row> kRows = {
    {kMapped, kMapped, Way::kLocal, Way::kLocal, Way::kLocal},
    {kMapped, kHost, Way::kTransferGet, Way::kGet, Way::kTransferGet},
    {kMapped, kFar, Way::kGet, Way::kGet, Way::kGet},
    {kHost, kMapped, Way::kTransferPut, Way::kPut, Way::kTransferPut},
    {kHost, kHost, Way::kBounce, Way::kDelegate, Way::kBounce},
    {kHost, kFar, Way::kDelegate, Way::kDelegate, Way::kRelay},
    {kFar, kMapped, Way::kPut, Way::kPut, Way::kPut},
    {kFar, kHost, Way::kDelegate, Way::kDelegate, Way::kRelay},
    {kFar, kFar, Way::kDelegate, Way::kDelegate, Way::kRelay},
};

}  // namespace

TEST_CASE("gma: a copy's way follows from where its ends are", "[gma][route]") {
  for (const Row& row : kRows) {
    CAPTURE(static_cast<int>(row.to), static_cast<int>(row.from));
    CHECK(route_copy(row.to, row.from, Transfers::kPossible,
                     ThirdParty::kNot) == row.first);
    CHECK(route_copy(row.to, row.from, Transfers::kRefused, ThirdParty::kNot) ==
          row.refused);
    CHECK(route_copy(row.to, row.from, Transfers::kPossible,
                     ThirdParty::kRelayable) == row.if_relayable);
  }
}

TEST_CASE("gma: once transfers are refused no way needs them", "[gma][route]") {
  for (const Row& row : kRows) {
    for (const ThirdParty third : {ThirdParty::kNot, ThirdParty::kRelayable}) {
      const Way way = route_copy(row.to, row.from, Transfers::kRefused, third);
      CHECK(way != Way::kTransferGet);
      CHECK(way != Way::kTransferPut);
      CHECK(way != Way::kBounce);
    }
  }
}

TEST_CASE("gma: a word is executed here when it is mapped and the CPU may",
          "[gma][route]") {
  for (const End end : {kMapped, kHost, kFar}) {
    CHECK(route_word(end, CpuMay::kNo) == WordWay::kOwner);
    CHECK(route_word(end, CpuMay::kYes) ==
          (end == kMapped ? WordWay::kHere : WordWay::kOwner));
  }
}

TEST_CASE("gma: where an end is follows from its looked-up target",
          "[gma][route]") {
  gmm::Target target;
  CHECK(end_of(target) == kFar);
  target.is_same_host = true;
  CHECK(end_of(target) == kHost);
  std::byte byte{};
  target.direct = &byte;
  CHECK(end_of(target) == kMapped);
}

}  // namespace acp::gma
