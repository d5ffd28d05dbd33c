// The messages between a process and its launcher, as bytes.
#include "protocol/bootstrap.h"

#include <string>

#include <catch2/catch.hpp>

namespace acp::protocol {

TEST_CASE("bootstrap: a message survives encoding", "[protocol][bootstrap]") {
  const BootstrapMessage message{BootstrapType::kAbort, 3, "out of luck"};
  const auto decoded = decode_bootstrap(encode_bootstrap(message));
  REQUIRE(decoded.has_value());
  CHECK(decoded->type == BootstrapType::kAbort);
  CHECK(decoded->value == 3);
  CHECK(decoded->text == "out of luck");
}

TEST_CASE("bootstrap: long text is truncated", "[protocol][bootstrap]") {
  const BootstrapMessage message{BootstrapType::kAbort, 1,
                                 std::string(10'000, 'x')};
  const auto decoded = decode_bootstrap(encode_bootstrap(message));
  REQUIRE(decoded.has_value());
  CHECK(decoded->text.size() == kBootstrapMaxText);
}

TEST_CASE("bootstrap: damaged bytes are refused", "[protocol][bootstrap]") {
  const auto good = encode_bootstrap({BootstrapType::kHello, 7, "hi"});
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(decode_bootstrap(std::span(good).first(size)).has_value());
  }
  for (const std::size_t byte : {0U, 4U, 6U, 16U, 20U}) {
    auto bad = good;
    bad[byte] ^= std::byte{0x80};
    INFO("byte " << byte);
    CHECK_FALSE(decode_bootstrap(bad).has_value());
  }
}

}  // namespace acp::protocol
