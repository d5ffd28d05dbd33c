// Copies between memories whose blocks lie apart. Called by both halves of a
// channel under the lock of the process; never waits. The caller posts the
// chains and adds the signal that ends the message.
#include "qmp/block_copy.h"

#include <algorithm>

namespace qmp {

namespace {

/// The part of a run from byte `offset` of its stream to the end of that block.
struct Piece {
  std::int64_t at;       ///< Distance from the run's base.
  std::uint64_t length;  ///< Bytes up to the end of that block.
};

Piece piece_at(std::uint64_t offset, std::uint64_t block, std::int64_t stride) {
  const std::uint64_t index = offset / block;
  const std::uint64_t inside = offset % block;
  return {static_cast<std::int64_t>(index) * stride +
              static_cast<std::int64_t>(inside),
          block - inside};
}

}  // namespace

Span span_of(const Grant& grant) {
  return grant.count <= 1 ? Span{0, grant.capacity}
                          : span_of(grant.block, grant.count, grant.stride);
}

/// Large blocks on both sides are left to puts, which may run while the program
/// computes.
bool store_blocks(const Transfer& transfer, const Grant& grant) {
  const bool is_whole = grant.count <= 1;
  const bool has_small_blocks =
      !transfer.memory->is_direct() || (!is_whole && grant.block < kLargeBlock);
  if (transfer.packed || !has_small_blocks) {
    return false;
  }
  const Span span = span_of(grant);
  std::byte* first = mapped_memory(
      grant.address + static_cast<std::uint64_t>(span.low), span.bytes);
  if (first == nullptr) {
    return false;
  }
  transfer.memory->copy_to(
      {first - span.low, is_whole ? grant.capacity : grant.block, grant.count,
       grant.stride},
      static_cast<std::size_t>(transfer.length));
  return true;
}

/// Each put ends where a block of either side ends. A packed message counts as
/// one block.
std::size_t fill_chain(std::span<acpx_op_t> steps,
                       const Transfer& transfer,
                       const Grant& grant,
                       acp_ga_t source,
                       std::uint64_t& sent) {
  const Run& run = transfer.memory->first();
  const bool is_whole = static_cast<bool>(transfer.packed) || run.count <= 1;
  const std::uint64_t from_block = is_whole ? transfer.length : run.block;
  const std::int64_t from_stride = is_whole ? 0 : run.stride;
  std::size_t count = 0;
  for (; count < steps.size() && sent < transfer.length; ++count) {
    const Piece from = piece_at(sent, from_block, from_stride);
    const Piece to = piece_at(sent, grant.block, grant.stride);
    const std::uint64_t length =
        std::min({from.length, to.length, transfer.length - sent});
    acpx_op_t& step = steps[count];
    step.opcode = ACPX_PUT;
    step.local = source + static_cast<std::uint64_t>(from.at);
    step.remote = grant.address + static_cast<std::uint64_t>(to.at);
    step.size = static_cast<std::size_t>(length);
    sent += length;
  }
  return count;
}

}  // namespace qmp
