// Bytes as values of a launcher's key-value space.
#include "runtime/host_bundle.h"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

std::optional<std::string> join(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    const auto part = decode_bundle_part(value);
    if (!part || part->parts != values.size()) return std::nullopt;
    text += part->text;
  }
  return decode_bundle(text);
}

}  // namespace

TEST_CASE("host_bundle: any bytes come back, whatever the limit",
          "[host_bundle]") {
  std::string bytes;
  for (int size = 0; size < 300; ++size) {
    for (const std::size_t limit : {32U, 33U, 255U, 1023U}) {
      const auto values = split_bundle(bytes, limit);
      REQUIRE_FALSE(values.empty());
      CHECK(std::ranges::all_of(values, [limit](const std::string& value) {
        return value.size() <= limit;
      }));
      CHECK(join(values) == bytes);
    }
    bytes += static_cast<char>(size * 37);
  }
}

TEST_CASE("host_bundle: values have characters that every launcher takes",
          "[host_bundle]") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes += static_cast<char>(byte);
  for (const std::string& value : split_bundle(bytes, 64)) {
    CHECK(value.find_first_not_of(
              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
              "0123456789-_.") == std::string::npos);
  }
}

TEST_CASE("host_bundle: other texts are refused", "[host_bundle]") {
  for (const char* value : {"", ".", "0.AA", "1", "x.AA", "99999999.AA"}) {
    INFO(value);
    CHECK_FALSE(decode_bundle_part(value).has_value());
  }
  for (const char* text : {"A", "AB", "A=", "AAAAA", "A A"}) {
    INFO(text);
    CHECK_FALSE(decode_bundle(text).has_value());
  }
}

TEST_CASE("host_bundle: more than the most parts is no bundle",
          "[host_bundle]") {
  CHECK(split_bundle(std::string(std::size_t{2} << 20, 'x'), 32).empty());
}

}  // namespace acp::runtime
