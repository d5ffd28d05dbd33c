// An operation on its way: its steps, its flight, and the party that is told of
// its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gma/flight.h"
#include "gmm/global_address.h"
#include "protocol/step.h"
#include "status/status.h"

namespace acp::gma {

using gmm::Color;
using gmm::GlobalAddress;
using gmm::Rank;
using protocol::Step;

/// Number of a queued operation; a public handle is one of these.
using Sequence = std::uint64_t;

/// The part of a step that begins `offset` bytes behind its start. A local end
/// that is not wanted stays so.
inline Step piece_of(Step step,
                     std::uint64_t offset,
                     std::uint64_t size) noexcept {
  step.remote += offset;
  step.local += step.local == 0 ? 0 : offset;
  step.size = size;
  return step;
}

/// The copy that moves the bytes of a put or a get.
inline Step as_copy(Step step) noexcept {
  if (step.opcode == protocol::Opcode::kGet) {
    std::swap(step.remote, step.local);
  }
  step.opcode = protocol::Opcode::kCopy;
  return step;
}

/// The put that moves the bytes of a copy.
inline Step as_put(Step copy) noexcept {
  copy.opcode = protocol::Opcode::kPut;
  return copy;
}

/// The get that moves the bytes of a copy.
inline Step as_get(Step copy) noexcept {
  copy.opcode = protocol::Opcode::kGet;
  std::swap(copy.remote, copy.local);
  return copy;
}

/// The party that is told when an operation ends.
enum class Owner : std::uint8_t {
  kQueue,      ///< The order queue; the operation has a number there.
  kDelegated,  ///< Another rank, whose agent request started the operation.
  kInternal,   ///< The runtime, which does not wait for the end: a message of
               ///< such an operation asks for no reply.
  kRelay,      ///< The relay: the operation is a part of a relayed copy.
};

/// The end of a copy at which it has failed. kUnknown: this rank does not know
/// which, or the operation is no copy.
enum class CopyEnd : std::uint8_t { kUnknown, kSource, kDestination };

/// Where the reply to a delegated copy goes.
struct ReplyTo {
  std::uint32_t proc = 0;
  Color color = 0;
  std::uint64_t id = 0;
};

/// Owned by the engine's pool, or by the relay (kRelay). The engine's mutex
/// guards all fields. The engine, the order queue or the relay writes the first
/// five and `call` before the operation starts. OperationRunner and its parts
/// write the others until on_finished().
struct Operation {
  /// Gives each field the value of a new operation, and keeps the capacity of
  /// `steps`. Assigning a new Operation instead would cost as much as sending
  /// one.
  void begin(Owner new_owner, std::span<const Step> new_steps) {
    owner = new_owner;
    sequence = 0;
    wait_for = 0;
    reply_to = {};
    if (steps.size() == 1 && new_steps.size() == 1) {
      steps.front() = new_steps.front();
    } else {
      steps.assign(new_steps.begin(), new_steps.end());
    }
    current = 0;
    status = Status::kOk;
    failed_end = CopyEnd::kUnknown;
    flight = Idle{};
    has_unsent = false;
    next_unsent = nullptr;
    outstanding = 0;
    in_place = {};
    call.front() = '\0';
  }

  /// Keeps the name of the public function that issues the operation; none if
  /// it is null. The caller's string may end before the operation does.
  void keep_call(const char* name) {
    if (name != nullptr) {
      call[std::string_view(name).copy(call.data(), call.size() - 1)] = '\0';
    }
  }

  Owner owner = Owner::kQueue;
  Sequence sequence = 0;  ///< kQueue: the operation's number.
  Sequence wait_for = 0;  ///< kQueue: the number that has to complete first.
  ReplyTo reply_to;       ///< kDelegated.
  std::vector<Step> steps;
  std::size_t current = 0;  ///< Index of the step under way, or that failed.
  Status status = Status::kOk;
  CopyEnd failed_end = CopyEnd::kUnknown;
  Flight flight;                     ///< How the current step is under way.
  bool has_unsent = false;           ///< Queued to send more (peer or relay).
  Operation* next_unsent = nullptr;  ///< Next in the PeerQueue that it is in.
  std::uint32_t outstanding = 0;  ///< Requests or relay parts not yet answered.
  /// Source memory that the transport may read until it is told to stop.
  std::span<const std::byte> in_place;
  /// kQueue: the function of a layer above that has issued the operation, for
  /// the line of a failure, or "".
  std::array<char, 48> call{};
};

}  // namespace acp::gma
