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

  /// See Connector.
  void leave(std::uint64_t barriers) { connector_.leave(barriers); }

  bool has_left_before(std::uint64_t barrier) const {
    return connector_.has_left_before(barrier);
  }

  LibraryMemory& library() { return library_; }

  /// The half for `id`, made and announced the first time; nullptr: no memory.
  Half* half(const ChannelId& id);

  /// Starts transfers from `first` along `next`. None is active.
  void start(Transfer* first);
  /// Starts the receives among them ahead of `start`.
  void start_receives(Transfer* first);
  /// Moves their channels on; true when none is active any more.
  bool is_done(Transfer* first);
  /// Waits. As acpx_wait_until.
  int wait(Transfer* first, int timeout_ms);

  /// Forgets those that are active; their channels are not used any more.
  void abandon(Transfer* first);

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
  void start_one(Transfer& transfer, Outbox* outbox);
  bool advance_busy();
  void post_late_credits();

  Lock lock_;  ///< Guards all below, and the halves.
  LibraryMemory library_;
  Connector connector_;
  std::unordered_map<ChannelId, std::unique_ptr<Half>, Hash> halves_;
  /// Announced by peers, not declared here.
  std::unordered_map<ChannelId, acp_ga_t, Hash> early_;
  std::vector<Half*> busy_;
  bool is_running_ = false;
};

}  // namespace qmp
