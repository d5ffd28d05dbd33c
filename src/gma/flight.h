// The state of the step that an operation has under way, one type for each way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "protocol/step.h"
#include "status/status.h"

namespace acp::gma {

/// Nothing has been done yet for the current step.
struct Idle {};

/// This process copies by itself, one portion in each pump().
struct Portions {
  std::uint64_t copied_bytes = 0;
};

/// One step as independent requests or posts to one endpoint. A put or a get
/// may need several; a word or a delegated copy is a single one. The words that
/// follow a put in the chain may join its last post.
struct Pieces {
  protocol::Step step;  ///< The form that requests carry: a put, not its copy.
  std::uint64_t sent_bytes = 0;
  /// A request has gone, which its agent may refuse.
  bool has_messages = false;
  std::size_t joined_steps = 0;  ///< Set when the last post goes.
};

/// A put above one message, or several puts in turn: one request in parts. The
/// words that follow in the chain join the last part.
struct Parts {
  protocol::Step put;                       ///< The put that is being sent.
  std::size_t puts = 1;                     ///< From the current step on.
  std::size_t index = 0;                    ///< Which of them `put` is.
  std::uint64_t sent_bytes = 0;             ///< Bytes of `put` that have left.
  std::optional<std::uint64_t> request_id;  ///< Set when the first part goes.
  std::size_t joined_steps = 0;             ///< Behind the puts.
  /// Why no more data is sent, once a part has found its source gone.
  Status failure = Status::kOk;
};

/// All steps of the operation in one request, in one post, or in a post with a
/// request behind it. Without such a request the words behind puts may be left
/// for later flights.
struct Chain {
  std::size_t steps;             ///< From the operation's first step on.
  std::size_t joined_steps = 0;  ///< The last of them: the request behind.
};

/// A device has done the step. A message follows that rings the target's
/// doorbell, which no device does.
struct Signal {};

/// A copy between two other ranks through memory of this rank (relay.h).
struct Relayed {
  protocol::Step copy;
  std::uint64_t begun_bytes = 0;  ///< Bytes that parts were made for.
};

using Flight =
    std::variant<Idle, Portions, Pieces, Parts, Chain, Signal, Relayed>;

}  // namespace acp::gma
