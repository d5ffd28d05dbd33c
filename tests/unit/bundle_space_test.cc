// Tests bundles of bytes in the key-value space of a launcher.
#include "runtime/bundle_space.h"

#include <string>

#include <catch2/catch.hpp>

#include "runtime/host_bundle.h"
#include "support/stderr_capture.h"
#include "support/value_space.h"

namespace acp::runtime {

namespace {

using test::ValueSpace;
using test::ValueSpaceRank;

struct OneRank {
  ValueSpace space;
  ValueSpaceRank manager{space, 0, 2};
  BundleSpace bundles{manager};
};

std::string long_bytes() {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes += static_cast<char>(i);
  }
  return bytes;
}

}  // namespace

TEST_CASE("bundle space: bytes of any length come back from values") {
  OneRank rank;
  REQUIRE(rank.bundles.put("key", long_bytes(), {}) == Status::kOk);
  REQUIRE(rank.bundles.put("empty", "", {}) == Status::kOk);
  CHECK(rank.space.values.size() > 10);
  for (const auto& [key, value] : rank.space.values) {
    CHECK(value.size() <= rank.space.value_limit);
  }
  const auto bytes = rank.bundles.get(0, "key", {});
  REQUIRE(bytes.ok());
  CHECK((*bytes == long_bytes()));
  const auto empty = rank.bundles.get(0, "empty", {});
  REQUIRE(empty.ok());
  CHECK(empty->empty());
}

TEST_CASE("bundle space: a value of another build is refused by name") {
  OneRank rank;
  REQUIRE(rank.bundles.put("key", long_bytes(), {}) == Status::kOk);
  SECTION("no part of a bundle") {
    rank.space.values["key-1"] = "nonsense";
  }
  SECTION("a part of a shorter bundle") {
    rank.space.values["key-1"] = "2.AA";
  }
  spmd::StderrCapture captured;
  CHECK(rank.bundles.get(1, "key", {}).status() == Status::kProtocol);
  CHECK(captured.stop().find("value key of rank 1 makes no sense") !=
        std::string::npos);
}

TEST_CASE("bundle space: bytes beyond the launcher's limits are refused") {
  OneRank rank;
  rank.space.value_limit = kBundleMinValue;
  const std::string bytes(std::size_t{32} * kBundleMaxParts, 'a');
  spmd::StderrCapture captured;
  CHECK(rank.bundles.put("key", bytes, {}) == Status::kTooLarge);
  CHECK(captured.stop().find("launcher's value key") != std::string::npos);
  CHECK(rank.space.values.empty());
}

TEST_CASE("bundle space: a launcher that does not answer is named once") {
  OneRank rank;
  rank.space.answer = Status::kTimedOut;
  spmd::StderrCapture captured;
  CHECK(rank.bundles.put("key", "bytes", {}) == Status::kTimedOut);
  CHECK(captured.stop().find("does not answer a request for its value key") !=
        std::string::npos);
  rank.space.answer = Status::kAborted;
  spmd::StderrCapture nothing;
  CHECK(rank.bundles.get(0, "key", {}).status() == Status::kAborted);
  CHECK(nothing.stop().empty());
}

TEST_CASE("bundle space: a fence that is late says what to set") {
  OneRank rank;
  rank.space.fence = Status::kTimedOut;
  spmd::StderrCapture captured;
  CHECK(rank.bundles.fence(FenceValues::kToAllHosts, {}) == Status::kTimedOut);
  CHECK(captured.stop().find("ACP_INIT_TIMEOUT") != std::string::npos);
  rank.space.fence = Status::kAborted;
  spmd::StderrCapture nothing;
  CHECK(rank.bundles.fence(FenceValues::kToAllHosts, {}) == Status::kAborted);
  CHECK(nothing.stop().empty());
}

}  // namespace acp::runtime
