// The lines of text that show a picture: on the screen, and with --once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columns.h"
#include "picture.h"

namespace acp::top {

/// A column with the characters that it gets.
struct ShownColumn {
  const Column* column = nullptr;
  std::size_t width = 0;
};

/// The columns that fit into a line, in the order of the table. Every line
/// shows the first kLeastColumns; text is shortened for them.
std::vector<ShownColumn> lay_out(std::span<const RankRow> rows,
                                 std::size_t width);

/// Lines of at most `width` characters, without blanks at the end.
std::string title_line(std::span<const ShownColumn> layout, std::size_t width);
std::string row_line(std::span<const ShownColumn> layout,
                     const RankRow& row,
                     std::size_t width);

/// Two lines: the program and its age, and how many ranks are in each state.
std::vector<std::string> head_lines(const Picture& picture, std::size_t width);

/// The whole picture for --once.
std::string plain_text(const Picture& picture, std::size_t width);

/// The first characters of a text in UTF-8. "~" stands for the rest.
std::string shorten(std::string_view text, std::size_t width);

/// Characters of a text in UTF-8.
std::size_t length_of(std::string_view text) noexcept;

}  // namespace acp::top
