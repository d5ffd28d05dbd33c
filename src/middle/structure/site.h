// State that the data structures of this process share: the module's memory. It
// holds the scratches of this rank's own chains, and on every rank a pool of
// controls. docs/containers.md shows the layout.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "acp/extension.h"
#include "acp/global_memory.h"
#include "acp/infrastructure.h"

namespace acp::middle::structure {

inline constexpr std::size_t kScratches = 64;
inline constexpr std::size_t kFirstScratches = 8;
inline constexpr std::size_t kScratchBytes = 16384;
/// The end of a scratch, reserved for data that passes through.
inline constexpr std::size_t kScratchDataBytes = 8192;

inline constexpr std::size_t kControlBytes = 576;

/// First bytes of the module's memory on each rank. All ranks change them, by
/// the library's atomics alone.
struct alignas(64) PoolHeader {
  std::uint64_t unused;  ///< Number of the first control never used.
  /// {changes:32 | number + 1:32} of the first control that was given back.
  std::uint64_t free;
};

inline constexpr std::size_t kWorkspaces = 256;

/// Where a rank's parts of a workspace are. Written by that rank, read by all.
struct WorkspaceEntry {
  std::uint64_t base;  ///< Global address of this rank's parts.
};

/// The sums by which all ranks agree on a collective call. Only rank 0's are
/// used.
struct alignas(64) Ballot {
  std::uint64_t refusals;  ///< Ranks that cannot do what they want.
  std::uint64_t wishes;    ///< Hashes of what each rank wants, added up.
};

/// The queue of the waiters of a lock, on the lock's rank. Numbers of waiters
/// are those of their nodes, + 1. docs/containers.md, "Waiting for a lock".
struct WaitQueue {
  std::uint64_t tail;   ///< The newest waiter, or 0. Swapped by waiters.
  std::uint64_t front;  ///< The waiter that tries to take the lock, or 0.
};

/// The words by which other ranks wake a thread of this rank that waits in a
/// queue. The thread clears the first two words before it joins a queue.
struct alignas(64) WaitNode {
  std::uint64_t state;  ///< 1: front of the queue. The waiter before writes it.
  std::uint64_t next;   ///< The waiter behind, which writes it; or 0.
  std::uint64_t looks;  ///< Counts wake-ups. Holders of the lock add to it.
};

/// Queues for the locks of buckets. Buckets share them by hash, because memory
/// of a bucket that was freed must not be written. A holder of a bucket waits
/// for no other lock, so waiters of two buckets may stand in one queue.
inline constexpr std::size_t kBucketQueues = 1024;

/// Unlockings under way whose result no call waits for (late_looks.h).
inline constexpr std::size_t kLateLooks = 64;

inline constexpr std::size_t kBallotOffset = sizeof(PoolHeader);
inline constexpr std::size_t kWorkspacesOffset = kBallotOffset + sizeof(Ballot);
inline constexpr std::size_t kNodesOffset =
    kWorkspacesOffset + kWorkspaces * sizeof(WorkspaceEntry);
inline constexpr std::size_t kBucketQueuesOffset =
    kNodesOffset + kScratches * sizeof(WaitNode);
inline constexpr std::size_t kLateLooksOffset =
    kBucketQueuesOffset + kBucketQueues * sizeof(WaitQueue);
inline constexpr std::size_t kScratchOffset =
    kLateLooksOffset + kLateLooks * sizeof(std::uint64_t);
inline constexpr std::size_t kControlsOffset =
    kScratchOffset + kScratches * kScratchBytes;
/// Controls that were never used take no memory: their pages are not touched.
inline constexpr std::size_t kControls = 65536;
inline constexpr std::size_t kModuleBytes =
    kControlsOffset + kControls * kControlBytes;

static_assert(kScratchOffset % 64 == 0 && kControlsOffset % 64 == 0);
static_assert(kModuleBytes <= (std::size_t{40} << 20) - 4096);

/// Allocates from a rank's heap on behalf of the public function that this
/// thread is in. Errors name that function: the last one that called
/// Site::of_call.
acp_ga_t allocate(std::size_t bytes, int rank);

/// The last public function of a data structure that this thread has called. It
/// is named in errors and in acprun's roll-call.
const char* current_function() noexcept;

/// While it lives, waits and failures of this thread are those of the public
/// function that it is in: acprun's roll-call and error lines name that one.
class NamedCall {
 public:
  NamedCall() : before_(acpx_enter_call(current_function())) {}

  NamedCall(const NamedCall&) = delete;
  NamedCall& operator=(const NamedCall&) = delete;

  ~NamedCall() { acpx_leave_call(before_); }

 private:
  const char* before_;
};

class LateLooks;

/// The one object of a process, between init and fini of the module.
/// Thread-safe.
class Site {
 public:
  /// Adds the module, as middle/modules.cc wants it.
  static int add_module(int (*add)(const acpx_module_t*));

  Site();
  ~Site();

  /// The part of middle::leave_job() that is this module's.
  static void leave_job() noexcept;

  /// Returns the process's site. Outside of init .. fini it returns null, sets
  /// acp_errno and writes a line with `function`. Every public function calls
  /// this first, so that errors below it have its name.
  static Site* of_call(const char* function);

  int rank() const { return rank_; }

  int procs() const { return procs_; }

  /// Number of this life of the process. acp_reset begins the next one.
  std::uint64_t life() const { return life_; }

  acp_ga_t memory_of(int rank) const;

  bool has_rank(int rank) const { return rank >= 0 && rank < procs_; }

  LateLooks& late_looks() { return *late_looks_; }

  /// Own words at an offset of the module's memory.
  std::byte* memory(std::size_t offset) const { return memory_ + offset; }

 private:
  friend class Scratch;
  static int init(void* arg);
  static int fini(void* arg);

  // init() writes these six, before any other thread can have the site.
  int rank_ = 0;
  int procs_ = 0;
  std::uint64_t life_ = 0;
  std::byte* memory_ = nullptr;
  acp_ga_t memory_ga_ = ACP_GA_NULL;
  std::unique_ptr<LateLooks> late_looks_;
  /// One bit for each scratch that a thread of this rank uses.
  std::atomic<std::uint64_t> in_use_{0};
};

/// 16 KiB of registered memory that the chains of one call put from and get
/// into. A thread has it for the time of the call.
///
/// A thread's first scratch is one of the first kFirstScratches, and the thread
/// waits until one is free. Further ones of the same call, up to 7, come from
/// the rest. These suffice for kFirstScratches threads, so a thread that has a
/// scratch never waits for another.
class Scratch {
 public:
  explicit Scratch(Site& site);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  Site& site() const { return site_; }

  /// Number of this scratch on its rank, below kScratches.
  unsigned index() const { return index_; }

  /// The node by which a thread with this scratch waits in a queue.
  WaitNode& node() const {
    return *reinterpret_cast<WaitNode*>(site_.memory(node_offset()));
  }

  acp_ga_t node_ga() const {
    return ga_ - (kScratchOffset + index_ * kScratchBytes) + node_offset();
  }

  /// Takes words for a chain from the front. clear() returns all of them at
  /// once.
  std::uint64_t* take(std::size_t bytes);

  void clear() { used_ = 0; }

  acp_ga_t ga_of(const void* in_scratch) const {
    return ga_ + (static_cast<const std::byte*>(in_scratch) - memory_);
  }

  /// The kScratchDataBytes at the end, which take() never returns.
  std::byte* data() const {
    return memory_ + kScratchBytes - kScratchDataBytes;
  }

  acp_ga_t data_ga() const { return ga_of(data()); }

 private:
  std::size_t node_offset() const {
    return kNodesOffset + index_ * sizeof(WaitNode);
  }

  // The thread of the call alone uses these fields. The constructor writes the
  // first four, once it has set its bit of Site::in_use_.
  Site& site_;
  unsigned index_ = 0;
  std::byte* memory_ = nullptr;
  acp_ga_t ga_ = ACP_GA_NULL;
  std::size_t used_ = 0;  ///< Bytes; written by take() and clear().
};

}  // namespace acp::middle::structure
