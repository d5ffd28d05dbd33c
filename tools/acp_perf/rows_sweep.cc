// The rows of --sweep: one operation and its completion, and the bandwidth of
// many, over a range of sizes; and atomics over a range of windows. runner.cc
// runs them.
#include "copy_loop.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::uint64_t kMostWindow = 64;

Row time_row(Way way, std::uint64_t bytes) {
  const std::string name = way == Way::kPut ? "put" : "get";
  return {.name = name + ".time." + size_name(bytes),
          .what = "one " + name + ", completed",
          .bytes = bytes,
          .raw_direct = "raw.memmove." + size_name(bytes),
          .run = [way, bytes](Context& context, Samples& samples) {
            return run_copies(context, samples, way,
                              context.memory.inbox(context.target), bytes, 1);
          }};
}

/// Additions of 1 with one completion. The word shows that none is lost.
Outcome run_window(Context& context, Samples& samples, std::uint64_t window) {
  const Memory& memory = context.memory;
  const acp_ga_t target = memory.word(context.target, Word::kTarget);
  const acp_ga_t result = memory.word(context.rank, Word::kResult);
  memory.put_word(context.target, Word::kTarget, 0);
  std::uint64_t count = 0;
  measure(context.time_ns, window, samples, [&] {
    acp_handle_t last = ACP_HANDLE_NULL;
    for (std::uint64_t i = 0; i < window; ++i) {
      last = acp_add8(result, target, 1, ACP_HANDLE_NULL);
    }
    acp_complete(last);
    count += window;
  });
  return expect(memory.get_word(context.target, Word::kTarget) == count,
                "the word is not the number of additions");
}

Row window_row(std::uint64_t window) {
  return {.name = "add8.window." + std::to_string(window),
          .what = "additions under way at a time, completed together",
          .unit = Unit::kRate,
          .plotted_at = window,
          .run = [window](Context& context, Samples& samples) {
            return run_window(context, samples, window);
          }};
}

}  // namespace

/// A raw row stands before the rows that are compared with it.
Rows sweep_rows(std::uint64_t least, std::uint64_t most) {
  Rows rows;
  const auto add_for_each_size = [&](auto row_of) {
    for (std::uint64_t bytes = least; bytes <= most; bytes *= 2) {
      Row row = row_of(bytes);
      row.plotted_at = bytes;
      rows.push_back(std::move(row));
    }
  };
  add_for_each_size(memmove_row);
  for (const Way way : {Way::kPut, Way::kGet}) {
    add_for_each_size([way](auto bytes) { return time_row(way, bytes); });
    add_for_each_size([way](auto bytes) { return bandwidth_row(way, bytes); });
  }
  add_for_each_size([](auto bytes) {
    Row row = channel_round_trip_row(bytes);
    row.name = "channel.time." + size_name(bytes);
    row.unit = Unit::kTime;
    row.raw_direct = row.raw_network = "";
    return row;
  });
  add_for_each_size([](auto bytes) {
    Row row = channel_stream_row(bytes);
    row.unit = Unit::kBandwidth;
    return row;
  });
  for (std::uint64_t window = 1; window <= kMostWindow; window *= 2) {
    rows.push_back(window_row(window));
  }
  return rows;
}

}  // namespace acp::perf
