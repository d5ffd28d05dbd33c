// The lines of acp_top's table at several widths, its order and its filter.
#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "list.h"
#include "table.h"
#include "tests/tools/top_rows.h"

namespace acp::top {

namespace {

using rows::computing;
using rows::picture;
using rows::waiting;

RankRow wide_row() {
  RankRow row = waiting(1048575, "acp_wait_ch (receive) of a long name",
                        1048574, 86'400 * 30);
  row.host = "node1234.cluster.example.org";
  row.core = 1023;
  row.state = State::kInProgress;
  row.waits_per_s = 123'456;
  row.sent_per_s = 1.25;
  return row;
}

/// A job of 300 ranks: rank r has waited for r / 100 seconds.
Picture large_job() {
  std::vector<RankRow> ranks;
  for (std::int64_t i = 0; i < 300; ++i) {
    ranks.push_back(
        waiting(i, "acp_sync", std::nullopt, static_cast<double>(i) / 100));
  }
  return picture(ranks);
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines)
    text += line.text + '\n';
  return text;
}

bool shows(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("acp_top: no line is wider than the screen", "[top]") {
  const Picture job = picture({wide_row(), computing(2)});
  for (std::size_t width = 1; width <= 240; ++width) {
    List list;
    for (const Line& line : list.lines(job, width, 24)) {
      INFO(width << ": " << line.text);
      CHECK(length_of(line.text) <= width);
    }
  }
}

TEST_CASE("acp_top: 80 columns show state, call, peer and time", "[top]") {
  const std::vector<RankRow> job = {wide_row()};
  const auto layout = lay_out(job, 80);
  CHECK(layout.size() == kLeastColumns);
  CHECK(title_line(layout, 80) ==
        "   RANK HOST             CORE STATE       WAITS IN         "
        "           FOR WAITED");
  const std::string line = row_line(layout, job[0], 80);
  CHECK(shows(line, "1048575 node1234.cluste~ 1023 in progress acp_wait_ch"));
  CHECK(shows(line, "~ 1048574 30d00h"));
}

TEST_CASE("acp_top: a wide screen shows every column", "[top]") {
  const std::vector<RankRow> job = {wide_row()};
  const auto layout = lay_out(job, 400);
  CHECK(layout.size() == columns().size());
  const std::string line = row_line(layout, job[0], 400);
  CHECK(shows(line, "123k"));
  CHECK(shows(line, "1.2"));
}

TEST_CASE("acp_top: characters of several bytes count once", "[top]") {
  CHECK(length_of("h\xc3\xa9") == 2);
  CHECK(shorten("h\xc3\xa9llo", 3) == "h\xc3\xa9~");
  CHECK(shorten("ab", 2) == "ab");
  CHECK(shorten("abc", 0).empty());
}

TEST_CASE("acp_top: durations are short", "[top]") {
  CHECK(describe_seconds(0.25) == "0.2s");
  CHECK(describe_seconds(59.9) == "59s");
  CHECK(describe_seconds(245) == "4m05s");
  CHECK(describe_seconds(7380) == "2h03m");
  CHECK(describe_seconds(90'000) == "1d01h");
  CHECK(describe_seconds(-1) == "0.0s");
}

TEST_CASE("acp_top: 300 ranks scroll on 24 lines", "[top]") {
  const Picture job = large_job();
  List list;
  CHECK(list.lines(job, 80, 24).size() == 24);
  CHECK(shows(list.lines(job, 80, 24).back().text, "rows 1-20 of 300"));
  list.press(Key::kPageDown);
  CHECK(shows(list.lines(job, 80, 24).back().text, "rows 21-40 of 300"));
  list.press(Key::kUp);
  CHECK(shows(list.lines(job, 80, 24).back().text, "rows 20-39 of 300"));
  list.press(Key::kEnd);
  CHECK(shows(list.lines(job, 80, 24).back().text, "rows 281-300 of 300"));
  list.press(Key::kDown);
  CHECK(shows(list.lines(job, 80, 24).back().text, "rows 281-300 of 300"));
  // A larger screen shows more of the end, and a tiny screen shows a row.
  CHECK(shows(list.lines(job, 80, 50).back().text, "rows 255-300 of 300"));
  CHECK(list.lines(job, 80, 3).size() == 3);
  list.press(Key::kHome);
  CHECK(shows(list.lines(job, 80, 24).back().text, "rows 1-20 of 300"));
}

TEST_CASE("acp_top: keys choose the order and the rows", "[top]") {
  const Picture job = large_job();
  List list;
  list.press(Key::kCharacter, 'w');
  CHECK(list.rows(job).front().rank == 299);
  list.press(Key::kCharacter, 'r');
  CHECK(list.rows(job).front().rank == 0);
  list.press(Key::kCharacter, 'l');
  CHECK(list.rows(job).size() == 200);
  list.press(Key::kEscape);
  CHECK(list.rows(job).size() == 300);
  list.press(Key::kCharacter, '<');
  list.press(Key::kRight);
  CHECK(list.rows(job).front().rank == 0);
  CHECK_FALSE(list.press(Key::kCharacter, 'q'));
}

TEST_CASE("acp_top: a filter is typed, shown, and taken back", "[top]") {
  const Picture job = large_job();
  List list;
  for (const char character : std::string("/0,17-19x")) {
    CHECK(list.press(Key::kCharacter, character));
  }
  list.press(Key::kBackspace);
  CHECK(shows(list.lines(job, 80, 24).back().text, "/0,17-19_"));
  list.press(Key::kEnter);
  CHECK(list.rows(job).size() == 4);
  // A letter of the filter is no command.
  for (const char character : std::string("/q"))
    CHECK(list.press(Key::kCharacter, character));
  list.press(Key::kEscape);
  CHECK(list.rows(job).size() == 300);
}

TEST_CASE("acp_top: a filter is a list of ranks or a part of a text", "[top]") {
  const RankRow row = waiting(12, "acp_sync", std::nullopt, 1);
  CHECK(passes("", row));
  CHECK(passes("12", row));
  CHECK(passes("1,10-20", row));
  CHECK_FALSE(passes("1-2", row));
  CHECK(passes("sync", row));
  CHECK(passes("asleep", row));
  CHECK_FALSE(passes("compl", row));
  CHECK_FALSE(passes("12-", row));
}

TEST_CASE("acp_top: --once prints the job, what stands out, and all ranks",
          "[top]") {
  Picture job = picture({waiting(0, "acp_wait_ch (receive)", 1, 9),
                         waiting(1, "acp_wait_ch (receive)", 0, 9)});
  CHECK(plain_text(job, 80) ==
        "job 77, 2 ranks on 1 host, 1m30s: ./program\n"
        "2 asleep\n"
        "STUCK: no rank has got any further for 9.0s\n"
        "CIRCLE of 2 ranks, for 9.0s: 0 -> 1 -> 0\n"
        "RANK HOST CORE STATE  WAITS IN              FOR WAITED WAITS/s "
        "ARRIVE/s SENT/s\n"
        "   0 a       - asleep acp_wait_ch (receive)   1   9.0s       -    "
        "    -      -\n"
        "   1 a       - asleep acp_wait_ch (receive)   0   9.0s       -    "
        "    -      -\n");
  job.end = "rank 1 failed";
  CHECK(shows(plain_text(job, 80), "ENDED: rank 1 failed\n"));
}

TEST_CASE("acp_top: help and pause", "[top]") {
  const Picture job = large_job();
  List list;
  list.press(Key::kCharacter, '?');
  CHECK(shows(text_of(list.lines(job, 80, 24)), "sort by rank"));
  list.press(Key::kCharacter, 'x');
  CHECK(shows(text_of(list.lines(job, 80, 24)), "RANK"));
  list.press(Key::kCharacter, 'p');
  CHECK(list.is_paused());
  CHECK(shows(list.lines(job, 80, 24).back().text, "PAUSED"));
}

}  // namespace acp::top
