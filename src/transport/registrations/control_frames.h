// The control frames of one endpoint, by which its two ends tell each other of
// their memory (docs/verbs.md, "Keys"). Used by the endpoints of verbs and ucx,
// which carry the frames in their packets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "transport/registrations/control.h"
#include "transport/registrations/peer_memory.h"
#include "transport/registrations/regions.h"
#include "transport/transport.h"

namespace acp::transport {

/// Counts of a transport, for tests and traces. Written by ControlFrames.
struct ControlCounts {
  std::uint64_t wanted = 0;   ///< Registrations asked for.
  std::uint64_t told = 0;     ///< Registrations that peers were told of.
  std::uint64_t revoked = 0;  ///< Regions that peers had to drop.
};

/// The part of an endpoint that its control frames need. ControlFrames calls
/// it.
class ControlSender {
 public:
  ControlSender() = default;
  ControlSender(const ControlSender&) = delete;
  ControlSender& operator=(const ControlSender&) = delete;

  /// Copies a frame into a packet. Another status than kOk: not now.
  virtual Status append_control(std::span<const std::byte> frame) = 0;

  /// Has flush() called, which calls ControlFrames::send().
  virtual void queue_for_flush() = 0;

  /// Whether a frame can still reach the peer, now or later.
  virtual bool may_answer() const noexcept = 0;

 protected:
  ~ControlSender() = default;
};

/// The outcome of a frame that has arrived.
enum class FrameOutcome : std::uint8_t {
  kTaken,
  kUnanswered,  ///< The peer asks, but may_answer() is false.
  kDamaged,     ///< The bytes are no valid control frame.
};

/// The frames that wait to be sent, and the registrations that the peer's
/// frames told of. Guarded by the engine's mutex. `registrar` is the registrar
/// of Regions.
template <typename MemoryHandle, typename Rkey>
class ControlFrames final : public Holder {
 public:
  ControlFrames(ControlSender& sender,
                Regions<MemoryHandle>& regions,
                ControlCounts& counts)
      : sender_(sender), regions_(regions), counts_(counts) {}

  /// Finds the peer's registration that holds a byte of the step's memory; asks
  /// for it when it is not known.
  Feasible find_registration(const RemoteStep& step,
                             std::uint64_t offset,
                             PeerRegistration<Rkey>*& theirs) {
    return peer_memory_.find_for(step, offset, theirs, [this](Control want) {
      ++counts_.wanted;
      queue(std::move(want));
    });
  }

  /// A part of a step that used the registration has ended.
  void end_use(PeerRegistration<Rkey>& theirs) {
    if (--theirs.uses == 0 && theirs.is_revoked) {
      drop_revoked(theirs.key, theirs.state);
    }
  }

  /// Keeps the contract of Endpoint::announce. Precondition: the sender is
  /// connected, because a peer that is told becomes a holder.
  void announce(const LocalBytes& bytes, auto& registrar, bool has_any_color) {
    for (Control& told :
         regions_.announce(bytes, registrar, has_any_color, *this)) {
      ++counts_.told;
      queue(std::move(told));
    }
    (void)send();  // in front of a message that is sent next
  }

  void revoke(const Region& region) override {
    ++counts_.revoked;
    queue({.kind = ControlKind::kRevoke,
           .key = region.key,
           .state = region.state});
  }

  /// A frame of the peer has arrived. A frame with another epoch has no effect.
  /// `unpack` is the one of PeerMemory::on_registration().
  FrameOutcome on_frame(std::span<const std::byte> bytes,
                        auto& registrar,
                        bool has_any_color,
                        auto unpack) {
    const auto frame = decode_control(bytes);
    if (!frame) {
      return FrameOutcome::kDamaged;
    }
    if (frame->epoch != regions_.epoch()) {
      return FrameOutcome::kTaken;  // from before a reset: its region is gone
    }
    switch (frame->kind) {
      case ControlKind::kWant: return on_want(*frame, registrar, has_any_color);
      case ControlKind::kRegistration:
        peer_memory_.on_registration(*frame, unpack);
        break;
      case ControlKind::kAnnounce:
        (void)peer_memory_.on_announce(*frame, unpack);
        break;
      case ControlKind::kRevoke:
        drop_revoked(frame->key, frame->state);
        return sender_.may_answer() ? FrameOutcome::kTaken
                                    : FrameOutcome::kUnanswered;
      case ControlKind::kRevoked:
        regions_.drop_holder(frame->key, frame->state, *this);
        break;
    }
    return FrameOutcome::kTaken;
  }

  /// Sends queued frames in order. False: there was no room for all. A sender
  /// that loses its peer meanwhile calls drop_peer(), which empties the list.
  bool send() {
    std::size_t sent = 0;
    while (sent < unsent_.size() && sender_.append_control(encode_control(
                                        unsent_[sent])) == Status::kOk) {
      ++sent;
    }
    const std::size_t left = unsent_.size() - std::min(sent, unsent_.size());
    unsent_.erase(unsent_.begin(),
                  unsent_.end() - static_cast<std::ptrdiff_t>(left));
    return unsent_.empty();
  }

  /// The peer is gone: it holds no region of this process, and gets no frame.
  /// Its registrations stay until release_registrations() or clear().
  void drop_peer() {
    regions_.drop_holder(*this);
    unsent_.clear();
  }

  /// Drops each registration of the peer after its last use.
  void release_registrations() { peer_memory_.revoke_all(); }

  /// Drops frames and registrations. Precondition: as for PeerMemory::clear().
  void clear() noexcept {
    peer_memory_.clear();
    unsent_.clear();
  }

 private:
  /// Frames are sent in order when there is room.
  void queue(Control frame) {
    frame.epoch = regions_.epoch();
    unsent_.push_back(std::move(frame));
    sender_.queue_for_flush();
  }

  /// A peer that gets no answer becomes no holder: it could not be dropped as
  /// one any more.
  FrameOutcome on_want(const Control& want,
                       auto& registrar,
                       bool has_any_color) {
    if (!sender_.may_answer()) {
      return FrameOutcome::kUnanswered;
    }
    Control told = regions_.answer(want, registrar, has_any_color, *this);
    counts_.told += told.size != 0 ? 1 : 0;
    queue(std::move(told));
    return FrameOutcome::kTaken;
  }

  /// Confirms once no registration of the region is in use.
  void drop_revoked(std::uint32_t key, std::uint64_t state) {
    if (peer_memory_.revoke(key, state) && sender_.may_answer()) {
      queue({.kind = ControlKind::kRevoked, .key = key, .state = state});
    }
  }

  // The engine's mutex guards these fields.
  ControlSender& sender_;
  Regions<MemoryHandle>& regions_;
  ControlCounts& counts_;
  /// Changed by frames of the peer, and by steps that find and end
  /// registrations.
  PeerMemory<Rkey> peer_memory_;
  /// In order. queue() adds; send(), drop_peer() and clear() remove.
  std::vector<Control> unsent_;
};

}  // namespace acp::transport
