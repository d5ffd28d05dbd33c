// The shared memory of all ranks of a job on one host: one memfd, made by
// whoever starts them, mapped by each. Its layout, and how it is made.
//
//   HostHeader | rank tables | cores | ProcRecord per local process | cards
//   slice 0 | slice 1 | ...                  one per local process ("slot")
//
//   a slice: SliceHeader | key table | command ring | module memory | starter
//
// Only offsets are stored: it is mapped anywhere. Untouched pages cost
// nothing. docs/host_segment.md has the picture; it changes with this file.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/host_facts.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "settings/settings.h"

namespace acp::protocol {

inline constexpr std::uint64_t kHostMagic = 0x31'74'73'6f'68'70'63'61;
inline constexpr std::uint32_t kHostVersion = 4;
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;
inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kCardBytes = 512;

/// What ends a job early, in HostHeader::job_state.
enum class JobState : std::uint32_t { kRunning = 0, kEnding = 1 };

/// What a process is doing, for the summary of a job that ends badly.
enum class WaitKind : std::uint32_t {
  kNothing,
  kInit,
  kSync,
  kComplete,
  kWord,
  kCondition,
  kReset,
  kFinalize,
};

/// How far a process has come; set by itself.
enum class ProcState : std::uint32_t {
  kStarted,
  kInitialized,
  kFinalized,
};

/// A barrier of three and more processes of the host. Each on a line of its
/// own.
struct HostBarrier {
  alignas(kCacheLine) std::atomic<std::uint32_t> arrived;
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch;     ///< Futex.
  alignas(kCacheLine) std::atomic<std::uint32_t> sleepers;  ///< On epoch.
};

/// One process's part of a barrier of two. Both on one line: the owner writes
/// the first and then looks at the second, and its partner writes that only
/// when it goes to sleep.
struct alignas(kCacheLine) PairBarrier {
  std::atomic<std::uint32_t> epoch;  ///< Barriers that the owner has come to,
                                     ///< modulo 2^32. Futex.
  std::atomic<std::uint32_t> sleepers;  ///< Of the partner, on epoch.
};

/// Who is in acp_finalize, and how often it has called acp_sync.
struct Leaving {
  std::uint32_t rank = 0;
  std::uint32_t syncs = 0;  ///< Modulo 2^32: no two ranks differ by much.

  /// `word` is not 0, which means nobody.
  static constexpr Leaving of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word) & ~kSomebody,
            static_cast<std::uint32_t>(word >> 32)};
  }

  constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{syncs} << 32 | kSomebody | rank;
  }

  /// Whether it never comes to call `number` of acp_sync, counted from 1.
  constexpr bool misses(std::uint64_t number) const noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(number) -
                                     syncs) > 0;
  }

 private:
  static constexpr std::uint32_t kSomebody = std::uint32_t{1} << 31;
};

struct alignas(kCacheLine) HostHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t procs;        ///< Processes of the job.
  std::uint32_t local_procs;  ///< Of this host; slots 0 .. local_procs - 1.
  std::uint32_t cores;        ///< That these may use, all together.
  std::uint32_t key_slots;    ///< Entries of each key table.
  std::uint64_t starter_bytes;
  std::uint64_t module_bytes;
  std::uint64_t total_bytes;
  std::uint64_t slice_stride;
  std::uint64_t slices_offset;        ///< All offsets from the mapping's start.
  std::uint64_t proc_of_rank_offset;  ///< u32[procs], rewritten by acp_reset.
  std::uint64_t slot_of_rank_offset;  ///< u32[procs], kNoSlot: other host.
  std::uint64_t slot_of_proc_offset;  ///< u32[procs], fixed.
  std::uint64_t core_of_slot_offset;  ///< u32[local_procs], 1 + the core that a
                                      ///< process last waited on; 0: none yet.
  std::uint64_t records_offset;       ///< ProcRecord[local_procs].
  std::uint64_t cards_offset;         ///< kCardBytes each, [procs].
  std::uint64_t keys_offset;          ///< These four from a slice's start.
  std::uint64_t ring_offset;
  std::uint64_t module_offset;
  std::uint64_t starter_offset;
  std::array<std::uint8_t, 16> job_id;  ///< Random; names nothing else twice.
  CpuMask cpus;                         ///< That whoever made this may use.
  alignas(kCacheLine) std::atomic<std::uint32_t> job_state;  ///< JobState.
  std::atomic<std::uint32_t> reset_verdict;  ///< Of the acp_reset under way.
  /// A Leaving each: of the ranks in acp_finalize, and of those behind the
  /// modules' fini functions there, the one with the fewest acp_sync.
  std::atomic<std::uint64_t> leaving;
  std::atomic<std::uint64_t> left;
  HostBarrier barrier;

  /// Some processes of this host have to take turns.
  bool shares_cores() const noexcept { return local_procs > cores; }
};

/// The name of the function that a program waits in, for the roll-call. Written
/// by the waiting thread, read by acprun at any time. A name that acprun reads
/// while it changes is wrong, and harms nothing.
class CallName {
 public:
  /// Takes the first kBytes - 1 characters; nullptr is "".
  void set(const char* name) noexcept;
  std::string get() const;

 private:
  static constexpr std::size_t kBytes = 48;
  std::array<std::atomic<std::uint64_t>, kBytes / 8> words_;
};

/// One local process, by slot.
struct alignas(kCacheLine) ProcRecord {
  std::uint32_t proc;
  std::atomic<std::uint32_t> os_pid;
  std::atomic<std::uint32_t> state;          ///< ProcState.
  std::atomic<std::uint32_t> wait_kind;      ///< WaitKind.
  std::atomic<std::uint32_t> wait_peer;      ///< Rank waited for, or kNoSlot.
  std::atomic<std::uint32_t> rank;           ///< Current rank.
  std::atomic<std::uint64_t> slice_address;  ///< Of its slice, in itself.
  std::atomic<std::uint32_t> proposed_rank;  ///< During acp_reset.
  std::atomic<std::uint64_t> probe_address;  ///< Of a word in the process ...
  std::atomic<std::uint64_t> probe_value;  ///< ... that holds this (CMA probe).
  std::atomic<std::uint64_t> modules;      ///< Modules::fingerprint().
  CallName wait_name;                      ///< "": wait_kind says the function.
  CpuMask
      bound_cpus;  ///< Set by the launcher before the start; empty: unbound.
  /// For the launcher's watchdog, which compares two looks at them. On a line
  /// of their own, because their process writes them often. Passes of progress
  /// that a thread of the program has made.
  alignas(kCacheLine) std::atomic<std::uint64_t> passes;
  std::atomic<std::uint64_t> waits;        ///< Begun and ended, counted each.
  std::atomic<std::uint64_t> arrivals;     ///< Passes that brought something.
  std::atomic<std::uint32_t> wait_thread;  ///< Kernel's id of the last to wait.
};

/// One published registration; readers see it whole or not at all.
///
/// state, low to high: live bit, registered bit, a counter of 32 bits that
/// every registration's end moves on, and, where a global address has its color
/// and generation, those of the region. So one comparison tells whether an
/// address belongs to it. Writer: not live, fields, live.
struct KeyEntry {
  std::atomic<std::uint64_t> state;
  std::atomic<std::uint64_t> base;  ///< Distance from the owner's slice, in
                                    ///< the owner's address space.
  std::atomic<std::uint64_t> size;  ///< Bytes from base.
  /// Copies that peers of this host are making by process_vm_readv or writev.
  std::atomic<std::uint64_t> transfers;
};

static_assert(sizeof(KeyEntry) == 32);

inline constexpr std::uint64_t kLiveBit = 1;
/// The owner's own memory; clear: in the slice, where every local process can
/// touch it.
inline constexpr std::uint64_t kRegisteredBit = 2;
inline constexpr int kKeyCounterShift = 2;

/// Flags in SliceHeader::asleep, high half: the progress thread sleeps.
inline constexpr std::uint64_t kWaiterOne = 1;  ///< Low half counts waiters.
inline constexpr std::uint64_t kThreadAsleep = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kThreadWantsSignals = std::uint64_t{1} << 33;
/// The epoll sleeper is a caller, which completions of its process wake.
inline constexpr std::uint64_t kWantsCompletions = std::uint64_t{1} << 34;

/// Where the owner of a slice has its doorbell socket: an abstract name,
/// without the 0 byte in front. Written once by the owner, text before size
/// (release); read by its wakers, size (acquire) before text.
struct DoorbellName {
  std::atomic<std::uint32_t> size;  ///< 0: there is no socket yet.
  std::array<char, 28> text;
};

/// Head of a slice. Each group on a line of its own.
struct SliceHeader {
  alignas(kCacheLine) std::atomic<std::uint32_t> doorbell;   ///< Futex.
  alignas(kCacheLine) std::atomic<std::uint64_t> asleep;     ///< See above.
  alignas(kCacheLine) std::atomic<std::uint64_t> ring_head;  ///< Consumer.
  alignas(kCacheLine) std::atomic<std::uint64_t> ring_tail;  ///< Producers.
  PairBarrier pair;
  alignas(kCacheLine) DoorbellName doorbell_socket;
};

inline constexpr std::size_t kSliceHeaderBytes = 4096;
static_assert(sizeof(SliceHeader) <= kSliceHeaderBytes);

inline constexpr std::size_t kRingSlots = 64;
inline constexpr std::size_t kRingSlotBytes = 4096 + 256;
inline constexpr std::size_t kRingMessageBytes = kRingSlotBytes - 64;

/// Bytes before the modules' own memory that the runtime keeps for itself, in
/// the same registered region: words for barriers, then what copies between two
/// others pass through. Pages that nobody touches take no memory.
inline constexpr std::size_t kRuntimeWordBytes = 4096;
inline constexpr std::size_t kRelayBytes = 1 << 20;
inline constexpr std::size_t kRuntimeAreaBytes =
    kRuntimeWordBytes + kRelayBytes;

/// Entries of each key table in a job of this many ranks. Small jobs may
/// register thousands of regions, a million ranks 256 each: the number of key
/// bits in an address (docs/global_address.md).
std::uint32_t key_slots_for(std::uint32_t procs);

/// Bytes of module memory that the middle layer has besides the heap.
inline constexpr std::uint64_t kMiddleBytes = std::uint64_t{40} << 20;

/// Module memory of each rank: what the middle layer takes, its heap
/// included, and ACP_MODULE_MEMORY for the program's modules.
std::uint64_t module_bytes_for(const Settings& settings);

/// What to make a host segment for.
struct HostPlan {
  std::uint32_t procs = 1;
  std::uint32_t first_proc = 0;  ///< Local processes are consecutive.
  std::uint32_t local_procs = 1;
  std::uint64_t starter_bytes = 10240;
  std::uint64_t module_bytes = 64 << 20;
};

/// Makes the sealed memfd (size fixed, close-on-exec) and initialises it;
/// ranks start equal to process numbers, and what the caller may use counts as
/// their cores: one that is bound sees its own only. kSystem or kNoMemory,
/// logged.
Result<UniqueFd> create_host_segment(const HostPlan& plan);

/// Slices whose header and key table every process of the host has in its core
/// dump, besides its own: each takes two more mappings of the kernel.
inline constexpr std::uint32_t kSlicesInCoreDump = 64;
/// Bytes of its own starter memory that a process has in its core dump.
inline constexpr std::uint64_t kStarterBytesInCoreDump = 1 << 20;

/// A mapping of a host segment. Unmaps itself. Pointers into it are valid as
/// long as it lives. Thread-safe after map().
class HostSegment {
 public:
  HostSegment() = default;
  HostSegment(HostSegment&& other) noexcept;
  HostSegment& operator=(HostSegment&& other) noexcept;
  HostSegment(const HostSegment&) = delete;
  HostSegment& operator=(const HostSegment&) = delete;
  ~HostSegment();

  /// Maps and checks magic, version and sizes. kProtocol, kSystem, logged.
  /// A core dump gets the headers and tables only: the kernel would touch every
  /// page of a shared mapping that it dumps, gigabytes that nobody has used.
  static Result<HostSegment> map(int fd);

  /// Adds to the core dump what a debugger wants of the process's own slice:
  /// the command ring, the runtime's words and the start of starter memory.
  void dump_own_slice(std::uint32_t slot) const noexcept;

  std::byte* base() const noexcept { return base_; }

  HostHeader& header() const noexcept {
    return *reinterpret_cast<HostHeader*>(base_);
  }

  std::atomic<std::uint32_t>* proc_of_rank() const noexcept;
  std::atomic<std::uint32_t>* slot_of_rank() const noexcept;
  std::uint32_t slot_of_proc(std::uint32_t proc) const noexcept;
  std::atomic<std::uint32_t>* core_of_slot() const noexcept;
  ProcRecord& record(std::uint32_t slot) const noexcept;
  std::span<std::byte> card(std::uint32_t proc) const noexcept;
  std::byte* slice(std::uint32_t slot) const noexcept;

  SliceHeader& slice_header(std::uint32_t slot) const noexcept {
    return *reinterpret_cast<SliceHeader*>(slice(slot));
  }

  KeyEntry* keys(std::uint32_t slot) const noexcept;

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace acp::protocol
