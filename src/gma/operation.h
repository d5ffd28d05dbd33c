// An operation on its way: its steps, its flight, and the party that is told of
// its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "gma/flight.h"
#include "gmm/global_address.h"
#include "protocol/operation.h"

namespace acp::gma {

using gmm::Color;
using gmm::GlobalAddress;
using gmm::Rank;

/// Number of a queued operation; a public handle is one of these.
using Sequence = std::uint64_t;

/// One step: a copy between any two addresses, or an action at `remote`.
struct Step {
  protocol::Opcode opcode = protocol::Opcode::kCopy;
  std::uint8_t width = 8;    ///< Bytes of a word (kPut8 and atomics).
  std::uint16_t flags = 0;   ///< protocol::kSignalFlag.
  GlobalAddress remote = 0;  ///< kCopy: destination.
  GlobalAddress local = 0;   ///< kCopy: source. kPut: source. kGet and
                             ///< atomics: where the result goes, or 0.
  std::uint64_t size = 0;    ///< Bytes of a copy, put or get.
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

inline bool is_bulk(const Step& step) noexcept {
  return protocol::is_bulk(step.opcode);
}

/// Bytes that a step touches at `remote`.
inline std::uint64_t bytes_at_remote(const Step& step) noexcept {
  const bool is_word = protocol::is_word(step.opcode);
  return is_word ? step.width : step.size;
}

/// The party that is told when an operation ends.
enum class Owner : std::uint8_t {
  kQueue,      ///< The order queue; the operation has a number there.
  kDelegated,  ///< Another rank, whose agent request started the operation.
  kInternal,   ///< The runtime, which does not wait for the end.
  kRelay,      ///< The relay: the operation is a part of a relayed copy.
};

/// Where the reply to a delegated copy goes.
struct ReplyTo {
  std::uint32_t proc = 0;
  Color color = 0;
  std::uint64_t id = 0;
};

/// Owned by the engine's pool, or by the relay (kRelay). The engine's mutex
/// guards all fields. The engine, the order queue or the relay writes the first
/// five before the operation starts. OperationRunner and its parts write the
/// rest until on_finished().
struct Operation {
  Owner owner = Owner::kInternal;
  Sequence sequence = 0;  ///< kQueue: the operation's number.
  Sequence wait_for = 0;  ///< kQueue: the number that has to complete first.
  ReplyTo reply_to;       ///< kDelegated.
  std::vector<Step> steps;
  std::size_t current = 0;  ///< Index of the step under way, or that failed.
  Status status = Status::kOk;
  Flight flight;                  ///< How the current step is under way.
  bool has_unsent = false;        ///< Queued to send more (peer or relay).
  std::uint32_t outstanding = 0;  ///< Requests or relay parts not yet answered.
  /// Source memory that the transport may read until it is told to stop.
  std::span<const std::byte> in_place;
};

}  // namespace acp::gma
