// How a chain of steps becomes work requests. Private to Endpoint:
// endpoint_plan.cc fills a plan, endpoint_post.cc carries it out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verbs/endpoint.h"

namespace acp::verbs {

/// The work requests of one chain, before anything is changed for it.
// NOLINTNEXTLINE(*-member-init): `parts` stays uninitialized
struct Endpoint::Plan {
  /// One work request.
  struct Part {
    const transport::RemoteStep* step;
    std::uint64_t done;  ///< Bytes of the step before this part.
    std::uint32_t size;
    PeerRegistration* theirs;
    MyRegion* mine;
    std::uint32_t lkey;
    bool is_inline;
    bool is_fenced;
  };

  /// The first `count` are planned. The others are never set: a call that is
  /// refused need not clear a kilobyte.
  std::array<Part, kBatch> parts;
  std::size_t count = 0;
  std::size_t atomics = 0;
  std::size_t words = 0;  ///< Registered words needed.
  /// A read, or an atomic, of this chain or of an earlier chain under way
  /// precedes the next step.
  bool has_read = false;
  bool has_atomic = false;
  /// The chain is behind all that is under way on the connection.
  bool is_behind = false;
  bool ends_with_write = false;
  std::size_t proofs = 0;  ///< Proofs needed at most.
};

}  // namespace acp::verbs
