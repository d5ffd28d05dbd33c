// The table of columns, and how a value is written. Called by all that show
// rows. Pure.
#include "columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace acp::top {

namespace {

using Row = RankRow;

constexpr std::array<Column, 15> kColumns = {{
    {"rank", "RANK", &Row::rank},
    {"host", "HOST", &Row::host, Unit::kNone, 8, 16},
    {"core", "CORE", &Row::core},
    {"state", "STATE", &Row::state},
    {"call", "WAITS IN", &Row::call, Unit::kNone, 12, 34},
    {"peer", "FOR", &Row::peer},
    {"waited_s", "WAITED", &Row::waited_s, Unit::kSeconds},
    {"waits_per_s", "WAITS/s", &Row::waits_per_s, Unit::kRate},
    {"arrivals_per_s", "ARRIVE/s", &Row::arrivals_per_s, Unit::kRate},
    {"sent_per_s", "SENT/s", &Row::sent_per_s, Unit::kRate},
    {"resent_per_s", "RESENT/s", &Row::resent_per_s, Unit::kRate},
    {"sent", "SENT", &Row::sent},
    {"resent", "RESENT", &Row::resent},
    {"pid", "PID", &Row::pid},
    {"started_as", "STARTED AS", &Row::started_as},
}};

constexpr std::array<std::string_view, kStates> kStateNames = {
    "starting", "computing", "waiting", "in progress", "asleep",
    "stopped",  "finished",  "ended",   "unknown"};

constexpr std::string_view kUnknown = "-";

/// 12, 3.4k, 56M: at most five characters.
std::string describe_rate(double rate) {
  constexpr std::array<char, 5> kPrefixes = {'k', 'M', 'G', 'T', 'P'};
  if (rate < 9.95) return fmt::format("{:.1f}", rate);
  if (rate < 9'999.5) return fmt::format("{:.0f}", rate);
  std::size_t prefix = 0;
  for (rate /= 1000; rate >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix)
    rate /= 1000;
  return rate < 9.95 ? fmt::format("{:.1f}{}", rate, kPrefixes[prefix])
                     : fmt::format("{:.0f}{}", rate, kPrefixes[prefix]);
}

std::string text_of(const Number& value, Unit /*unit*/) {
  return value ? std::to_string(*value) : std::string(kUnknown);
}

std::string text_of(const Real& value, Unit unit) {
  if (!value) return std::string(kUnknown);
  return unit == Unit::kSeconds ? describe_seconds(*value)
                                : describe_rate(*value);
}

std::string text_of(const std::string& value, Unit /*unit*/) {
  return value.empty() ? std::string(kUnknown) : value;
}

std::string text_of(State value, Unit /*unit*/) {
  return std::string(name_of(value));
}

}  // namespace

std::string_view name_of(State state) noexcept {
  return kStateNames[static_cast<std::size_t>(state)];
}

std::optional<State> state_named(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kStateNames, name);
  if (found == kStateNames.end()) return std::nullopt;
  return static_cast<State>(found - kStateNames.begin());
}

std::span<const Column> columns() {
  return kColumns;
}

std::string cell_text(const Column& column, const RankRow& row) {
  return std::visit(
      [&](auto member) { return text_of(row.*member, column.unit); },
      column.member);
}

bool is_text(const Column& column) noexcept {
  return std::holds_alternative<std::string Row::*>(column.member) ||
         std::holds_alternative<State Row::*>(column.member);
}

bool is_less(const Column& column, const RankRow& a, const RankRow& b) {
  return std::visit([&](auto member) { return a.*member < b.*member; },
                    column.member);
}

std::string describe_seconds(double seconds) {
  // A double above this is no duration, and no number of seconds either.
  constexpr double kMost = 1e9;
  const auto whole = static_cast<std::int64_t>(std::min(seconds, kMost));
  if (seconds < 10) return fmt::format("{:.1f}s", std::max(seconds, 0.0));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86'400) {
    return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  }
  return fmt::format("{}d{:02}h", whole / 86'400, whole / 3600 % 24);
}

}  // namespace acp::top
