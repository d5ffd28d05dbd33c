// Lays out columns for a width. Called for each picture that is shown. Pure.
#include "table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "findings.h"

namespace acp::top {

namespace {

constexpr std::size_t kGap = 1;  // Blanks between two columns.

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

std::size_t natural_width(const Column& column, std::span<const RankRow> rows) {
  std::size_t width = length_of(column.title);
  for (const RankRow& row : rows)
    width = std::max(width, length_of(cell_text(column, row)));
  return std::min(width, column.most);
}

std::size_t total(std::span<const ShownColumn> layout) {
  std::size_t width = 0;
  for (const ShownColumn& shown : layout)
    width += shown.width + (width == 0 ? 0 : kGap);
  return width;
}

std::string pad(std::string_view text, std::size_t width, bool is_left) {
  const std::string blanks(width - std::min(width, length_of(text)), ' ');
  return is_left ? std::string(text) + blanks : blanks + std::string(text);
}

/// Joins cells, and shortens the line where even the least columns do not fit.
template <typename Cell>
std::string line_of(std::span<const ShownColumn> layout,
                    std::size_t width,
                    Cell cell) {
  std::string line;
  for (const ShownColumn& shown : layout) {
    if (!line.empty()) line.append(kGap, ' ');
    line += pad(shorten(cell(*shown.column), shown.width), shown.width,
                is_text(*shown.column));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return shorten(line, width);
}

}  // namespace

std::size_t length_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return !continues_character(byte); }));
}

std::string shorten(std::string_view text, std::size_t width) {
  if (length_of(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t end = 0;
  for (std::size_t left = width; end < text.size(); ++end) {
    if (!continues_character(text[end]) && left-- == 1) break;
  }
  return std::string(text.substr(0, end)) + '~';
}

/// The least columns come first, and give up room that the line has not. Then
/// the others follow, as long as they fit.
std::vector<ShownColumn> lay_out(std::span<const RankRow> rows,
                                 std::size_t width) {
  std::vector<ShownColumn> layout;
  for (const Column& column : columns()) {
    layout.push_back({&column, natural_width(column, rows)});
    if (layout.size() > kLeastColumns && total(layout) > width) {
      layout.pop_back();
      break;
    }
    if (layout.size() != kLeastColumns) continue;
    for (auto shown = layout.rbegin(); shown != layout.rend(); ++shown) {
      const std::size_t least = shown->column->least;
      if (least == 0 || shown->width <= least) continue;
      const std::size_t excess = total(layout) - std::min(total(layout), width);
      shown->width -= std::min(excess, shown->width - least);
    }
  }
  return layout;
}

std::string title_line(std::span<const ShownColumn> layout, std::size_t width) {
  return line_of(layout, width,
                 [](const Column& column) { return column.title; });
}

std::string row_line(std::span<const ShownColumn> layout,
                     const RankRow& row,
                     std::size_t width) {
  return line_of(layout, width, [&row](const Column& column) {
    return cell_text(column, row);
  });
}

/// States are counted in the order of their enumeration. The reason of an end
/// takes the place of the counts.
std::vector<std::string> head_lines(const Picture& picture, std::size_t width) {
  std::array<std::size_t, kStates> counts{};
  for (const RankRow& row : picture.rows)
    ++counts[static_cast<std::size_t>(row.state)];
  std::string states;
  for (std::size_t i = 0; i < kStates; ++i) {
    if (counts[i] == 0) continue;
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", counts[i],
                          name_of(static_cast<State>(i)));
  }
  if (picture.rows.empty()) {
    states = fmt::format("acprun shows the ranks of jobs with up to {} ranks",
                         protocol::kMostViewRanks);
  }
  const std::string facts = fmt::format(
      "job {}, {} rank{} on {} host{}, {}: ", picture.acprun, picture.ranks,
      picture.ranks == 1 ? "" : "s", picture.hosts,
      picture.hosts == 1 ? "" : "s", describe_seconds(picture.age_s));
  return {
      shorten(facts + picture.program, width),
      shorten(picture.end.empty() ? states : "ENDED: " + picture.end, width)};
}

std::string plain_text(const Picture& picture, std::size_t width) {
  std::vector<std::string> lines = head_lines(picture, width);
  for (const std::string& finding : findings_of(picture))
    lines.push_back(shorten(finding, width));
  const auto layout = lay_out(picture.rows, width);
  lines.push_back(title_line(layout, width));
  for (const RankRow& row : picture.rows)
    lines.push_back(row_line(layout, row, width));
  std::string text;
  for (const std::string& line : lines)
    text.append(line).append("\n");
  return text;
}

}  // namespace acp::top
