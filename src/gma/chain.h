// acpx_post: the checks of a chain, and the direct way.
#pragma once

#include <array>
#include <span>

#include "acp/extension.h"
#include "gma/engine.h"

namespace acp::gma {

/// Checks all steps before any takes effect, then runs the chain: directly
/// when every end is mapped here, else through the queue. Logged failures:
/// kInvalidArgument (number of steps, opcode, flags, steps on several ranks
/// or colors), and those of AddressSpace::locate and kMisaligned.
Result<Handle> post_chain(Engine& engine,
                          gmm::ThreadWaker& waker,
                          std::span<const acpx_op_t> ops,
                          Handle order);

/// A put and an add that wakes who waits for the word, in one chain; on a
/// word of another rank than `to`, or with a remote source, one after the
/// other.
Result<Handle> put_signal(Engine& engine,
                          gmm::ThreadWaker& waker,
                          GlobalAddress to,
                          GlobalAddress from,
                          std::uint64_t size,
                          GlobalAddress word,
                          std::uint64_t add,
                          Handle order);

}  // namespace acp::gma
