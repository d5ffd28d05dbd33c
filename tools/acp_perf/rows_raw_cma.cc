// Raw rows of the kernel's copy between processes: process_vm_readv and
// process_vm_writev on the target's memory from malloc. rows.cc lists them, and
// runner.cc runs them. They may call no function of ACP while they measure.
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

enum class Direction : std::uint8_t { kRead, kWrite };

bool copy(const Context& context, Direction direction, std::uint64_t bytes) {
  iovec local{context.memory.own_outbox(), bytes};
  iovec remote{reinterpret_cast<void*>(context.peer.registered_address), bytes};
  const auto pid = static_cast<pid_t>(context.peer.pid);
  const ssize_t moved = direction == Direction::kRead
                            ? process_vm_readv(pid, &local, 1, &remote, 1, 0)
                            : process_vm_writev(pid, &local, 1, &remote, 1, 0);
  return moved == static_cast<ssize_t>(bytes);
}

/// Writes a pattern to the target, reads it back and compares.
bool round_trip_holds(const Context& context, std::uint64_t bytes) {
  fill_pattern(context.memory.own_outbox(), bytes, context.row);
  if (!copy(context, Direction::kWrite, bytes)) return false;
  std::memset(context.memory.own_outbox(), 0, bytes);
  return copy(context, Direction::kRead, bytes) &&
         has_pattern(context.memory.own_outbox(), bytes, context.row);
}

Outcome run_cma(Context& context,
                Samples& samples,
                Direction direction,
                std::uint64_t bytes) {
  Outcome outcome;
  if (!copy(context, direction, bytes)) {
    outcome.skipped =
        std::string("process_vm_readv/writev: ") + std::strerror(errno);
    return outcome;
  }
  bool ok = true;
  measure(context.time_ns, 1, samples,
          [&] { ok &= copy(context, direction, bytes); });
  return expect(ok && round_trip_holds(context, bytes), "bytes differ");
}

Row row_of(Direction direction, std::uint64_t bytes, Unit unit) {
  const bool is_read = direction == Direction::kRead;
  return {
      .name = (is_read ? "raw.cma.read." : "raw.cma.write.") + size_name(bytes),
      .what = is_read ? "process_vm_readv from the target"
                      : "process_vm_writev to the target",
      .unit = unit,
      .bytes = bytes,
      .needs = Needs::kSameHost,
      .run = [direction, bytes](Context& context, Samples& samples) {
        return run_cma(context, samples, direction, bytes);
      }};
}

}  // namespace

void add_raw_cma_rows(Rows& rows) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    append(rows, {row_of(direction, 8, Unit::kTime),
                  row_of(direction, 4096, Unit::kBandwidth),
                  row_of(direction, 1 << 20, Unit::kBandwidth)});
  }
}

}  // namespace acp::perf
