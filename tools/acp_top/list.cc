// Keys, order, filter and scrolling of the screen. Called by screen.cc. Pure.
#include "list.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "findings.h"
#include "table.h"

namespace acp::top {

namespace {

/// Findings on a screen. The rows need most of it.
constexpr std::size_t kMostFindings = 4;

constexpr std::string_view kHelp[] = {
    "arrows, PageUp, PageDown, Home, End   move through the ranks",
    "< >   sort by the column to the left or right",
    "r     turn the order around",
    "n     sort by rank",
    "w     sort by the time waited, the longest first",
    "/     show only these ranks (0,3-5), or rows with this text",
    "l     show only ranks that have waited for a second or longer",
    "p     pause, and go on",
    "Esc   show all ranks in their order",
    "q     leave; the job goes on",
};

/// Takes a number off the front of a text. nullopt: there is none.
Number take_number(std::string_view& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

bool take(std::string_view& text, char character) {
  if (!text.starts_with(character)) return false;
  text.remove_prefix(1);
  return true;
}

/// Whether the list has the rank; nullopt: the text is no list of ranks.
std::optional<bool> is_in_list(std::string_view text, std::int64_t rank) {
  bool is_in = false;
  do {
    const Number first = take_number(text);
    const Number last = first && take(text, '-') ? take_number(text) : first;
    if (!first || !last) return std::nullopt;
    is_in = is_in || (rank >= *first && rank <= *last);
  } while (take(text, ','));
  return text.empty() ? std::optional(is_in) : std::nullopt;
}

std::size_t column_named(std::string_view name) {
  const auto all = columns();
  const auto found = std::ranges::find(all, name, &Column::name);
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace

bool passes(std::string_view filter, const RankRow& row) {
  if (filter.empty()) return true;
  if (const auto is_in = is_in_list(filter, row.rank.value_or(-1))) {
    return *is_in;
  }
  return std::ranges::any_of(columns(), [&](const Column& column) {
    return is_text(column) &&
           cell_text(column, row).find(filter) != std::string::npos;
  });
}

std::vector<RankRow> List::rows(const Picture& picture) const {
  std::vector<RankRow> rows;
  std::ranges::copy_if(picture.rows, std::back_inserter(rows),
                       [this](const RankRow& row) {
                         return passes(filter_, row) &&
                                (!shows_long_waits_ || is_long_wait(row));
                       });
  const Column& column = columns()[sort_];
  std::ranges::stable_sort(rows, [&](const RankRow& a, const RankRow& b) {
    return is_descending_ ? is_less(column, b, a) : is_less(column, a, b);
  });
  return rows;
}

/// The filter while it is typed: every key but Enter and Escape edits it.
void List::type(Key key, char character) {
  switch (key) {
    case Key::kCharacter: filter_ += character; break;
    case Key::kBackspace:
      if (!filter_.empty()) filter_.pop_back();
      break;
    case Key::kEscape: filter_.clear(); [[fallthrough]];
    case Key::kEnter: is_typing_ = false; break;
    default: break;
  }
  first_ = 0;
}

void List::move_sort(int by) {
  const auto count = static_cast<int>(columns().size());
  sort_ =
      static_cast<std::size_t>((static_cast<int>(sort_) + by + count) % count);
}

/// first_ may come to lie behind the last row here; lines() mends that, because
/// it knows the rows.
bool List::press(Key key, char character) {
  if (shows_help_) {
    shows_help_ = false;
    return key != Key::kCharacter || character != 'q';
  }
  if (is_typing_) {
    type(key, character);
    return true;
  }
  switch (key) {
    case Key::kUp: first_ -= std::min<std::size_t>(first_, 1); break;
    case Key::kDown: ++first_; break;
    case Key::kPageUp: first_ -= std::min(first_, page_); break;
    case Key::kPageDown: first_ += page_; break;
    case Key::kHome: first_ = 0; break;
    case Key::kEnd: first_ = SIZE_MAX / 2; break;
    case Key::kLeft: move_sort(-1); break;
    case Key::kRight: move_sort(1); break;
    case Key::kEscape: {
      const bool was_paused = is_paused_;
      *this = List();
      is_paused_ = was_paused;
      break;
    }
    case Key::kCharacter:
      switch (character) {
        case 'q': return false;
        case '<': move_sort(-1); break;
        case '>': move_sort(1); break;
        case 'r': is_descending_ = !is_descending_; break;
        case 'n':
          sort_ = 0;
          is_descending_ = false;
          break;
        case 'w':
          sort_ = column_named("waited_s");
          is_descending_ = true;
          break;
        case 'l': shows_long_waits_ = !shows_long_waits_; break;
        case 'p': is_paused_ = !is_paused_; break;
        case '/':
          is_typing_ = true;
          filter_.clear();
          break;
        case '?':
        case 'h': shows_help_ = true; break;
        default: break;
      }
      break;
    default: break;
  }
  return true;
}

std::string List::last_line(std::size_t rows, std::size_t shown) const {
  if (is_typing_) return fmt::format("/{}_  (Enter, Esc)", filter_);
  std::string text = rows == 0 ? "no rank to show"
                               : fmt::format("rows {}-{} of {}", first_ + 1,
                                             first_ + shown, rows);
  text += fmt::format(", by {}{}", columns()[sort_].title,
                      is_descending_ ? " down" : "");
  if (!filter_.empty()) text += fmt::format(", filter {}", filter_);
  if (shows_long_waits_) text += ", long waits";
  if (is_paused_) text += ", PAUSED";
  if (!notice_.empty()) text += ", " + notice_;
  return text + "   ? help, q leave";
}

std::vector<Line> List::help_lines(std::size_t height) const {
  std::vector<Line> lines = {{"acp_top: any key goes back", Style::kBold}};
  for (const std::string_view line : kHelp)
    lines.push_back({std::string(line), Style::kPlain});
  lines.resize(height);
  return lines;
}

/// From top to bottom: the job, the findings, the rows, and the last line.
std::vector<Line> List::lines(const Picture& picture,
                              std::size_t width,
                              std::size_t height) {
  if (shows_help_) return help_lines(height);
  std::vector<Line> lines;
  for (std::string& text : head_lines(picture, width))
    lines.push_back({std::move(text), Style::kBold});
  if (!picture.end.empty()) lines.back().style = Style::kAlarm;
  std::vector<std::string> findings = findings_of(picture);
  findings.resize(std::min(findings.size(), kMostFindings));
  for (const std::string& finding : findings)
    lines.push_back({shorten(finding, width), Style::kAlarm});
  // All rows decide on the widths, so that nothing jumps while one scrolls.
  const auto layout = lay_out(picture.rows, width);
  lines.push_back({title_line(layout, width), Style::kTitle});

  const std::vector<RankRow> all = rows(picture);
  page_ = height > lines.size() + 1 ? height - lines.size() - 1 : 1;
  first_ = std::min(first_, all.size() - std::min(all.size(), page_));
  const std::size_t shown = std::min(page_, all.size() - first_);
  for (std::size_t i = first_; i < first_ + shown; ++i) {
    const Style style =
        is_long_wait(all[i]) ? Style::kBold
        : all[i].state == State::kStopped || all[i].state == State::kUnknown
            ? Style::kAlarm
        : all[i].state == State::kEnded || all[i].state == State::kFinished
            ? Style::kDim
            : Style::kPlain;
    lines.push_back({row_line(layout, all[i], width), style});
  }
  lines.resize(std::max<std::size_t>(height, 1) - 1);
  lines.push_back({shorten(last_line(all.size(), shown), width), Style::kDim});
  return lines;
}

}  // namespace acp::top
