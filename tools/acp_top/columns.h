// The rows that acp_top shows, and the table of their columns. The screen, the
// plain table, sorting and JSON in both directions all read that table. A new
// fact about ranks is a member of RankRow, a row in columns.cc, and the line of
// picture.cc that fills it in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace acp::top {

/// The activity of a rank; docs/observability.md explains each state.
enum class State : std::uint8_t {
  kStarting,
  kComputing,
  kWaiting,
  kInProgress,
  kAsleep,
  kStopped,
  kFinished,
  kEnded,
  kUnknown,
};

inline constexpr std::size_t kStates = 9;

/// "in progress".
std::string_view name_of(State state) noexcept;
/// nullopt: no state has this name.
std::optional<State> state_named(std::string_view name) noexcept;

using Number = std::optional<std::int64_t>;
using Real = std::optional<double>;

/// One rank. Plain value. A member without a value is not known.
struct RankRow {
  Number rank;
  std::string host;
  Number core;
  State state = State::kUnknown;
  std::string call;  ///< The function that it waits in; "": none.
  Number peer;       ///< The rank that it waits for.
  Real waited_s;
  Real waits_per_s;
  Real arrivals_per_s;
  Real sent_per_s;  ///< Packets over udp, as are the next three.
  Real resent_per_s;
  Number sent;
  Number resent;
  Number pid;
  Number started_as;

  bool operator==(const RankRow&) const = default;
};

using Member = std::variant<Number RankRow::*,
                            Real RankRow::*,
                            std::string RankRow::*,
                            State RankRow::*>;

/// How a number is written in the table.
enum class Unit : std::uint8_t { kNone, kSeconds, kRate };

struct Column {
  std::string_view name;   ///< In JSON.
  std::string_view title;  ///< In the table.
  Member member;
  Unit unit = Unit::kNone;
  std::size_t least = 0;  ///< Characters to which a narrow screen shortens it.
  std::size_t most = 12;  ///< Characters that it takes at most.
};

/// In the order of the table. A screen shows as many as it has room for.
std::span<const Column> columns();

/// Columns that every screen shows.
inline constexpr std::size_t kLeastColumns = 7;

/// The text in the table; "-" where the value is not known.
std::string cell_text(const Column& column, const RankRow& row);

bool is_text(const Column& column) noexcept;

/// Whether row a stands before row b in ascending order. Values that are not
/// known come first.
bool is_less(const Column& column, const RankRow& a, const RankRow& b);

/// "0.3s", "12s", "4m05s", "2h03m", "3d04h".
std::string describe_seconds(double seconds);

}  // namespace acp::top
