// Publishes the facts that inlined operations read; see acp/inline.h. Called at
// the end of acp_init and acp_reset, and before the job ends.
#include "api/inline_job.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

#include "acp/inline.h"
#include "api/current_task.h"
#include "gmm/doorbell.h"
#include "protocol/host_segment.h"

using acp::gmm::AddressSpace;

// The header declares it as a pointer that the library alone writes, and reads
// it by an atomic load.
extern "C" std::atomic<const acpx_inline_t*> acpx_inline_job_1 asm(
    "acpx_inline_1");
std::atomic<const acpx_inline_t*> acpx_inline_job_1{nullptr};

// Programs have the layout compiled in. A library with another layout has
// acpx_inline_2, and leaves acpx_inline_1 null.
static_assert(offsetof(acpx_inline_t, issued) == 0 &&
              offsetof(acpx_inline_t, is_busy) == 8 &&
              offsetof(acpx_inline_t, memories) == 16 &&
              offsetof(acpx_inline_t, rank_shift) == 24 &&
              offsetof(acpx_inline_t, within_mask) == 32 &&
              offsetof(acpx_inline_t, starter_last) == 40 &&
              offsetof(acpx_inline_t, modules_begin) == 48 &&
              offsetof(acpx_inline_t, modules_last) == 56 &&
              offsetof(acpx_inline_t, modules_shift) == 64 &&
              offsetof(acpx_inline_t, mine) == 72 &&
              offsetof(acpx_inline_t, my_base) == 80 &&
              offsetof(acpx_inline_t, asleep) == 88 &&
              sizeof(acpx_inline_t) == 96);
static_assert(sizeof acpx_inline_job_1 == sizeof(const acpx_inline_t*));
static_assert(sizeof(std::atomic<acp::gma::Sequence>) == sizeof(uint64_t));
static_assert(sizeof(std::atomic<bool>) == sizeof(unsigned char));

namespace acp::api {

namespace {

using Memories = std::span<char*>;

/// Written while no operation runs.
acpx_inline_t g_job;
/// An entry for each value of the rank field. It is never unmapped: a thread
/// of the program may come too late for the end of the job.
Memories g_memories;

/// A copy of ACPX_INLINE_BYTES is looked for in both regions without a look at
/// their sizes.
bool has_room(const AddressSpace::Mapping& mapping) noexcept {
  return mapping.starter.size >= ACPX_INLINE_BYTES &&
         mapping.modules.size >= ACPX_INLINE_BYTES;
}

/// Unwritten pages of the table take no memory. So a job of a million
/// ranks costs address space, and a page for the ranks of this host. Empty: the
/// system refuses.
Memories map_memories(int rank_bits) noexcept {
  const std::size_t entries = std::size_t{1} << rank_bits;
  void* table = ::mmap(nullptr, entries * sizeof(char*), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return table == MAP_FAILED ? Memories()
                             : Memories(static_cast<char**>(table), entries);
}

/// acp_reset may have given ranks of this host to processes of another one, so
/// all entries become null first. False: the system refuses.
bool enter_ranks(const AddressSpace& space,
                 const AddressSpace::Mapping& mapping) noexcept {
  if (::madvise(g_memories.data(), g_memories.size_bytes(), MADV_DONTNEED) !=
      0) {
    return false;
  }
  const protocol::HostSegment& segment = space.segment();
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    const std::uint32_t rank =
        segment.record(slot).rank.load(std::memory_order_relaxed);
    g_memories[std::size_t{rank} + 1] = reinterpret_cast<char*>(
        mapping.slices + mapping.slice_stride * slot + mapping.starter.base);
  }
  return true;
}

}  // namespace

/// The pointer comes last. The table is made once in a process.
void allow_inlined_calls(runtime::Task& mine) noexcept {
  const gma::Engine& engine = mine.engine();
  const AddressSpace& space = engine.space();
  const gmm::GlobalAddressCodec& codec = space.codec();
  const std::optional<AddressSpace::Mapping> mapping = space.mapping();
  if (!mapping || !has_room(*mapping)) {
    return;
  }
  if (g_memories.empty()) {
    g_memories = map_memories(codec.rank_bits());
  }
  if (g_memories.empty() || !enter_ranks(space, *mapping)) {
    return;
  }
  const std::uint64_t starter = mapping->starter.base;
  g_job = {
      .issued =
          reinterpret_cast<const uint64_t*>(&engine.queue().issued_word()),
      .is_busy =
          reinterpret_cast<const unsigned char*>(&engine.queue().busy_word()),
      .memories = g_memories.data(),
      .rank_shift = static_cast<uint64_t>(codec.rank_shift()),
      .within_mask = (uint64_t{1} << codec.rank_shift()) - 1,
      .starter_last = mapping->starter.last_word,
      .modules_begin = mapping->modules_begin,
      .modules_last = mapping->modules.last_word,
      .modules_shift = mapping->modules.base - starter - mapping->modules_begin,
      .mine = reinterpret_cast<char*>(space.my_slice() + starter),
      .my_base = mapping->my_base,
      .asleep = offsetof(protocol::SliceHeader, asleep) - starter,
  };
  acpx_inline_job_1.store(&g_job, std::memory_order_release);
}

void stop_inlined_calls() noexcept {
  acpx_inline_job_1.store(nullptr, std::memory_order_release);
}

}  // namespace acp::api

/// The caller has found sleepers, so the rank is one of this host.
void acpx_wake(acp_ga_t word) {
  acp::runtime::Task* mine = acp::api::task();
  if (mine == nullptr) {
    return;
  }
  const AddressSpace& space = mine->engine().space();
  if (acp::protocol::SliceHeader* slice =
          space.slice_header(space.codec().rank(word))) {
    acp::gmm::ring_signal(*slice, mine->waker());
  }
}
