// Keeps a failure that repeats from flooding the output with equal lines.
//
// The log asks it before it writes a line. The class does no input or output;
// the log calls it with its mutex held.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace acp {

class RepeatLimit {
 public:
  /// The number of equal lines that are shown within a second from the first.
  static constexpr std::uint64_t kLinesASecond = 2;

  /// The type of a function that takes a line and how often it was held back.
  using Report =
      std::function<void(std::string_view text, std::uint64_t count)>;

  /// Whether `text` is to be shown now. Before it decides, it reports the lines
  /// that were held back in earlier seconds.
  bool admit(std::string_view text, TimePoint now, const Report& report);

  /// Reports and forgets all lines that were held back.
  void report_all(const Report& report);

 private:
  /// A text that was logged lately. An entry with count 0 is unused.
  struct Line {
    std::string text;
    TimePoint first{};        ///< When its current second began.
    std::uint64_t count = 0;  ///< Lines since `first`, shown or held back.
  };

  static void end(Line& line, const Report& report);

  std::array<Line, 8> lines_;  ///< 8: programs seldom fail in more
                               ///< ways at once.
};

}  // namespace acp
