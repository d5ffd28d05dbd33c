// The layout of the host segment: the shared memory of all ranks of a job on
// one host. It is one memfd. The launcher makes it, or a singleton that runs
// without one, and every rank of the host maps it.
//
//   HostHeader | rank tables | cores | ProcRecord per local process
//   PublishedRecord per process of the job | fabric bits | JobSecret
//   address cards
//   slice 0 | slice 1 | ...                  one per local process ("slot")
//
//   a slice: SliceHeader | key table | command ring | module memory | starter
//            counters, where the job counts
//
// The segment has offsets instead of pointers, because each process maps it at
// its own address. Untouched pages cost nothing. docs/host_segment.md has the
// picture and the table of writers and readers; it changes with this file.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_facts.h"
#include "base/unique_fd.h"
#include "protocol/absence.h"
#include "protocol/call_name.h"
#include "protocol/counters.h"
#include "protocol/traffic.h"
#include "settings/settings.h"
#include "status/result.h"

namespace acp::protocol {

inline constexpr std::uint64_t kHostMagic = 0x31'74'73'6f'68'70'63'61;
/// Raised when the layout of the segment or the bytes of requests and replies
/// change: acprun and a library with different versions refuse each other.
inline constexpr std::uint32_t kHostVersion = 19;
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;
inline constexpr std::size_t kCacheLine = 64;
/// Sizes of the room for an address card. Most host segments have room for
/// those of all processes of the job. So the usual job, where an address card
/// is one UDP address, has the shortest room.
inline constexpr std::size_t kShortCardBytes = 32;
/// Two short address cards, for a job that may use two networks.
inline constexpr std::size_t kPairCardBytes = 2 * kShortCardBytes;
inline constexpr std::size_t kCardBytes = 512;
inline constexpr std::size_t kLongCardBytes = std::size_t{64} << 10;
/// Most memory that the address cards of all processes take in the segment of a
/// host: short ones for half the processes of the largest job. Where they would
/// take more, each host has those of its own processes only.
inline constexpr std::uint64_t kMostCardMemory = std::uint64_t{16} << 20;
/// Size of HostHeader::route_to, with the 0 byte at its end.
inline constexpr std::size_t kRouteBytes = 64;
/// Size of HostHeader::why_no_route, with the 0 byte at its end.
inline constexpr std::size_t kWhyNoRouteBytes = 192;

/// Random bytes from which the processes of a job derive their keys. Whoever
/// has them can write into the memory of the job. A value lies in the host
/// segment or in secret memory (base/secret_memory.h) and nowhere else, so no
/// core dump has it. Functions pass it on by reference.
using JobSecret = std::array<std::uint8_t, 32>;

/// The address cards that a host segment has.
enum class CardTable : std::uint64_t {
  kOfJob,  ///< All processes of the job have theirs in each segment.
  kOfHost  ///< The processes of the host have theirs there. A process that
           ///< needs another one fetches it from the launcher.
};

/// Two values that all hosts of a job have alike and no other job has. Copies
/// share the secret.
struct JobIdentity {
  std::array<std::uint8_t, 16> id{};  ///< Public.
  /// In secret memory. Null: not known here (yet), or the job needs none.
  std::shared_ptr<const JobSecret> secret;
};

/// A new identity, of the kernel's random numbers. kSystem, logged.
Result<JobIdentity> make_job_identity();

/// The values of HostHeader::job_state.
enum class JobState : std::uint32_t { kRunning = 0, kEnding = 1 };

/// The values of ProcRecord::wait_kind: the call in which a process waits. The
/// launcher prints it when a job ends badly.
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

/// The values of ProcRecord::state: how far a process has come.
enum class ProcState : std::uint32_t {
  kStarted,
  kInitialized,
  kFinalized,
};

/// A barrier of three and more processes of the host, or of the processes of
/// the host and their leader (runtime/leader_barrier.h). Every process but the
/// leader adds to `arrived`. The last to come sets it to 0 and then moves
/// `epoch` or `gathered` on (seq_cst), which the waiting processes read
/// (acquire).
struct HostBarrier {
  /// Processes that have come to the barrier under way.
  alignas(kCacheLine) std::atomic<std::uint32_t> arrived;
  /// Barriers that are over, modulo 2^32. A futex; the leader moves it on where
  /// there is one.
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch;
  /// The time of CLOCK_MONOTONIC at which the last process came to the latest
  /// barrier, in ns. It writes this field before it moves epoch on. Only where
  /// processes that share cores wait for epoch.
  std::atomic<std::int64_t> ended_ns;
  /// Processes that sleep on epoch, or are about to. Each counts itself.
  alignas(kCacheLine) std::atomic<std::uint32_t> sleepers;
  /// Barriers that all processes but the leader have come to, modulo 2^32. A
  /// futex.
  alignas(kCacheLine) std::atomic<std::uint32_t> gathered;
  /// Not 0 while the leader sleeps on gathered; the leader writes it.
  std::atomic<std::uint32_t> leader_sleeps;
};

/// One process's part of a barrier of two. Both fields share a cache line: the
/// owner writes epoch and then reads sleepers, and its partner writes sleepers
/// only when it goes to sleep.
struct alignas(kCacheLine) PairBarrier {
  /// Barriers that the owner has come to, modulo 2^32. A futex; the owner
  /// writes it, the partner reads it (acquire).
  std::atomic<std::uint32_t> epoch;
  /// Not 0 while the partner sleeps on epoch; the partner writes it.
  std::atomic<std::uint32_t> sleepers;
};

/// The start of the host segment. Fields that are not atomic are written before
/// the first rank runs and never change. The exception is why_no_route, which
/// the launcher may write until it sends Go(kNetwork).
struct alignas(kCacheLine) HostHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t procs;        ///< Processes of the job.
  std::uint32_t local_procs;  ///< Processes of this host: slots 0, 1, ...
  std::uint32_t cores;        ///< Cores that these processes share.
  std::uint32_t key_entries;  ///< Entries of each key table.
  std::uint64_t starter_bytes;
  std::uint64_t module_bytes;
  std::uint64_t card_bytes;  ///< A multiple of 8.
  CardTable card_table;      ///< The processes whose address cards are here.
  std::uint64_t total_bytes;
  /// Where each process maps the segment, if nothing lies there in it. Then a
  /// pointer into the segment means the same in all processes of the host.
  std::uint64_t address;
  std::uint64_t slice_stride;
  /// This offset and the next nine count from the start of the segment.
  std::uint64_t slices_offset;
  std::uint64_t proc_of_rank_offset;  ///< u32[procs], rewritten by acp_reset.
  std::uint64_t slot_of_rank_offset;  ///< u32[procs], kNoSlot: other host.
  std::uint64_t slot_of_proc_offset;  ///< u32[procs], fixed.
  std::uint64_t core_of_slot_offset;  ///< u32[local_procs], 1 + the core that a
                                      ///< process last waited on; 0: none yet.
  std::uint64_t records_offset;       ///< ProcRecord[local_procs].
  std::uint64_t published_offset;     ///< PublishedRecord[procs].
  std::uint64_t fabric_bits_offset;   ///< One bit for each process of the job,
                                      ///< in words of 64: it is on the RDMA
                                      ///< fabric of the process in slot 0.
  std::uint64_t secret_offset;        ///< JobSecret.
  std::uint64_t cards_offset;         ///< Address cards. CardTable::kOfJob:
                                      ///< [procs]; kOfHost: [2][local_procs],
                                      ///< the second row for fetched ones.
  /// This offset and the next four count from the start of a slice.
  std::uint64_t keys_offset;
  std::uint64_t ring_offset;
  std::uint64_t module_offset;
  std::uint64_t starter_offset;
  std::uint64_t counters_offset;  ///< CounterPart, if counter_bytes is not 0.
  std::uint64_t counter_bytes;    ///< 0: no rank of the job counts.
  std::array<std::uint8_t, 16> job_id;  ///< JobIdentity::id.
  /// A numeric address of another host of the job, with "%interface" where it
  /// needs one. Transports use the interfaces by which the kernel routes to it.
  /// "": the job is on one machine, or no address is known.
  std::array<char, kRouteBytes> route_to;
  /// The reason why no address of another host is known. "": one is known, or
  /// the job is on one machine and needs none.
  std::array<char, kWhyNoRouteBytes> why_no_route;
  CpuMask cpus;  ///< Cores that the maker of the segment may use.
  /// JobState. The launcher sets it to kEnding once; every wait reads it.
  alignas(kCacheLine) std::atomic<std::uint32_t> job_state;
  /// Whether the ranks proposed to acp_reset are a permutation. The process in
  /// slot 0 of each host computes it from the published records and writes it
  /// between two barriers of the launcher. All processes of the host read it
  /// after the second.
  std::atomic<std::uint32_t> reset_verdict;
  /// Ranks in acp_finalize or acp_reset. Each rank enters itself, and the
  /// launcher ranks of other hosts.
  Absences absences;
  HostBarrier barrier;

  /// Whether every process of the job is on this host.
  bool is_whole_job() const noexcept { return local_procs == procs; }

  /// Writes why_no_route; truncates a longer text. Ranks may not read it yet.
  void set_why_no_route(std::string_view why) noexcept {
    why_no_route.fill(0);
    std::ranges::copy(why.substr(0, why_no_route.size() - 1),
                      why_no_route.begin());
  }

  /// Whether there are fewer cores than processes of this host.
  bool shares_cores() const noexcept { return local_procs > cores; }
};

/// One local process, found by its slot. The process itself writes the atomic
/// fields (relaxed, but for probe_address). Peers of the host read os_pid and
/// slice_address after a barrier of the launcher that follows the write. The
/// launcher reads the rest at any time.
struct alignas(kCacheLine) ProcRecord {
  std::uint32_t proc;  ///< Number in the job; never changes.
  std::atomic<std::uint32_t> os_pid;
  std::atomic<std::uint32_t> state;      ///< ProcState.
  std::atomic<std::uint32_t> wait_kind;  ///< WaitKind.
  std::atomic<std::uint32_t> wait_peer;  ///< Rank waited for, or kNoSlot.
  std::atomic<std::uint32_t> rank;       ///< Current rank.
  /// Its progress thread moves it on once a second. 0: there is no such thread
  /// yet, or no longer, or ACP_UDP_SILENCE is 0.
  std::atomic<std::uint32_t> heartbeat;
  std::atomic<std::uint32_t> errors;         ///< That it has reported.
  std::atomic<std::uint64_t> slice_address;  ///< Where it has mapped its slice.
  /// Address, in the process, of a word with probe_value: a peer reads the word
  /// to learn whether process_vm_readv works. Written after probe_value
  /// (release), read before it (acquire).
  std::atomic<std::uint64_t> probe_address;
  std::atomic<std::uint64_t> probe_value;
  CallName wait_name;  ///< "": wait_kind says the function.
  CpuMask bound_cpus;  ///< The launcher writes it before the start; empty:
                       ///< unbound.
  /// Passes of progress that threads of the program have made. The launcher's
  /// watchdog compares two readings of this field and the next three. They have
  /// a cache line of their own, because their process writes them often.
  alignas(kCacheLine) std::atomic<std::uint64_t> passes;
  std::atomic<std::uint64_t> waits;        ///< Waits begun plus waits ended.
  std::atomic<std::uint64_t> arrivals;     ///< Passes that found work.
  std::atomic<std::uint32_t> wait_thread;  ///< Kernel's id of the last waiter.
  /// The transport writes it a few times in a second.
  alignas(kCacheLine) TrafficRecord traffic;
};

/// The record that a process publishes to all processes of the job, also on
/// other hosts, besides its address card. Each host has a copy for every
/// process. On its own host the process writes it (relaxed); on the others the
/// bootstrap does. Readers read it after a barrier of the launcher that follows
/// the write.
struct PublishedRecord {
  /// A copy without atomics, which launchers carry from host to host.
  struct Values {
    std::uint64_t modules = 0;  ///< Modules::fingerprint().
    /// In acp_init the number of the network that the process proposes
    /// (runtime/network_choice.h), in acp_reset its new rank.
    std::uint32_t proposal = 0;
    /// Process that meets other hosts in acp_sync for this one: slot 0 of the
    /// host has it. A process that shares no memory is its own leader.
    std::uint32_t leader = 0;

    bool operator==(const Values&) const = default;
  };

  std::atomic<std::uint64_t> modules;
  std::atomic<std::uint32_t> proposal;
  std::atomic<std::uint32_t> leader;

  Values get() const noexcept;
  void set(const Values& values) noexcept;
};

static_assert(sizeof(PublishedRecord) == 16);
static_assert(sizeof(PublishedRecord::Values) == 16);

/// The front of an address card, without the bytes of 0 at its end. A launcher
/// carries only this part to other hosts, where the rest is 0 already.
std::span<const std::byte> used_part(std::span<const std::byte> card) noexcept;

/// One entry of a key table, which describes a region. The owner of the slice
/// writes it, every process of the host reads it. A reader sees the whole entry
/// or none:
///   owner    state := not live (then a release fence); fields; state := live
///            (release)
///   reader   state (acquire); fields; acquire fence; state again
///
/// state, low to high: live bit, registered bit, a counter of 32 bits, then
/// color and generation. Each region that ends moves the counter on. Color and
/// generation have the bits that they have in a global address. So one
/// comparison tells whether an address was made for this region. Its bounds are
/// checked apart.
struct KeyEntry {
  std::atomic<std::uint64_t> state;
  std::atomic<std::uint64_t> base;  ///< Distance from the owner's slice, in
                                    ///< the owner's address space.
  std::atomic<std::uint64_t> size;  ///< Bytes from base.
  /// Copies that peers are making by process_vm_readv or writev; the peers
  /// count them (seq_cst). gmm/cross_copy_guard.h has the order.
  std::atomic<std::uint64_t> cross_copies;
};

static_assert(sizeof(KeyEntry) == 32);

inline constexpr std::uint64_t kLiveBit = 1;
/// Set: the region is memory that the owner has registered. Clear: the region
/// is in the slice, where every local process can touch it.
inline constexpr std::uint64_t kRegisteredBit = 2;
inline constexpr int kKeyCounterShift = 2;

/// SliceHeader::asleep: the low half counts threads that sleep on the doorbell.
inline constexpr std::uint64_t kWaiterOne = 1;
/// SliceHeader::asleep: a thread sleeps in epoll and has to be woken for
/// messages.
inline constexpr std::uint64_t kThreadAsleep = std::uint64_t{1} << 32;
/// SliceHeader::asleep: that thread has to be woken for signals, too.
inline constexpr std::uint64_t kThreadWantsSignals = std::uint64_t{1} << 33;
/// SliceHeader::asleep: that thread is a caller, and completions of its own
/// process have to wake it.
inline constexpr std::uint64_t kWantsCompletions = std::uint64_t{1} << 34;

/// The address of the doorbell socket of a slice's owner: an abstract name,
/// without the 0 byte in front. The owner writes it once, text before size
/// (release). Wakers read size (acquire) before text.
struct DoorbellName {
  std::atomic<std::uint32_t> size;  ///< 0: there is no socket yet.
  std::array<char, 28> text;
};

/// The start of a slice, a cache line for each group of fields.
struct SliceHeader {
  /// The futex that threads of the owner sleep on; wakers move it on.
  /// gmm/doorbell.h has the order: all seq_cst.
  alignas(kCacheLine) std::atomic<std::uint32_t> doorbell;
  /// Number of sleepers, and the bits defined above. Threads of the
  /// owner write it, wakers read it; all seq_cst.
  alignas(kCacheLine) std::atomic<std::uint64_t> asleep;
  /// Messages that the owner has taken out of its command ring (relaxed); only
  /// its consumer uses the field.
  alignas(kCacheLine) std::atomic<std::uint64_t> ring_head;
  /// Entries of the command ring that producers have claimed (relaxed). The
  /// sequence word of each entry orders its contents.
  alignas(kCacheLine) std::atomic<std::uint64_t> ring_tail;
  PairBarrier pair;
  alignas(kCacheLine) DoorbellName doorbell_socket;
};

/// A page, so that the command ring begins at one.
inline constexpr std::size_t kSliceHeaderBytes = 4096;
static_assert(sizeof(SliceHeader) <= kSliceHeaderBytes);

// The command ring, 272 KiB of each slice; docs/host_segment.md. An entry has a
// cache line for its own words, and room for 4 KiB with the headers of a
// message. More entries let more senders go on while the owner computes.
inline constexpr std::size_t kRingEntries = 64;
inline constexpr std::size_t kRingEntryBytes = 4096 + 256;
inline constexpr std::size_t kRingMessageBytes = kRingEntryBytes - 64;

/// Sizes of the two areas that the runtime has at the start of module memory,
/// in the same registered region. The first has words for barriers. The second
/// is a buffer that copies between two other ranks pass through. Untouched
/// pages take no memory.
inline constexpr std::size_t kRuntimeWordBytes = 4096;
inline constexpr std::size_t kRelayBytes = 1 << 20;
inline constexpr std::size_t kRuntimeAreaBytes =
    kRuntimeWordBytes + kRelayBytes;

/// Number of entries of each key table in a job of this many ranks: 4096 in
/// small jobs, 256 with a million ranks. The bits that a global address has for
/// the key limit it (docs/global_address.md).
std::uint32_t key_entries_for(std::uint32_t procs);

/// Bytes of module memory that the middle layer has besides the heap.
inline constexpr std::uint64_t kMiddleBytes = std::uint64_t{40} << 20;

/// Sizes of a host segment's parts, equal on all hosts of a job. Plain value.
struct HostSizes {
  std::uint64_t starter_bytes = 10240;    ///< Starter memory of each rank.
  std::uint64_t module_bytes = 64 << 20;  ///< Module memory of each rank.
  std::uint64_t card_bytes = kCardBytes;  ///< Up to kLongCardBytes.
  CardTable card_table = CardTable::kOfJob;
  std::uint64_t has_counters = 0;  ///< 1: ACP_COUNTERS; ranks have a part.
};

/// The sizes for these settings. A rank's module memory is the heap,
/// kMiddleBytes, and ACP_MODULE_MEMORY for the program's own modules.
HostSizes host_sizes_for(const Settings& settings);

/// The address cards for each host of a job of `procs` processes, under a
/// launcher that can fetch the others. ACP_ADDRESSES chooses; "auto" goes by
/// kMostCardMemory.
CardTable card_table_for(const Settings& settings, std::uint32_t procs);

/// The numbers and sizes that a host segment is made for.
struct HostPlan {
  std::uint32_t procs = 1;
  /// Numbers of the processes of this host, ascending, at least one. Their
  /// slots are in this order.
  std::vector<std::uint32_t> local_procs = {0};
  /// HostHeader::route_to; at most kRouteBytes - 1 characters.
  std::string route_to;
  /// HostHeader::why_no_route; a longer text is truncated.
  std::string why_no_route;
  HostSizes sizes{};
  /// Equal on all hosts of the job.
  JobIdentity identity{};

  /// Makes every one of `count` processes a process of this host.
  void put_all_here(std::uint32_t count);
};

/// Makes the sealed memfd (size fixed, close-on-exec) and initialises it. Ranks
/// begin equal to process numbers. The cores that the caller may use become the
/// cores of the ranks. Failures, logged: kSystem, kNoMemory, kProtocol.
Result<UniqueFd> create_host_segment(const HostPlan& plan);

/// The first slices of a host have their header and key table in every core
/// dump. There is a limit because each slice takes two more mappings of the
/// kernel.
inline constexpr std::uint32_t kSlicesInCoreDump = 64;
/// Bytes of its own starter memory that a process has in its core dump.
inline constexpr std::uint64_t kStarterBytesInCoreDump = 1 << 20;

/// A mapping of a host segment. Copies share it. The last one unmaps it, and
/// pointers into it are valid until then. Thread-safe after map().
class HostSegment {
 public:
  /// Maps the segment after a check of magic, version and size. Failures,
  /// logged: kProtocol, kSystem, kNoMemory. Core dumps get headers and tables
  /// only. The kernel touches every page that it dumps, so a whole dump would
  /// take gigabytes of pages that no rank has used.
  static Result<HostSegment> map(int fd);

  /// Adds parts of the process's own slice to its core dump, for debuggers: the
  /// command ring, the runtime's words and the start of starter memory.
  void dump_own_slice(std::uint32_t slot) const noexcept;

  /// In a child made by fork(): from now on the child's stores reach no other
  /// process. A page that the child has not written may still change when
  /// another process writes it. False, with errno: the kernel refuses that.
  bool make_private() const noexcept;

  std::byte* base() const noexcept { return base_; }

  HostHeader& header() const noexcept {
    return *reinterpret_cast<HostHeader*>(base_);
  }

  std::atomic<std::uint32_t>* proc_of_rank() const noexcept;
  std::atomic<std::uint32_t>* slot_of_rank() const noexcept;
  std::uint32_t slot_of_proc(std::uint32_t proc) const noexcept;
  std::atomic<std::uint32_t>* core_of_slot() const noexcept;
  ProcRecord& record(std::uint32_t slot) const noexcept;
  PublishedRecord& published(std::uint32_t proc) const noexcept;
  /// Bit p % 64 of word p / 64 tells whether process p is on the RDMA fabric of
  /// the process in slot 0. That process writes the words (relaxed) before it
  /// comes to Phase::kInit, in a job where it uses two networks. Others of the
  /// host read them (relaxed) after that phase.
  std::span<std::atomic<std::uint64_t>> fabric_bits() const noexcept;
  /// Whether the segment has room for the address card of a process.
  bool has_card(std::uint32_t proc) const noexcept;
  /// The address card of a process, if the segment has room for it.
  std::span<std::byte> card(std::uint32_t proc) const noexcept;
  /// Where the launcher puts the address card that a process of this host has
  /// asked for. CardTable::kOfHost.
  std::span<std::byte> fetched_card(std::uint32_t slot) const noexcept;
  /// Zeros until the maker of the segment knows it, which is before the ranks
  /// open their transports.
  JobSecret& secret() const noexcept;
  std::byte* slice(std::uint32_t slot) const noexcept;

  SliceHeader& slice_header(std::uint32_t slot) const noexcept {
    return *reinterpret_cast<SliceHeader*>(slice(slot));
  }

  KeyEntry* keys(std::uint32_t slot) const noexcept;

  /// The counters of a process; null: no rank of the job counts.
  CounterPart* counters(std::uint32_t slot) const noexcept;

  /// The bytes of the memory at `start` whose pages have been touched by any
  /// process. Takes a system call for each run of such pages.
  std::uint64_t touched_bytes(const std::byte* start,
                              std::uint64_t bytes) const noexcept;

 private:
  /// Unmaps the memory at its end. The file is for make_private().
  struct Mapping;

  std::span<std::byte> card_at(std::uint64_t index) const noexcept;

  std::byte* base_ = nullptr;
  std::shared_ptr<const Mapping> mapping_;
};

}  // namespace acp::protocol
