// A set of ranks as people write it: "0,2-4,7".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace acp::launcher {

/// Plain value.
class RankSet {
 public:
  /// Returns nothing when the text is no such list.
  static std::optional<RankSet> parse(std::string_view text);

  bool contains(std::uint32_t rank) const noexcept;

  std::uint32_t largest() const noexcept { return largest_; }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;
  std::uint32_t largest_ = 0;
};

/// Returns "rank 3" or "ranks 0,2-3". `ranks` has to be ascending and not
/// empty. Long lists are truncated as by describe_numbers().
std::string describe_ranks(std::span<const std::uint32_t> ranks);

}  // namespace acp::launcher
