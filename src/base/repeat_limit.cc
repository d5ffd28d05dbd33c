// Counts equal log lines. Called by log.cc under its mutex. It may not read a
// clock: the time is an argument.
#include "base/repeat_limit.h"

#include <algorithm>
#include <utility>

namespace acp {

void RepeatLimit::end(Line& line, const Report& report) {
  if (line.count > kLinesASecond) {
    report(line.text, line.count - kLinesASecond);
  }
  line.count = 0;
}

/// Ends old lines first, so that a text which comes again after a second counts
/// anew.
bool RepeatLimit::admit(std::string_view text,
                        TimePoint now,
                        const Report& report) {
  for (Line& line : lines_) {
    if (line.count > 0 && now - line.first >= std::chrono::seconds(1)) {
      end(line, report);
    }
  }
  const auto known = std::find_if(
      lines_.begin(), lines_.end(),
      [text](const Line& line) { return line.count > 0 && line.text == text; });
  if (known != lines_.end()) {
    return ++known->count <= kLinesASecond;
  }
  // Unused entries have the smallest key, so the oldest text is replaced only
  // when all entries are used.
  Line& line = *std::min_element(lines_.begin(), lines_.end(),
                                 [](const Line& a, const Line& b) {
                                   return std::pair(a.count > 0, a.first) <
                                          std::pair(b.count > 0, b.first);
                                 });
  end(line, report);
  line = {std::string(text), now, 1};
  return true;
}

void RepeatLimit::report_all(const Report& report) {
  for (Line& line : lines_) {
    end(line, report);
  }
}

}  // namespace acp
