// Tests how rank 0 seals the secret of a job for the leaders of other hosts.
#include "runtime/secret_exchange.h"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

constexpr protocol::JobSecret kSecret = {1, 2, 3, 4, 5, 6, 7, 8, 9};

}  // namespace

TEST_CASE("secret exchange: only the leader that it is for opens a secret",
          "[secret_exchange]") {
  const SealKeys leader;
  const SealKeys other;
  CHECK(leader.public_key() != other.public_key());
  const auto sealed = seal_secret(kSecret, leader.public_key());
  REQUIRE(sealed.has_value());
  protocol::JobSecret opened{};
  CHECK_FALSE(other.open(*sealed, opened));
  CHECK(opened == protocol::JobSecret{});
  CHECK(leader.open(*sealed, opened));
  CHECK(opened == kSecret);
}

TEST_CASE("secret exchange: what travels has no part of the secret",
          "[secret_exchange]") {
  const SealKeys leader;
  const auto one = seal_secret(kSecret, leader.public_key());
  const auto two = seal_secret(kSecret, leader.public_key());
  REQUIRE((one && two));
  CHECK(*one != *two);
  const std::string part(kSecret.begin(), kSecret.begin() + 8);
  CHECK(one->find(part) == std::string::npos);
}

TEST_CASE("secret exchange: damaged bytes are refused, and write nothing",
          "[secret_exchange]") {
  const SealKeys leader;
  auto sealed = seal_secret(kSecret, leader.public_key());
  REQUIRE(sealed.has_value());
  protocol::JobSecret opened{};
  for (std::size_t i = 0; i < sealed->size(); ++i) {
    std::string damaged = *sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    CHECK_FALSE(leader.open(damaged, opened));
  }
  CHECK_FALSE(leader.open(sealed->substr(1), opened));
  CHECK_FALSE(leader.open("", opened));
  CHECK(opened == protocol::JobSecret{});
  // A record of a host that put no key, as rank 0's own.
  CHECK_FALSE(seal_secret(kSecret, SealKey{}).has_value());
}

}  // namespace acp::runtime
