// Reads the counters of ranks in the host segment, and carries them as bytes.
// Called by HostPart at the end of a job, also for ranks that have died. Only
// reads.
#include "launcher/rank_counters.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/printable.h"
#include "launcher/waits.h"
#include "protocol/byte_codec.h"

namespace acp::launcher {

using protocol::ByteReader;
using protocol::ByteWriter;
using protocol::CounterPart;
using protocol::HostSegment;
using protocol::ProcRecord;

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::int64_t now_ns() {
  const std::chrono::nanoseconds since_start =
      std::chrono::steady_clock::now().time_since_epoch();
  return since_start.count();
}

std::uint64_t at_least_zero(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

OpsByWay ops_of(const protocol::PeerCounters& row) {
  OpsByWay ops;
  for (std::size_t way = 0; way < protocol::kCountedWays; ++way) {
    for (std::size_t kind = 0; kind < protocol::kCountedKinds; ++kind) {
      ops.ways[way][kind] = {row.cells[way][kind].operations.load(kRelaxed),
                             row.cells[way][kind].bytes.load(kRelaxed)};
    }
  }
  return ops;
}

/// Threads have rows of their own; a peer gets the sum.
std::vector<PeerCount> peers_of(CounterPart& part, std::uint32_t procs) {
  std::map<std::uint32_t, OpsByWay> by_peer;
  const std::uint32_t rows =
      std::min(part.peer_rows.load(kRelaxed), protocol::peer_rows_for(procs));
  for (std::uint32_t i = 0; i < rows; ++i) {
    const protocol::PeerCounters& row = part.rows()[i];
    by_peer[row.proc.load(kRelaxed)].add(ops_of(row));
  }
  std::vector<PeerCount> peers;
  peers.reserve(by_peer.size());
  for (const auto& [peer, ops] : by_peer)
    peers.push_back({peer, ops});
  return peers;
}

std::vector<CallCount> calls_of(const CounterPart& part) {
  std::vector<CallCount> calls;
  const std::size_t count = std::min<std::size_t>(
      part.calls.load(std::memory_order_acquire), protocol::kMostCalls);
  for (std::size_t i = 0; i < count; ++i) {
    const protocol::CallCounters& row = part.call[i];
    CallCount call;
    call.name = printable(row.name.get());
    if (call.name.empty()) call.name = function_of(row.kind.load(kRelaxed));
    call.waits = row.waits.load(kRelaxed);
    call.waited_ns = row.waited_ns.load(kRelaxed);
    call.peer = row.peer.load(kRelaxed);
    call.peer_ns = row.peer_ns.load(kRelaxed);
    calls.push_back(std::move(call));
  }
  return calls;
}

std::vector<NamedCount> own_counts_of(const CounterPart& part) {
  std::vector<NamedCount> counts;
  const std::size_t used =
      std::min<std::size_t>(part.own_counts.load(std::memory_order_acquire),
                            protocol::kMostOwnCounts);
  for (std::size_t i = 0; i < used; ++i) {
    const protocol::OwnCount& row = part.own_count[i];
    counts.push_back({printable(row.name.get()), row.value.load(kRelaxed)});
  }
  return counts;
}

/// A rank that has died in a wait, or is in acp_finalize, has not counted the
/// time of that wait.
void add_open_wait(const HostSegment& segment,
                   const ProcRecord& record,
                   std::uint64_t open_ns,
                   RankCounters& counters) {
  RankLook look;
  look.wait_kind = record.wait_kind.load(kRelaxed);
  look.wait_peer = record.wait_peer.load(kRelaxed);
  look.wait_name = printable(record.wait_name.get());
  const WaitedCall wait = waited_call(look);
  counters.waited_ns += open_ns;
  if (wait.call.empty()) return;
  auto call = std::ranges::find(counters.calls, wait.call, &CallCount::name);
  if (call == counters.calls.end()) {
    call = counters.calls.insert(call, CallCount{.name = wait.call});
  }
  ++call->waits;
  call->waited_ns += open_ns;
  if (wait.peer < segment.header().procs && open_ns > call->peer_ns) {
    call->peer = segment.proc_of_rank()[wait.peer].load(kRelaxed);
    call->peer_ns = open_ns;
  }
}

void measure_memory(const HostSegment& segment,
                    std::uint32_t slot,
                    const CounterPart& part,
                    RankCounters& counters) {
  const protocol::HostHeader& header = segment.header();
  const std::byte* slice = segment.slice(slot);
  const std::uint64_t heap =
      std::min(part.heap_bytes.load(kRelaxed), header.module_bytes);
  counters.heap_bytes = segment.touched_bytes(
      slice + header.module_offset + protocol::kRuntimeAreaBytes, heap);
  counters.library_bytes =
      segment.touched_bytes(slice, header.slice_stride) - counters.heap_bytes;
  counters.registered_bytes = part.registered_bytes.load(kRelaxed);
  counters.registered_most_bytes = part.registered_most_bytes.load(kRelaxed);
}

}  // namespace

CountedOps OpsByWay::of(protocol::CountedKind kind) const noexcept {
  CountedOps sum;
  for (const auto& way : ways)
    sum.add(way[static_cast<std::size_t>(kind)]);
  return sum;
}

void OpsByWay::add(const OpsByWay& other) noexcept {
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (std::size_t kind = 0; kind < ways[way].size(); ++kind)
      ways[way][kind].add(other.ways[way][kind]);
  }
}

/// Words are read one by one while the rank may go on, so a sum may lack what
/// another one has already.
std::optional<RankCounters> read_counters(const HostSegment& segment,
                                          std::uint32_t slot) {
  CounterPart* part = segment.counters(slot);
  if (part == nullptr) return std::nullopt;
  const std::int64_t began = part->began_ns.load(kRelaxed);
  if (began == 0) return std::nullopt;
  const ProcRecord& record = segment.record(slot);
  RankCounters counters;
  counters.launch_rank = record.proc;
  counters.rank = record.rank.load(kRelaxed);
  counters.pid = record.os_pid.load(kRelaxed);
  const std::int64_t ended = part->ended_ns.load(kRelaxed);
  const std::int64_t end = ended != 0 ? ended : now_ns();
  counters.elapsed_ns = at_least_zero(end - began);
  counters.waited_ns = at_least_zero(part->waited_ns.load(kRelaxed));
  counters.udp = record.traffic.get();
  counters.calls = calls_of(*part);
  counters.peers = peers_of(*part, segment.header().procs);
  counters.own = own_counts_of(*part);
  if (const std::int64_t since = part->waits_since_ns.load(kRelaxed);
      since != 0) {
    add_open_wait(segment, record, at_least_zero(end - since), counters);
  }
  std::ranges::sort(counters.calls, std::ranges::greater(),
                    &CallCount::waited_ns);
  measure_memory(segment, slot, *part, counters);
  return counters;
}

/// Only counts that are not 0 travel, each with its position.
std::string encode_counters(const RankCounters& counters) {
  ByteWriter writer;
  writer.number(counters.launch_rank);
  writer.number(counters.rank);
  writer.number(counters.pid);
  writer.number(counters.elapsed_ns);
  writer.number(counters.waited_ns);
  writer.number(counters.heap_bytes);
  writer.number(counters.library_bytes);
  writer.number(counters.registered_bytes);
  writer.number(counters.registered_most_bytes);
  writer.number(counters.udp);
  writer.number(static_cast<std::uint32_t>(counters.calls.size()));
  for (const CallCount& call : counters.calls) {
    writer.text(call.name);
    writer.number(call.waits);
    writer.number(call.waited_ns);
    writer.number(call.peer);
    writer.number(call.peer_ns);
  }
  writer.number(static_cast<std::uint32_t>(counters.peers.size()));
  for (const PeerCount& peer : counters.peers) {
    writer.number(peer.peer);
    std::uint32_t used = 0;
    for (const auto& way : peer.ops.ways) {
      used += static_cast<std::uint32_t>(std::ranges::count_if(
          way, [](const CountedOps& ops) { return ops.operations != 0; }));
    }
    writer.number(used);
    for (std::size_t way = 0; way < protocol::kCountedWays; ++way) {
      for (std::size_t kind = 0; kind < protocol::kCountedKinds; ++kind) {
        const CountedOps& ops = peer.ops.ways[way][kind];
        if (ops.operations == 0) continue;
        writer.number(static_cast<std::uint8_t>(way));
        writer.number(static_cast<std::uint8_t>(kind));
        writer.number(ops);
      }
    }
  }
  writer.number(static_cast<std::uint32_t>(counters.own.size()));
  for (const NamedCount& count : counters.own) {
    writer.text(count.name);
    writer.number(count.value);
  }
  return writer.take();
}

/// A peer or a rank that the job does not have would be an index out of bounds
/// later, so it is refused here.
std::optional<RankCounters> decode_counters(std::string_view bytes,
                                            std::uint32_t ranks) {
  ByteReader reader(bytes);
  RankCounters counters;
  counters.launch_rank = reader.number<std::uint32_t>();
  counters.rank = reader.number<std::uint32_t>();
  counters.pid = reader.number<std::uint32_t>();
  counters.elapsed_ns = reader.number<std::uint64_t>();
  counters.waited_ns = reader.number<std::uint64_t>();
  counters.heap_bytes = reader.number<std::uint64_t>();
  counters.library_bytes = reader.number<std::uint64_t>();
  counters.registered_bytes = reader.number<std::uint64_t>();
  counters.registered_most_bytes = reader.number<std::uint64_t>();
  counters.udp = reader.number<protocol::Traffic>();
  counters.calls.resize(reader.count());
  for (CallCount& call : counters.calls) {
    call.name = printable(reader.text(), kPrintableName);
    call.waits = reader.number<std::uint64_t>();
    call.waited_ns = reader.number<std::uint64_t>();
    call.peer = reader.number<std::uint32_t>();
    call.peer_ns = reader.number<std::uint64_t>();
    if (call.peer >= ranks) call.peer = protocol::kNoSlot;
  }
  counters.peers.resize(reader.count());
  for (PeerCount& peer : counters.peers) {
    peer.peer = reader.number<std::uint32_t>();
    if (peer.peer >= ranks && peer.peer != protocol::kOtherPeers) {
      return std::nullopt;
    }
    for (std::uint32_t used = reader.count(); used > 0; --used) {
      const auto way = reader.number<std::uint8_t>();
      const auto kind = reader.number<std::uint8_t>();
      const auto ops = reader.number<CountedOps>();
      if (way >= protocol::kCountedWays || kind >= protocol::kCountedKinds) {
        return std::nullopt;
      }
      peer.ops.ways[way][kind] = ops;
    }
  }
  counters.own.resize(reader.count());
  for (NamedCount& count : counters.own) {
    count.name = printable(reader.text(), kPrintableName);
    count.value = reader.number<std::uint64_t>();
  }
  if (!reader.is_at_end() || counters.launch_rank >= ranks) {
    return std::nullopt;
  }
  return counters;
}

}  // namespace acp::launcher
