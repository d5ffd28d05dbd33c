// All channels of this process, the lock that guards them, and the progress
// step that moves them on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "inbox/lock.h"
#include "qmp/connector.h"
#include "qmp/end_marks.h"
#include "qmp/half.h"
#include "qmp/library_memory.h"
#include "qmp/presence.h"
#include "qmp/revocation.h"

namespace qmp {

/// One per process, from init to finalize. Thread-safe.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange();

  /// Comes after acp_init. `module` is the number of our module, `bytes` the
  /// size of its memory on each rank. False: no memory.
  bool begin(int module, std::size_t bytes);
  /// Ends the progress step. Comes before the destructor.
  void end();

  /// This rank starts nothing from now on. The next rank is told at once
  /// (Connector::leave), and so is the peer of each channel, by an end mark.
  /// Stage::kLeft follows when the messages of its global operations have
  /// arrived.
  void leave(std::uint64_t barriers);

  /// Comes after end(), when all operations of this rank are complete.
  void be_over() { presences_.enter(Stage::kOver); }

  bool has_left_before(std::uint64_t barrier) const {
    return connector_.has_left_before(barrier);
  }

  LibraryMemory& library() { return library_; }

  Presences& presences() { return presences_; }

  /// The half named by `id`; the first call makes it and tells the peer its
  /// address. nullptr: no memory.
  Half* half(const ChannelId& id);

  /// Starts the transfers from `first` along `next`. None of them is active.
  void start(Transfer* first);
  /// Moves the channels of these transfers on. True when no transfer of them is
  /// active.
  bool is_done(Transfer* first);
  /// Waits until no transfer of them is active; returns as acpx_wait_until.
  int wait(Transfer* first, int timeout_ms);
  /// Whether no transfer of them is active. Makes progress; returns as
  /// acpx_wait_until.
  int look(Transfer* first);

  // Global operations, in exchange_global.cc. A revocation lives as long as its
  // communicator.

  /// The revocation of a communicator that this rank makes now; `partners` are
  /// the ranks to tell of a failure.
  Revocation& join(std::uint32_t comm, const std::vector<int>& partners);
  /// This rank exchanges messages with further ranks from now on.
  void add_partners(Revocation& revocation, const std::vector<int>& ranks);
  void revoke(Revocation& revocation, const Revocation::Failed& failed);
  Revocation::Failed failed_of(const Revocation& revocation);
  bool has_parted(const Revocation& revocation,
                  int rank,
                  std::uint64_t operation);
  void ask(Revocation& revocation, int rank, const Call& call);
  std::unordered_map<int, Call> calls(const Revocation& revocation);
  /// Starts the transfers of operation number `operation`. False: it has failed
  /// already, and none is started.
  bool start_for(Revocation& revocation,
                 std::uint64_t operation,
                 Transfer* first);
  /// The transfers of start_for have ended, or stop_sends() has ended the sends
  /// among them.
  void end_for(Revocation& revocation);
  /// Moves the channel of one transfer on. True when that transfer is not
  /// active.
  bool has_ended(Transfer& transfer);
  /// Forgets the active sends from `first` along `next`, and waits until their
  /// puts are complete.
  void stop_sends(Transfer* first);
  /// Forgets the active transfers from `first` along `next`. Their peers send
  /// nothing for them any more, and their channels are not used again.
  void abandon(Transfer* first);
  /// Copies the first `bytes` of the next message, whose receive has not been
  /// started. False: it has not arrived, or it is gated.
  bool peek(Half* half, void* to, std::size_t bytes);

  /// Frees a transfer: now, or at its end when it is active.
  void discard(Transfer* transfer);

  /// QMP_comm_free calls these three in order: is a transfer of the program
  /// active; end reports and late grants; free all halves.
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

  struct Waiting;
  static int is_over(void* waiting);
  static int is_over_or_answered(void* waiting);
  static int run_step(void* self);
  int step();
  int wait_in_intervals(Waiting& waiting, int timeout_ms);
  static Half* open_half(Transfer* first);
  bool end_if_over(Half& half, Transfer* first);
  void add_end_mark(const Half& half);
  void receive(const InboxMessage& message);
  void connect(Half& half, acp_ga_t peer);
  void list(Half& half);
  void start_one(Transfer& transfer, Batch* batch);
  bool advance_busy();
  void post_late_grants();
  void start_all(Transfer* first);
  void tell_when_gone();
  Revocation& revocation_of(std::uint32_t comm);

  /// Guards all halves, and the members below that name no other guard.
  inbox::Lock lock_;
  LibraryMemory library_;  ///< Locks by itself.
  Connector connector_;
  Presences presences_;  ///< Locks by itself.
  std::unordered_map<std::uint32_t, std::unique_ptr<Revocation>> revocations_;
  /// Halves that this rank has declared.
  std::unordered_map<ChannelId, std::unique_ptr<Half>, Hash> halves_;
  /// Halves of peers that this rank has not declared its own half for.
  std::unordered_map<ChannelId, acp_ga_t, Hash> early_;
  /// Halves with something to do, in no order.
  std::vector<Half*> busy_;
  EndMarks end_marks_;       ///< To peers of this rank.
  bool has_left_ = false;    ///< leave() was called.
  bool is_running_ = false;  ///< Written by begin() and end(), without lock_.
  bool is_leaving_ = false;  ///< The presence does not say so yet.
  /// Time of the last look of look() at the presence of a peer. Written by any
  /// thread that looks. Relaxed.
  std::atomic<std::uint64_t> looked_at_ns_{0};
};

}  // namespace qmp
