// Reads sizes that settings and options give. Called by what parses them. Pure;
// the caller reports a bad text.
#include "base/byte_count.h"

#include <charconv>
#include <limits>

namespace acp {

/// The suffix is looked at before the product: a number that overflows is none.
std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest == text.data()) {
    return std::nullopt;
  }
  unsigned shift = 0;
  if (rest != end) {
    static constexpr std::string_view kSuffixes = "KMGT";
    const char suffix = static_cast<char>(*rest & ~0x20);
    const std::size_t index = kSuffixes.find(suffix);
    if (index == std::string_view::npos || rest + 1 != end) {
      return std::nullopt;
    }
    shift = static_cast<unsigned>(10 * (index + 1));
  }
  if (number > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return number << shift;
}

}  // namespace acp
