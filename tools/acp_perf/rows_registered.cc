// Rows of operations on registered memory that the target's program got from
// malloc. rows.cc lists them, and runner.cc runs them. No row may register
// memory: memory.cc has done it before.
#include <cstring>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

enum class Way : std::uint8_t { kPut, kGet };

/// Puts and gets are both checked in this rank's outbox: a get row first puts
/// the pattern that it will get, a put row fetches the pattern at the end.
Outcome run_copy(Context& context,
                 Samples& samples,
                 Way way,
                 std::uint64_t bytes) {
  const Memory& memory = context.memory;
  const acp_ga_t remote = context.peer.registered;
  const acp_ga_t local = memory.outbox(context.rank);
  const acp_ga_t destination = way == Way::kPut ? remote : local;
  const acp_ga_t source = way == Way::kPut ? local : remote;
  std::byte* own = memory.own_outbox();
  fill_pattern(own, bytes, context.row);
  if (way == Way::kGet) {
    acp_complete(acp_copy(remote, local, bytes, ACP_HANDLE_NULL));
    std::memset(own, 0, bytes);
  }
  measure(context.time_ns, 1, samples, [&] {
    acp_complete(acp_copy(destination, source, bytes, ACP_HANDLE_NULL));
  });
  if (way == Way::kPut) {
    std::memset(own, 0, bytes);
    acp_complete(acp_copy(local, remote, bytes, ACP_HANDLE_NULL));
  }
  return expect(has_pattern(own, bytes, context.row), "copied bytes differ");
}

Outcome run_add(Context& context, Samples& samples) {
  const Memory& memory = context.memory;
  const acp_ga_t local = memory.word(context.rank, Word::kResult);
  std::uint64_t* old = memory.own_word(Word::kResult);
  acp_complete(acp_copy(local, context.peer.registered, 8, ACP_HANDLE_NULL));
  const std::uint64_t start = *old;
  std::uint64_t count = 0;
  bool ok = true;
  measure(context.time_ns, 1, samples, [&] {
    acp_complete(acp_add8(local, context.peer.registered, 1, ACP_HANDLE_NULL));
    ok &= *old == start + count++;
  });
  return expect(ok, "an old value is wrong");
}

Row copy_row(Way way, std::uint64_t bytes, Unit unit) {
  const bool is_put = way == Way::kPut;
  return {.name = std::string(is_put ? "malloc.put" : "malloc.get") +
                  (unit == Unit::kTime ? "" : ".") + size_name(bytes),
          .what = is_put ? "acp_copy to registered malloc memory, acp_complete"
                         : "acp_copy from registered malloc memory, "
                           "acp_complete",
          .unit = unit,
          .bytes = bytes,
          .raw_direct =
              (is_put ? "raw.cma.write." : "raw.cma.read.") + size_name(bytes),
          .raw_network = unit == Unit::kTime ? "raw.udp" : "raw.udp.stream",
          .run = [way, bytes](Context& context, Samples& samples) {
            return run_copy(context, samples, way, bytes);
          }};
}

}  // namespace

void add_registered_rows(Rows& rows) {
  for (const Way way : {Way::kPut, Way::kGet}) {
    append(rows, {copy_row(way, 8, Unit::kTime),
                  copy_row(way, 4096, Unit::kBandwidth),
                  copy_row(way, 1 << 20, Unit::kBandwidth)});
  }
  append(rows, {{.name = "malloc.add8",
                 .what = "acp_add8 on registered malloc memory, acp_complete",
                 .raw_direct = "raw.line",
                 .raw_network = "raw.udp",
                 .run = run_add}});
}

}  // namespace acp::perf
