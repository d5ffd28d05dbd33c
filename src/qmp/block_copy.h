// Moves a gated message between memories whose blocks lie apart, by stores or
// by chains of puts. Called by both halves of a channel under the lock of the
// process; never waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "acp/extension.h"
#include "qmp/message_layout.h"
#include "qmp/transfer.h"

namespace qmp {

/// The memory that a grant describes, as distances from its address.
Span span_of(const Grant& grant);

/// Copies the whole message straight into the receiver's memory, if this
/// process can store there and one side has small blocks. So the sender needs
/// no packed buffer. False: nothing is copied.
bool store_blocks(const Transfer& transfer, const Grant& grant);

/// Fills `steps` with puts of the message's bytes from `sent` on, out of the
/// memory at `source` into that of the grant. Returns the number of steps, and
/// adds to `sent` the bytes that they put.
std::size_t fill_chain(std::span<acpx_op_t> steps,
                       const Transfer& transfer,
                       const Grant& grant,
                       acp_ga_t source,
                       std::uint64_t& sent);

}  // namespace qmp
