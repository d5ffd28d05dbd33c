// What all data structures of this process share: the module's memory, which
// is the scratches of this rank's own chains and every rank's pool of controls.
// docs/containers.md has the picture.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "acp/extension.h"
#include "acp/global_memory.h"
#include "acp/infrastructure.h"

namespace acp::middle::structure {

inline constexpr std::size_t kScratches = 64;
inline constexpr std::size_t kFirstScratches = 8;
inline constexpr std::size_t kScratchBytes = 16384;
/// Of a scratch, behind the words of chains: for data that passes through.
inline constexpr std::size_t kScratchDataBytes = 8192;

inline constexpr std::size_t kControlBytes = 576;

/// First bytes of the module's memory of a rank.
struct alignas(64) PoolHeader {
  std::uint64_t unused;  ///< Number of the first control never used.
  std::uint64_t free;    ///< {tag:32 | number + 1:32} of those used before.
};

inline constexpr std::size_t kWorkspaces = 256;

/// A workspace, as its owner tells it to the others.
struct WorkspaceEntry {
  std::uint64_t base;  ///< Global address of this rank's pieces.
};

/// Where all ranks agree on a collective call; that of rank 0 is in use.
struct alignas(64) Ballot {
  std::uint64_t refusals;  ///< Ranks that cannot do what they want.
  std::uint64_t wishes;    ///< Hashes of what each rank wants, added up.
};

inline constexpr std::size_t kBallotOffset = sizeof(PoolHeader);
inline constexpr std::size_t kWorkspacesOffset = kBallotOffset + sizeof(Ballot);
inline constexpr std::size_t kScratchOffset =
    kWorkspacesOffset + kWorkspaces * sizeof(WorkspaceEntry);
inline constexpr std::size_t kControlsOffset =
    kScratchOffset + kScratches * kScratchBytes;
/// Memory of those that were never used is never touched.
inline constexpr std::size_t kControls = 65536;
inline constexpr std::size_t kModuleBytes =
    kControlsOffset + kControls * kControlBytes;

static_assert(kScratchOffset % 64 == 0 && kControlsOffset % 64 == 0);
static_assert(kModuleBytes <= (std::size_t{40} << 20) - 4096);

/// Memory of a rank's heap for the call of a structure that this thread is in.
/// Errors name the public function: the one that called Site::of_call.
acp_ga_t allocate(std::size_t bytes, int rank);

/// The public function of a structure that this thread has called last, for
/// errors and for acprun's roll-call.
const char* current_function() noexcept;

/// One per process, between init and fini of the module. Thread-safe.
class Site {
 public:
  /// Adds the module, as middle/modules.cc wants it.
  static int add_module(int (*add)(const acpx_module_t*));

  /// The part of middle::leave_job() that is this module's.
  static void leave_job() noexcept;

  /// The process's, or null outside of init .. fini: then acp_errno is set and
  /// a line with `function` is written. Every public function calls this
  /// first: errors of what it calls inside have that name.
  static Site* of_call(const char* function);

  int rank() const { return rank_; }

  int procs() const { return procs_; }

  /// Counts the lives of this process: acp_reset begins another.
  std::uint64_t life() const { return life_; }

  acp_ga_t memory_of(int rank) const;

  bool has_rank(int rank) const { return rank >= 0 && rank < procs_; }

  std::byte* memory() const { return memory_; }

  acp_ga_t memory_ga() const { return memory_ga_; }

 private:
  friend class Scratch;
  static int init(void* arg);
  static int fini(void* arg);

  int rank_ = 0;
  int procs_ = 0;
  std::uint64_t life_ = 0;
  std::byte* memory_ = nullptr;
  acp_ga_t memory_ga_ = ACP_GA_NULL;
  /// Bit for each scratch in use.
  std::atomic<std::uint64_t> in_use_{0};
};

/// Sixteen KiB that chains of one call put from and get into. Held for the
/// time of a call by its thread. A thread that has none waits for one of the
/// first kFirstScratches; one that is inside a call finds more without waiting,
/// up to 8 altogether. So nobody waits while others wait for him.
class Scratch {
 public:
  explicit Scratch(Site& site);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  Site& site() const { return site_; }

  /// Words for chains, from a stack that is emptied as a whole.
  std::uint64_t* take(std::size_t bytes);

  void clear() { used_ = 0; }

  acp_ga_t ga_of(const void* in_scratch) const {
    return ga_ + (static_cast<const std::byte*>(in_scratch) - memory_);
  }

  /// kScratchDataBytes that take() leaves alone.
  std::byte* data() const {
    return memory_ + kScratchBytes - kScratchDataBytes;
  }

  acp_ga_t data_ga() const { return ga_of(data()); }

 private:
  Site& site_;
  unsigned index_ = 0;
  std::byte* memory_ = nullptr;
  acp_ga_t ga_ = ACP_GA_NULL;
  std::size_t used_ = 0;
};

}  // namespace acp::middle::structure
