// The bytes of views. Called by acprun, which makes them, and by acp_top. Pure.
// A reader may get any bytes: it checks every number that it uses as an index.
#include "protocol/job_view.h"

#include "base/printable.h"
#include "protocol/byte_codec.h"

namespace acp::protocol {

namespace {

constexpr std::uint32_t kViewMagic = 0x56504341;  // "ACPV"

/// Bits of the byte that has what a look saw of the process.
constexpr std::uint8_t kSeenBit = 1;
constexpr std::uint8_t kStoppedBit = 2;
constexpr std::uint8_t kRunningBit = 4;

void write_rank(ByteWriter& writer, const RankView& rank) {
  writer.number(rank.launch_rank);
  writer.number(rank.rank);
  writer.number(rank.host);
  writer.number(rank.pid);
  writer.number(rank.core);
  writer.number(static_cast<std::uint8_t>(rank.stage));
  writer.number(static_cast<std::uint8_t>((rank.was_seen ? kSeenBit : 0) |
                                          (rank.is_stopped ? kStoppedBit : 0) |
                                          (rank.is_running ? kRunningBit : 0)));
  writer.text(rank.call);
  writer.number(rank.peer);
  writer.number(rank.waited_ms);
  writer.number(rank.waits);
  writer.number(rank.arrivals);
  writer.number(rank.traffic);
}

/// Fields are in the order of write_rank(). False: a number out of its range.
bool read_rank(ByteReader& reader, const JobView& view, RankView& rank) {
  rank.launch_rank = reader.number<std::uint32_t>();
  rank.rank = reader.number<std::uint32_t>();
  rank.host = reader.number<std::uint32_t>();
  rank.pid = reader.number<std::uint32_t>();
  rank.core = reader.number<std::uint32_t>();
  const auto stage = reader.number<std::uint8_t>();
  const auto seen = reader.number<std::uint8_t>();
  rank.stage = static_cast<RankStage>(stage);
  rank.was_seen = (seen & kSeenBit) != 0;
  rank.is_stopped = (seen & kStoppedBit) != 0;
  rank.is_running = (seen & kRunningBit) != 0;
  rank.call = printable(reader.text(), kPrintableName);
  rank.peer = reader.number<std::uint32_t>();
  rank.waited_ms = reader.number<std::uint64_t>();
  rank.waits = reader.number<std::uint64_t>();
  rank.arrivals = reader.number<std::uint64_t>();
  rank.traffic = reader.number<Traffic>();
  return reader.is_good() && rank.launch_rank < view.procs &&
         rank.rank < view.procs && rank.host < view.hosts.size() &&
         stage <= static_cast<std::uint8_t>(RankStage::kEnded);
}

}  // namespace

std::string encode_view(const JobView& view) {
  ByteWriter body;
  body.number(view.acprun_pid);
  body.number(view.procs);
  body.text(view.program);
  body.number(view.age_ms);
  body.text(view.end);
  body.texts(view.hosts);
  body.number(static_cast<std::uint32_t>(view.ranks.size()));
  for (const RankView& rank : view.ranks)
    write_rank(body, rank);
  const std::string bytes = body.take();
  ByteWriter header;
  header.number(kViewMagic);
  header.number(kViewVersion);
  header.number(static_cast<std::uint32_t>(bytes.size()));
  return header.take() + bytes;
}

ViewHeader decode_view_header(std::string_view bytes) {
  ByteReader reader(bytes);
  ViewHeader header;
  header.is_view = reader.number<std::uint32_t>() == kViewMagic;
  header.version = reader.number<std::uint32_t>();
  header.bytes = reader.number<std::uint32_t>();
  return header;
}

/// Ranks are appended one by one: a count that lies takes no more memory than
/// the bytes which are there.
std::optional<JobView> decode_view(std::string_view bytes) {
  ByteReader reader(bytes);
  JobView view;
  view.acprun_pid = reader.number<std::uint32_t>();
  view.procs = reader.number<std::uint32_t>();
  view.program = printable(reader.text());
  view.age_ms = reader.number<std::uint64_t>();
  view.end = printable(reader.text());
  for (const std::string& host : reader.texts())
    view.hosts.push_back(printable(host, kPrintableName));
  for (std::uint32_t left = reader.count(); left > 0; --left) {
    RankView rank;
    if (!read_rank(reader, view, rank)) return std::nullopt;
    view.ranks.push_back(std::move(rank));
  }
  if (!reader.is_at_end()) return std::nullopt;
  return view;
}

}  // namespace acp::protocol
