// Joins neighbouring numbers to ranges. Called for log lines and tables, by the
// library, the launcher and acp_info. Pure.
#include "base/number_list.h"

#include <fmt/core.h>

namespace acp {

/// Each turn joins neighbouring numbers to one range.
std::string describe_numbers(std::span<const std::uint32_t> numbers) {
  constexpr int kShownRanges = 12;  // as many fit on about one line
  std::string text;
  int ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
      ++end;
    }
    if (ranges++ == kShownRanges) {
      return text + fmt::format(" and {} more", numbers.size() - i);
    }
    text += i > 0 ? "," : "";
    text += end - i == 1 ? fmt::format("{}", numbers[i])
                         : fmt::format("{}-{}", numbers[i], numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace acp
