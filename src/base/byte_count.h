// Sizes in bytes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace acp {

/// "64K" becomes 65536; K, M, G and T, also in lower case, multiply by 1024,
/// 1024^2 and so on. Returns nothing when the text is no such size, or when the
/// size does not fit 64 bits.
std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

}  // namespace acp
