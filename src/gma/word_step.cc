// Executes a word step in the caller. The operation runner calls it for steps
// of chains and for atomics whose word is mapped here. It takes no lock and
// sends nothing, but may ring the doorbell of a rank of this host.
#include "gma/word_step.h"

#include <atomic>

#include "gmm/memory_ops.h"

namespace acp::gma {

/// The doorbell comes last: a thread that it wakes sees the word.
void run_word(const gmm::AddressSpace& space,
              gmm::ThreadWaker& waker,
              const Step& step,
              std::byte* address) {
  if (step.opcode == protocol::Opcode::kPut8) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address))
        .store(step.operand);
  } else {
    const std::uint64_t old = gmm::apply_atomic(
        step.opcode, step.width, address, step.operand, step.compare);
    if (step.local != 0) {
      if (std::byte* to = space.direct(step.local, step.width)) {
        gmm::store_word(to, step.width, old);
      }
    }
  }
  if (has_signal(step)) {
    const Rank rank = space.codec().rank(step.remote);
    if (protocol::SliceHeader* slice = space.slice_header(rank)) {
      gmm::ring_signal(*slice, waker);
    }
  }
}

}  // namespace acp::gma
