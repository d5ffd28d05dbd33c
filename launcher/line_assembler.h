// Makes whole lines of the bytes of one stream of one rank.
#pragma once

#include <string>
#include <string_view>

namespace acp::launcher {

enum class LineMode : std::uint8_t {
  kLines,        ///< Whole lines only.
  kPassThrough,  ///< Bytes as they come: nobody else writes.
};

/// Pure; used by one thread.
class LineAssembler {
 public:
  /// A line longer than this is delivered in pieces.
  static constexpr std::size_t kMaxLine = 1 << 20;

  /// `tag` goes before every line; kPassThrough takes none.
  LineAssembler(LineMode mode, std::string tag)
      : mode_(mode), tag_(std::move(tag)) {}

  /// Appends to `out` the lines that these bytes complete.
  void feed(std::string_view bytes, std::string& out);

  /// Appends the last, unterminated line, with a newline in kLines mode.
  void finish(std::string& out);

 private:
  void feed_lines(std::string_view lines, std::string& out);

  LineMode mode_;
  std::string tag_;
  std::string partial_;    ///< Of the last line; its tag is not yet written ...
  bool in_piece_ = false;  ///< ... unless a piece of it has been delivered.
};

}  // namespace acp::launcher
