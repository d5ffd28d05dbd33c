// All channels of this process, their lock and their progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "qmp/connector.h"
#include "qmp/half.h"
#include "qmp/library_memory.h"
#include "qmp/presence.h"
#include "qmp/revocation.h"

namespace qmp {

/// Held for short times, by threads that never wait with it; a mutex costs
/// more than what it would guard here. For std::lock_guard.
class Lock {
 public:
  bool try_lock() noexcept {
    return !is_held_.load(std::memory_order_relaxed) &&
           !is_held_.exchange(true, std::memory_order_acquire);
  }

  void lock() noexcept {
    if (!try_lock()) {
      lock_slowly();
    }
  }

  void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

 private:
  void lock_slowly() noexcept;

  std::atomic<bool> is_held_{false};  ///< Acquire in lock, release in unlock.
};

/// One per process, from init to finalize. Thread-safe.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange();

  /// After acp_init. `module`: our module's number, `bytes`: its size. False:
  /// no memory.
  bool begin(int module, std::size_t bytes);
  /// No progress by us any more. Before the destructor.
  void end();

  /// This rank sends nothing more: tells the next rank as Connector says, and
  /// all once what it has sent has arrived.
  void leave(std::uint64_t barriers);

  bool has_left_before(std::uint64_t barrier) const {
    return connector_.has_left_before(barrier);
  }

  LibraryMemory& library() { return library_; }

  Presences& presences() { return presences_; }

  /// The half for `id`, made and announced the first time; nullptr: no memory.
  Half* half(const ChannelId& id);

  /// Starts transfers from `first` along `next`. None is active.
  void start(Transfer* first);
  /// Moves their channels on; true when none is active any more.
  bool is_done(Transfer* first);
  /// Waits. As acpx_wait_until.
  int wait(Transfer* first, int timeout_ms);

  // For global operations; exchange_global.cc. A revocation lives as long as
  // the communicator.

  /// Of a communicator that is made now, with its partners' ranks.
  Revocation& join(std::uint32_t comm, std::vector<int> partners);
  void revoke(Revocation& revocation, const Revocation::Cause& cause);
  Revocation::Cause cause_of(const Revocation& revocation);
  bool has_parted(const Revocation& revocation,
                  int rank,
                  std::uint64_t operation);
  void ask(Revocation& revocation, int rank, const Call& call);
  std::unordered_map<int, Call> calls(const Revocation& revocation);
  /// Starts the transfers of an operation; false: it fails already.
  bool start_for(Revocation& revocation,
                 std::uint64_t operation,
                 Transfer* first);
  /// Those are over, or stop_sends has ended the sends among them.
  void end_for(Revocation& revocation);
  /// Moves the channel of one transfer on; true when it is not active any more.
  bool has_ended(Transfer& transfer);
  /// Forgets the active sends among them, and waits for what they have put.
  void stop_sends(Transfer* first);
  /// Forgets those that are active. Nothing may arrive for them any more; their
  /// channels are not used again.
  void abandon(Transfer* first);
  /// Copies the beginning of the next message, for which no receive has been
  /// started. False: it has not arrived, or does not come eagerly.
  bool peek(Half* half, void* to, std::size_t bytes);

  /// Frees a transfer now, or when it is done.
  void discard(Transfer* transfer);

  /// Of a communicator that is being freed.
  bool has_active(std::uint32_t comm);
  void close(std::uint32_t comm);
  void forget(std::uint32_t comm);

 private:
  struct Hash {
    std::size_t operator()(const ChannelId& id) const noexcept {
      std::uint64_t mix = std::uint64_t{id.comm} << 32 | id.peer;
      mix = (mix ^ (std::uint64_t{id.channel} << 1 | (id.is_receiver ? 1 : 0)) *
                       0x9e3779b97f4a7c15U) *
            0xff51afd7ed558ccdU;
      return static_cast<std::size_t>(mix ^ mix >> 32);
    }
  };

  static int run_step(void* self);
  int step();
  void receive(const Announcement& text);
  void connect(Half& half, acp_ga_t peer);
  void list(Half& half);
  void start_one(Transfer& transfer, Batch* batch);
  bool advance_busy();
  void post_late_grants();
  void start_all(Transfer* first);
  void tell_when_gone();
  Revocation& revocation_of(std::uint32_t comm);

  Lock lock_;  ///< Guards all below, and the halves.
  LibraryMemory library_;
  Connector connector_;
  Presences presences_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Revocation>> revocations_;
  std::unordered_map<ChannelId, std::unique_ptr<Half>, Hash> halves_;
  /// Announced by peers, not declared here.
  std::unordered_map<ChannelId, acp_ga_t, Hash> early_;
  std::vector<Half*> busy_;
  bool is_running_ = false;
  bool is_leaving_ = false;  ///< And the others do not know it yet.
};

}  // namespace qmp
