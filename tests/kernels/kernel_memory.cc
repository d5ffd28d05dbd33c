// Makes the host segment and cleans it between schedules. Called by the
// constructors of programs; not instrumented.
#include "kernels/kernel_memory.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "explore/arena.h"
#include "kernels/program.h"
#include "support/host_memory.h"

namespace kernels {

namespace {

using acp::protocol::HostHeader;
using acp::protocol::HostSegment;
using acp::protocol::SliceHeader;

void name_slice(const SliceHeader& slice, std::uint32_t slot) {
  const std::string of = "[" + std::to_string(slot) + "]";
  name_memory(&slice.doorbell, 4, "doorbell" + of);
  name_memory(&slice.asleep, 8, "asleep" + of);
  name_memory(&slice.ring_head, 8, "ring_head" + of);
  name_memory(&slice.ring_tail, 8, "ring_tail" + of);
  name_memory(&slice.pair.epoch, 4, "pair.epoch" + of);
  name_memory(&slice.pair.sleepers, 4, "pair.sleepers" + of);
}

void name_header(const HostHeader& header) {
  name_memory(&header.job_state, 4, "job_state");
  name_memory(&header.barrier.arrived, 4, "arrived");
  name_memory(&header.barrier.epoch, 4, "epoch");
  name_memory(&header.barrier.ended_ns, 8, "ended_ns");
  name_memory(&header.barrier.sleepers, 4, "sleepers");
}

/// Everything behind the key table's place that programs write: the words of
/// the slice and of the entries of the ring, not their payload.
void clean_slice(const HostSegment& segment, std::uint32_t slot) {
  namespace protocol = acp::protocol;
  const HostHeader& header = segment.header();
  std::byte* slice = segment.slice(slot);
  std::memset(slice, 0, sizeof(SliceHeader));
  std::memset(static_cast<void*>(segment.keys(slot)), 0,
              kKeys * sizeof(protocol::KeyEntry));
  for (std::size_t i = 0; i < protocol::kRingEntries; ++i) {
    std::byte* entry =
        slice + header.ring_offset + i * protocol::kRingEntryBytes;
    std::memset(entry, 0, 64);
  }
}

/// The counts of a rank, by which its progress thread decides.
void clean_record(acp::protocol::ProcRecord& record) {
  record.wait_kind.store(0, std::memory_order_relaxed);
  record.wait_peer.store(0, std::memory_order_relaxed);
  record.heartbeat.store(0, std::memory_order_relaxed);
  record.passes.store(0, std::memory_order_relaxed);
  record.waits.store(0, std::memory_order_relaxed);
  record.arrivals.store(0, std::memory_order_relaxed);
  record.wait_thread.store(0, std::memory_order_relaxed);
}

void name_ring(const HostSegment& segment, std::uint32_t slot) {
  namespace protocol = acp::protocol;
  for (std::size_t i = 0; i < protocol::kRingEntries; ++i) {
    const std::byte* entry = segment.slice(slot) +
                             segment.header().ring_offset +
                             i * protocol::kRingEntryBytes;
    name_memory(entry, 8, "sequence[" + std::to_string(i) + "]");
    name_memory(entry, protocol::kRingEntryBytes,
                "entry[" + std::to_string(i) + "]");
  }
}

void name_all(const HostSegment& segment) {
  name_header(segment.header());
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    name_slice(segment.slice_header(slot), slot);
    name_ring(segment, slot);
    name_memory(&segment.core_of_slot()[slot], 4,
                "core_of_slot[" + std::to_string(slot) + "]");
  }
}

}  // namespace

const HostSegment& new_segment(std::uint32_t ranks) {
  const explore::InRank outside(false);
  static std::map<std::uint32_t, std::unique_ptr<acp::test::HostMemory>> made;
  auto& memory = made[ranks];
  if (memory == nullptr) {
    memory = std::make_unique<acp::test::HostMemory>(ranks);
    memory->segment().header().key_entries = kKeys;
  }
  const HostSegment& segment = memory->segment();
  HostHeader& header = segment.header();
  std::memset(static_cast<void*>(&header.barrier), 0, sizeof header.barrier);
  header.job_state.store(0, std::memory_order_relaxed);
  for (std::uint32_t slot = 0; slot < ranks; ++slot) {
    clean_slice(segment, slot);
    clean_record(segment.record(slot));
    segment.core_of_slot()[slot].store(0, std::memory_order_relaxed);
  }
  if (wants_names()) {
    name_all(segment);
  }
  return segment;
}

}  // namespace kernels
