// Rows of operations on registered memory that the target's program got from
// malloc.
#include <cstring>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

enum class Way : std::uint8_t { kPut, kGet };

/// Puts and gets are both checked in this rank's outbox: a get row first puts
/// the pattern that it will get, a put row fetches the pattern at the end.
Verdict run_copy(Context& context,
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

Verdict run_add(Context& context, Samples& samples) {
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

void add_copy_row(Rows& rows, Way way, std::uint64_t bytes, Unit unit) {
  const bool is_put = way == Way::kPut;
  Row row;
  row.name = std::string("malloc.") + (is_put ? "put" : "get") +
             (unit == Unit::kTime ? "" : ".") + size_name(bytes);
  row.what = is_put ? "acp_copy to registered malloc memory, acp_complete"
                    : "acp_copy from registered malloc memory, acp_complete";
  row.unit = unit;
  row.bytes = bytes;
  row.raw_direct =
      (is_put ? "raw.cma.write." : "raw.cma.read.") + size_name(bytes);
  row.raw_network = unit == Unit::kTime ? "raw.udp" : "raw.udp.stream";
  row.run = [way, bytes](Context& context, Samples& samples) {
    return run_copy(context, samples, way, bytes);
  };
  rows.push_back(std::move(row));
}

}  // namespace

void add_registered_rows(Rows& rows) {
  for (const Way way : {Way::kPut, Way::kGet}) {
    add_copy_row(rows, way, 8, Unit::kTime);
    add_copy_row(rows, way, 4096, Unit::kBandwidth);
    add_copy_row(rows, way, 1 << 20, Unit::kBandwidth);
  }
  Row add;
  add.name = "malloc.add8";
  add.what = "acp_add8 on registered malloc memory, acp_complete";
  add.raw_direct = "raw.line";
  add.raw_network = "raw.udp";
  add.run = run_add;
  rows.push_back(std::move(add));
}

}  // namespace acp::perf
