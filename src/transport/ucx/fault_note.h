// Names registered memory that is gone, before UCX's access to it ends the
// process.
//
// Where UCX emulates puts, gets and atomics, it loads and stores in the owner's
// process, inside of ucp_worker_progress. No access of UCX can be probed
// before, and none can be left, since UCX holds half of an operation then. If
// UCX were given other memory instead, the peer's operation would end well with
// wrong bytes. So the process ends by the fault, after one line of the log
// (docs/decisions/0007-touch-before-access.md).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "transport/ucx/registration.h"

namespace acp::ucx {

/// While it lives, a fault of UCX in memory of `regions` is logged, and then
/// handled as it would be otherwise. The engine's mutex guards it, and guards
/// the regions. The signal handler reads them in the thread that has this mutex
/// and is inside UCX. So no regions change meanwhile, and the thread has no
/// lock of the log or of malloc.
class FaultNote {
 public:
  explicit FaultNote(const Regions& regions) noexcept;
  FaultNote(const FaultNote&) = delete;
  FaultNote& operator=(const FaultNote&) = delete;
  ~FaultNote();

  /// The handler's part: logs a fault at `address` if it is UCX's and in a
  /// region.
  void tell(const void* address) const;

  /// The code that a thread is in.
  enum class Code : std::uint8_t {
    kUcx,      ///< UCX's: faults are UCX's.
    kProject,  ///< This project's, called back by UCX: faults are not.
  };

  class Scope;
  struct Place;

 private:
  const Regions& regions_;
  Place* place_;  ///< Null: more transports than places, so nothing is told.
};

/// Entry of the handler's table. Static memory, so that the handler may read
/// each entry at any time.
struct FaultNote::Place {
  /// Set by the constructor, and cleared by the destructor.
  std::atomic<FaultNote*> note{nullptr};
  /// pthread_self() of the thread inside UCX; 0: none is. That thread writes
  /// it, and its handler reads it.
  std::atomic<pthread_t> thread{0};
};

/// Says which code this thread is in while it lives. May be nested.
class FaultNote::Scope {
 public:
  Scope(const FaultNote& note, Code code) noexcept
      : place_(note.place_), before_(0) {
    if (place_ != nullptr) {
      before_ = place_->thread.load(std::memory_order_relaxed);
      place_->thread.store(code == Code::kUcx ? ::pthread_self() : 0,
                           std::memory_order_relaxed);
    }
  }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  ~Scope() {
    if (place_ != nullptr) {
      place_->thread.store(before_, std::memory_order_relaxed);
    }
  }

 private:
  Place* place_;
  pthread_t before_;  ///< Place::thread before.
};

}  // namespace acp::ucx
