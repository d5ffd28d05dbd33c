// A host's data for the other hosts, as values of a launcher's key-value space.
//
// Launchers limit the length of a value, and PMI-1 its characters. So the bytes
// of a bundle are written with the 64 characters A-Z a-z 0-9 - _, and split
// into parts: part i is "PARTS.TEXT". The functions are pure. The values that
// they decode come from the launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acp::runtime {

/// Most parts of a bundle.
inline constexpr std::uint32_t kBundleMaxParts = 1 << 16;
/// A launcher's limit has to leave room for some characters in each part.
inline constexpr std::size_t kBundleMinValue = 32;

/// One part. A plain value.
struct BundlePart {
  std::uint32_t parts = 0;  ///< Parts of the whole bundle, at least 1.
  std::string text;
};

/// The values of a bundle, each at most `limit` characters, which is at least
/// kBundleMinValue. Empty: the bytes need more than kBundleMaxParts.
std::vector<std::string> split_bundle(std::string_view bytes,
                                      std::size_t limit);

/// Nothing: the value is no part of a bundle.
std::optional<BundlePart> decode_bundle_part(std::string_view value);

/// The bytes of a bundle from the texts of all of its parts, joined. Nothing:
/// split_bundle() makes no such text.
std::optional<std::string> decode_bundle(std::string_view text);

}  // namespace acp::runtime
