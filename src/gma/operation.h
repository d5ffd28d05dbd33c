// One operation on its way: what was asked, and how far it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gmm/global_address.h"
#include "protocol/operation.h"

namespace acp::gma {

using gmm::Color;
using gmm::GlobalAddress;
using gmm::Rank;

/// Number of a queued operation; a public handle is one of these.
using Sequence = std::uint64_t;

/// One step: a copy between any two addresses, or something done at `remote`.
struct Step {
  protocol::Opcode opcode = protocol::Opcode::kCopy;
  std::uint8_t width = 8;    ///< Of an atomic, bytes.
  std::uint16_t flags = 0;   ///< protocol::kSignalFlag.
  GlobalAddress remote = 0;  ///< kCopy: destination.
  GlobalAddress local = 0;   ///< kCopy: source. kPut: source. kGet and
                             ///< atomics: where the result goes, or 0.
  std::uint64_t size = 0;    ///< Bytes, for copies, put and get.
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

/// Who is told when an operation ends.
enum class Owner : std::uint8_t {
  kQueue,      ///< It has a number in the order queue.
  kDelegated,  ///< Another rank's agent asked for it.
  kInternal,   ///< The runtime; nobody waits for it.
  kRelay,      ///< The mover itself: a part of a copy between two others.
};

/// Where the reply to a delegated copy goes.
struct ReplyTo {
  std::uint32_t proc = 0;
  Color color = 0;
  std::uint64_t id = 0;
};

/// Owned by the engine's pool; guarded by the engine's mutex.
struct Operation {
  Owner owner = Owner::kInternal;
  Sequence sequence = 0;  ///< kQueue.
  Sequence wait_for = 0;  ///< kQueue: its condition.
  ReplyTo reply_to;       ///< kDelegated.
  std::vector<Step> steps;
  std::size_t current = 0;         ///< Step under way.
  std::uint64_t copied_bytes = 0;  ///< Of the step under way, by this process.
  Status status = Status::kOk;

  /// The step under way as requests to one peer.
  bool is_whole = false;  ///< All steps in one request.
  GlobalAddress piece_remote = 0;
  GlobalAddress piece_local = 0;
  protocol::Opcode piece_opcode = protocol::Opcode::kPut;
  std::uint64_t piece_bytes = 0;  ///< Of the whole step.
  std::uint64_t sent_bytes = 0;
  bool has_unsent = false;
  /// Memory that the wire may read until it is told to stop.
  std::span<const std::byte> in_place;
  bool owes_signal = false;  ///< A device did it; nobody has been rung yet.
  std::uint32_t outstanding = 0;  ///< Requests without a reply.
  /// Of a put that goes in parts: their request, once the first has gone, and
  /// how many of the next steps the last part carries.
  std::optional<std::uint64_t> parts_id;
  std::size_t joined_steps = 0;
};

}  // namespace acp::gma
