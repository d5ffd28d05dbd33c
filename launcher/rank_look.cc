// Reads the ranks' records in the host segment. Called by HostPart. Only reads.
#include "launcher/rank_look.h"

#include "base/printable.h"
#include "protocol/byte_codec.h"

namespace acp::launcher {

using protocol::ByteReader;
using protocol::ByteWriter;

/// Reads words of the segment that any rank may be changing. So each word may
/// be newer than the word before it.
std::vector<RankLook> look_at_ranks(const protocol::HostSegment& segment,
                                    std::span<const std::uint32_t> pids) {
  std::vector<RankLook> looks;
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    // Relaxed: this is a snapshot for people and for the watchdog, which
    // compares several, while the ranks go on.
    const protocol::ProcRecord& record = segment.record(slot);
    RankLook look;
    look.launch_rank = record.proc;
    look.rank = record.rank.load(std::memory_order_relaxed);
    look.wait_kind = record.wait_kind.load(std::memory_order_relaxed);
    look.wait_peer = record.wait_peer.load(std::memory_order_relaxed);
    look.wait_name = printable(record.wait_name.get());
    look.passes = record.passes.load(std::memory_order_relaxed);
    look.waits = record.waits.load(std::memory_order_relaxed);
    look.arrivals = record.arrivals.load(std::memory_order_relaxed);
    look.traffic = record.traffic.get();
    if (pids[slot] != 0) {
      look.process = state_of_process(
          pids[slot], record.wait_thread.load(std::memory_order_relaxed));
    }
    looks.push_back(std::move(look));
  }
  return looks;
}

std::string encode_looks(const std::vector<RankLook>& looks) {
  ByteWriter writer;
  writer.number(static_cast<std::uint32_t>(looks.size()));
  for (const RankLook& look : looks) {
    writer.number(look.launch_rank);
    writer.number(look.rank);
    writer.number(look.wait_kind);
    writer.number(look.wait_peer);
    writer.text(look.wait_name);
    writer.number(look.passes);
    writer.number(look.waits);
    writer.number(look.arrivals);
    writer.number(look.traffic);
    writer.number(look.process);
  }
  return writer.take();
}

/// Fields are in the order of encode_looks(). The reader returns zeros behind
/// the end and remembers that, so one check at the end finds a short message.
std::optional<std::vector<RankLook>> decode_looks(std::string_view bytes,
                                                  std::uint32_t ranks) {
  ByteReader reader(bytes);
  std::vector<RankLook> looks(reader.count());
  for (RankLook& look : looks) {
    look.launch_rank = reader.number<std::uint32_t>();
    look.rank = reader.number<std::uint32_t>();
    look.wait_kind = reader.number<std::uint32_t>();
    look.wait_peer = reader.number<std::uint32_t>();
    look.wait_name = printable(reader.text(), kPrintableName);
    look.passes = reader.number<std::uint64_t>();
    look.waits = reader.number<std::uint64_t>();
    look.arrivals = reader.number<std::uint64_t>();
    look.traffic = reader.number<protocol::Traffic>();
    look.process = reader.number<ProcessState>();
    if (look.launch_rank >= ranks) return std::nullopt;
  }
  if (!reader.is_at_end()) return std::nullopt;
  return looks;
}

}  // namespace acp::launcher
