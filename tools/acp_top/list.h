// The state of the screen: order, filter and place. It takes keys and makes the
// lines of the screen, and knows no terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "picture.h"

namespace acp::top {

/// A key of the keyboard. kCharacter comes with its character.
enum class Key : std::uint8_t {
  kCharacter,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kLeft,
  kRight,
  kEnter,
  kBackspace,
  kEscape,
};

/// The look of a line.
enum class Style : std::uint8_t { kPlain, kBold, kTitle, kAlarm, kDim };

struct Line {
  std::string text;
  Style style = Style::kPlain;

  bool operator==(const Line&) const = default;
};

/// Used by one thread.
class List {
 public:
  /// Returns false when the key asks for the end of the program.
  bool press(Key key, char character = '\0');

  /// The lines of a screen of this size, exactly `height` of them.
  std::vector<Line> lines(const Picture& picture,
                          std::size_t width,
                          std::size_t height);

  /// Words for the last line; "" shows none.
  void set_notice(std::string_view notice) { notice_ = notice; }

  /// The screen shows no new pictures.
  bool is_paused() const noexcept { return is_paused_; }

  /// The rows that the filter passes, in the chosen order.
  std::vector<RankRow> rows(const Picture& picture) const;

 private:
  void type(Key key, char character);
  void move_sort(int by);
  std::string last_line(std::size_t rows, std::size_t shown) const;
  std::vector<Line> help_lines(std::size_t height) const;

  std::size_t sort_ = 0;  ///< Index in columns().
  bool is_descending_ = false;
  bool shows_long_waits_ = false;  ///< The list shows no other rows.
  std::string filter_;
  bool is_typing_ = false;  ///< Characters go into filter_.
  bool shows_help_ = false;
  bool is_paused_ = false;
  std::string notice_;
  std::size_t first_ = 0;  ///< The first row on the screen.
  std::size_t page_ = 1;   ///< Rows on the screen; lines() sets it.
};

/// Whether a filter passes a row. A filter such as "0,3-5" is a list of ranks;
/// any other text has to be in a cell of text. "" passes every row.
bool passes(std::string_view filter, const RankRow& row);

}  // namespace acp::top
