// The registrations of which an endpoint's peer has told it, in an answer or in
// an announcement. A registration that a step needs and that is not known is
// asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "transport/registrations/question.h"
#include "transport/transport.h"

namespace acp::transport {

/// A registration of a peer. `Rkey` is the network's form of the packed rkey.
/// Guarded by the engine's mutex. PeerMemory writes all fields but `uses`,
/// which the endpoint counts when it prepares and ends a part of a step.
template <typename Rkey>
struct PeerRegistration {
  std::uint32_t key = 0;
  std::uint64_t state = 0;    ///< State of the peer's key entry.
  std::uint64_t offset = 0;   ///< First byte, as in a global address.
  std::uint64_t size = 0;     ///< Bytes from there.
  std::uint64_t address = 0;  ///< First byte, in the peer.
  Rkey rkey{};
  std::uint32_t uses = 0;   ///< Parts of steps that use it, unsent ones too.
  bool is_revoked = false;  ///< Dropped when `uses` is 0.

  /// The address in the peer of a byte of the registration.
  std::uint64_t address_of(std::uint64_t at) const noexcept {
    return address + (at - offset);
  }

  /// How many bytes the registration has from this one on.
  std::uint64_t bytes_from(std::uint64_t at) const noexcept {
    return size - (at - offset);
  }
};

/// Guarded by the engine's mutex. A PeerRegistration stays at its address until
/// it is dropped, so parts of steps may point to it.
template <typename Rkey>
class PeerMemory {
 public:
  /// Finds the registration that holds a byte of the step's memory. When there
  /// is none, `ask` gets a kWant, which it sends; one question at a time.
  Feasible find_for(const RemoteStep& step,
                    std::uint64_t offset,
                    PeerRegistration<Rkey>*& theirs,
                    auto ask) {
    theirs = find(step.key, offset);
    if (theirs != nullptr && theirs->is_revoked) {
      return Feasible::kLater;
    }
    if (theirs != nullptr &&
        ((theirs->state ^ step.state) & step.state_mask) == 0) {
      return Feasible::kNow;
    }
    if (question_.take_denial(step, offset)) {
      return Feasible::kNever;
    }
    if (question_.begin(step, offset)) {
      ask(Control{
          .kind = ControlKind::kWant, .key = step.key, .offset = offset});
    }
    return Feasible::kLater;
  }

  /// The answer to a question has come. `unpack` makes an rkey of its bytes, or
  /// nothing when they are of no use.
  void on_registration(const Control& told, auto unpack) {
    question_.on_answer(told);
    if (told.size != 0 && !on_announce(told, unpack)) {
      question_.deny();
    }
  }

  /// The peer has told of a registration. False: there is none, or its rkey is
  /// of no use.
  bool on_announce(const Control& told, auto unpack) {
    if (told.size == 0) {
      return false;
    }
    std::optional<Rkey> rkey = unpack(told.rkey);
    if (!rkey) {
      return false;
    }
    add({.key = told.key,
         .state = told.state,
         .offset = told.offset,
         .size = told.size,
         .address = told.address,
         .rkey = std::move(*rkey)});
    return true;
  }

  /// The registration that holds the byte; null when none does.
  PeerRegistration<Rkey>* find(std::uint32_t key,
                               std::uint64_t offset) noexcept {
    if (last_ != nullptr && holds(*last_, key, offset)) {
      return last_;
    }
    auto found = registrations_.upper_bound({key, offset});
    if (found == registrations_.begin()) {
      return nullptr;
    }
    --found;
    if (!holds(found->second, key, offset)) {
      return nullptr;
    }
    last_ = &found->second;
    return last_;
  }

  /// Adds a registration that the peer has told of. It replaces one at the same
  /// offset, unless that one is in use or revoked.
  void add(PeerRegistration<Rkey> theirs) {
    const std::pair at{theirs.key, theirs.offset};
    const auto found = registrations_.find(at);
    if (found == registrations_.end()) {
      registrations_.emplace(at, std::move(theirs));
    } else if (found->second.uses == 0 && !found->second.is_revoked) {
      found->second = std::move(theirs);
    }
  }

  /// Drops the registrations of a region that the peer revokes. True when none
  /// is left. Otherwise call again when the last use of a registration has
  /// ended.
  bool revoke(std::uint32_t key, std::uint64_t state) {
    bool is_gone = true;
    last_ = nullptr;
    for (auto at = registrations_.lower_bound({key, 0});
         at != registrations_.end() && at->first.first == key;) {
      PeerRegistration<Rkey>& theirs = at->second;
      if (theirs.state != state) {
        ++at;
      } else if (theirs.uses != 0) {
        theirs.is_revoked = true;
        is_gone = false;
        ++at;
      } else {
        at = registrations_.erase(at);
      }
    }
    return is_gone;
  }

  /// Drops each registration after its last use, as if the peer had revoked all
  /// its regions.
  void revoke_all() {
    last_ = nullptr;
    std::erase_if(registrations_,
                  [](const auto& each) { return each.second.uses == 0; });
    for (auto& [at, theirs] : registrations_) {
      theirs.is_revoked = true;
    }
  }

  /// Precondition: no part of a step that uses a registration is looked at
  /// again.
  void clear() noexcept {
    registrations_.clear();
    last_ = nullptr;
    question_ = {};
  }

 private:
  static bool holds(const PeerRegistration<Rkey>& theirs,
                    std::uint32_t key,
                    std::uint64_t offset) noexcept {
    return theirs.key == key && offset - theirs.offset < theirs.size;
  }

  // The engine's mutex guards these fields.
  /// By key, then by offset. add() adds and replaces; revoke(), revoke_all()
  /// and clear() remove.
  std::map<std::pair<std::uint32_t, std::uint64_t>, PeerRegistration<Rkey>>
      registrations_;
  /// The registration found last; null: none. Written by find(), and reset
  /// before a registration is dropped.
  PeerRegistration<Rkey>* last_ = nullptr;
  /// Changed by find_for() and on_registration(), and reset by clear().
  Question question_;
};

}  // namespace acp::transport
