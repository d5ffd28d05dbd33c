// Divides bytes into values of a key-value space and joins them again. Called
// by the bootstrap under other launchers than acprun and by a fuzz target. It
// does no input or output.
#include "runtime/host_bundle.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

#include "base/assert.h"

namespace acp::runtime {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Characters for the number of parts and the point.
constexpr std::size_t kPrefix = 8;

constexpr std::array<std::int16_t, 256> values_of_digits() {
  std::array<std::int16_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] =
        static_cast<std::int16_t>(i);
  }
  return values;
}

constexpr std::array<std::int16_t, 256> kValues = values_of_digits();

/// Six bits for each character, the highest first; zeros fill up the last.
std::string encode_bytes(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    count += 8;
    while (count >= 6) {
      count -= 6;
      text += kDigits[bits >> count & 63];
    }
  }
  if (count > 0) {
    text += kDigits[bits << (6 - count) & 63];
  }
  return text;
}

}  // namespace

std::vector<std::string> split_bundle(std::string_view bytes,
                                      std::size_t limit) {
  ACP_ASSERT(limit >= kBundleMinValue);
  const std::string text = encode_bytes(bytes);
  const std::size_t piece = limit - kPrefix;
  const std::size_t parts =
      text.empty() ? 1 : (text.size() + piece - 1) / piece;
  std::vector<std::string> values;
  if (parts > kBundleMaxParts) {
    return values;
  }
  for (std::size_t i = 0; i < parts; ++i) {
    values.push_back(
        fmt::format("{}.{}", parts, text.substr(i * piece, piece)));
  }
  return values;
}

std::optional<BundlePart> decode_bundle_part(std::string_view value) {
  BundlePart part;
  const char* const last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, part.parts);
  if (error != std::errc{} || end == last || *end != '.' || part.parts == 0 ||
      part.parts > kBundleMaxParts) {
    return std::nullopt;
  }
  part.text.assign(end + 1, last);
  return part;
}

/// The bits that fill up the last character have to be 0, so equal bytes have
/// one text only.
std::optional<std::string> decode_bundle(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char one : text) {
    const int value = kValues[static_cast<unsigned char>(one)];
    if (value < 0) {
      return std::nullopt;
    }
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xffffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 255);
    }
  }
  const std::uint32_t rest = bits & ((std::uint32_t{1} << count) - 1);
  if (count >= 6 || rest != 0) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace acp::runtime
