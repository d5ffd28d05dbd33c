// Lists of ranks, to and from text. Called by the checks of options, by
// host_work.cc, and by the job, verdict and summary for their texts. Pure.
#include "launcher/rank_set.h"

#include <algorithm>
#include <charconv>

#include "base/number_list.h"

namespace acp::launcher {

namespace {

/// Takes a number from the front of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

}  // namespace

/// Each turn takes "N" or "N-M", and the comma behind it.
std::optional<RankSet> RankSet::parse(std::string_view text) {
  RankSet set;
  while (true) {
    const auto first = take_number(text);
    auto last = first;
    if (first && text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number(text);
    }
    if (!first || !last || *last < *first) {
      return std::nullopt;
    }
    set.ranges_.emplace_back(*first, *last);
    set.largest_ = std::max(set.largest_, *last);
    if (text.empty()) {
      return set;
    }
    if (text.front() != ',') {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
}

bool RankSet::contains(std::uint32_t rank) const noexcept {
  return std::any_of(ranges_.begin(), ranges_.end(), [rank](const auto& range) {
    return rank >= range.first && rank <= range.second;
  });
}

std::string describe_ranks(std::span<const std::uint32_t> ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + describe_numbers(ranks);
}

}  // namespace acp::launcher
