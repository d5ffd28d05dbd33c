// Assembles whole lines from the bytes of one stream of one rank.
#pragma once

#include <string>
#include <string_view>

namespace acp::launcher {

enum class LineMode : std::uint8_t {
  kLines,        ///< Whole lines only.
  kPassThrough,  ///< Bytes as they come, for a single rank.
};

/// Makes no system call. Used by one thread.
class LineAssembler {
 public:
  /// A line longer than this is delivered in pieces.
  static constexpr std::size_t kMaxLine = 1 << 20;

  /// `prefix` goes before every line; with kPassThrough it has to be "".
  LineAssembler(LineMode mode, std::string prefix)
      : mode_(mode), prefix_(std::move(prefix)) {}

  /// Appends to `out` the lines that these bytes complete.
  void feed(std::string_view bytes, std::string& out);

  /// Appends the last, unterminated line, with a newline in kLines mode.
  void finish(std::string& out);

 private:
  void feed_lines(std::string_view lines, std::string& out);

  LineMode mode_;
  std::string prefix_;
  std::string partial_;    ///< Begin of the last line, without its prefix.
  bool in_piece_ = false;  ///< Prefix and a piece of that line are delivered.
};

}  // namespace acp::launcher
