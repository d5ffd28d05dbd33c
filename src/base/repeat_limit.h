// Keeps a failure that repeats from flooding the output with equal lines.
//
// The log asks before it writes a line. Pure but for its own state; used by one
// thread at a time, under the log's mutex.
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
  /// Equal lines that are shown within a second of the first of them.
  static constexpr std::uint64_t kLinesASecond = 10;

  /// Takes a line that was held back `count` times.
  using Report =
      std::function<void(std::string_view text, std::uint64_t count)>;

  /// Whether `text` is to be shown now. First reports the lines that were held
  /// back in seconds that are over.
  bool admit(std::string_view text, TimePoint now, const Report& report);

  /// Reports all that was held back and forgets it; before the process ends.
  void report_all(const Report& report);

 private:
  /// One of the texts that were seen last. Unused: count 0.
  struct Line {
    std::string text;
    TimePoint first{};        ///< When its second began.
    std::uint64_t count = 0;  ///< Since then, shown and held back.
  };

  static void end(Line& line, const Report& report);

  std::array<Line, 8> lines_;  ///< A program seldom fails in more ways at once.
};

}  // namespace acp
