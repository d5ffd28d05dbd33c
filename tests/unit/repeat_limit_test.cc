// RepeatLimit: log lines that repeat are counted instead of shown.
#include "base/repeat_limit.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using acp::RepeatLimit;
using acp::TimePoint;

namespace {

/// A limit with a clock that only the test moves.
class Lines {
 public:
  bool admits(const std::string& text) {
    return limit_.admit(text, now_, report());
  }

  int admitted_of(int count, const std::string& text) {
    int admitted = 0;
    for (int i = 0; i < count; ++i) {
      admitted += admits(text) ? 1 : 0;
    }
    return admitted;
  }

  void pass(acp::Duration time) { now_ += time; }

  void end() { limit_.report_all(report()); }

  std::vector<std::string> reports;

 private:
  RepeatLimit::Report report() {
    return [this](std::string_view text, std::uint64_t count) {
      reports.push_back(std::to_string(count) + " " + std::string(text));
    };
  }

  RepeatLimit limit_;
  TimePoint now_{};
};

}  // namespace

TEST_CASE("base: two equal lines are shown in a second", "[base][log]") {
  Lines lines;
  CHECK(lines.admitted_of(1000, "bad key") == 2);
  lines.pass(999ms);
  CHECK_FALSE(lines.admits("bad key"));
  CHECK(lines.reports.empty());
  lines.pass(1ms);
  CHECK(lines.admits("bad key"));
  CHECK(lines.reports == std::vector<std::string>{"999 bad key"});
}

TEST_CASE("base: another line is shown, and tells of those held back before",
          "[base][log]") {
  Lines lines;
  lines.admitted_of(4, "bad key");
  CHECK(lines.admits("bad rank"));
  CHECK(lines.reports.empty());
  lines.pass(2s);
  CHECK(lines.admits("bad rank"));
  CHECK(lines.reports == std::vector<std::string>{"2 bad key"});
}

TEST_CASE("base: more kinds of lines than are remembered lose no count",
          "[base][log]") {
  Lines lines;
  for (int kind = 0; kind < 20; ++kind) {
    CHECK(lines.admitted_of(3, "line " + std::to_string(kind)) == 2);
    lines.pass(1ms);
  }
  CHECK(lines.reports.size() == 12);
  lines.end();
  CHECK(lines.reports.size() == 20);
  lines.end();
  CHECK(lines.reports.size() == 20);
}

TEST_CASE("base: lines that are all different are all shown", "[base][log]") {
  Lines lines;
  for (int i = 0; i < 1000; ++i) {
    CHECK(lines.admits("offset " + std::to_string(i)));
  }
  lines.end();
  CHECK(lines.reports.empty());
}
