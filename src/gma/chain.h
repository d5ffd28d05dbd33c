// acpx_post: the checks of a chain, and the direct way.
#pragma once

#include <array>
#include <span>

#include "acp/extension.h"
#include "gma/engine.h"
#include "gmm/doorbell.h"

namespace acp::gma {

/// The step that an element of a chain means. False: it has no opcode, or flags
/// that do not belong to the opcode.
bool step_of(const acpx_op_t& op, Step& step);

/// Checks all steps before the first takes effect, then runs the chain:
/// directly when every end is mapped here, else through the queue. Logged
/// failures: kInvalidArgument (number of steps, opcode, flags, steps on several
/// ranks or colors), kMisaligned, and the failures of AddressSpace::locate.
Result<Handle> post_chain(Engine& engine,
                          gmm::ThreadWaker& waker,
                          std::span<const acpx_op_t> ops,
                          Handle order);

/// Adds to a word of a slice that is mapped here, and wakes the threads that
/// sleep there. A thread that sees the sum sees all earlier stores.
[[gnu::always_inline]] inline void signal_word(std::byte* slice,
                                               std::byte* word,
                                               std::uint64_t add,
                                               gmm::ThreadWaker& waker) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).fetch_add(add);
  settle_by_atomic();
  gmm::ring_signal(*reinterpret_cast<protocol::SliceHeader*>(slice), waker);
}

/// put_signal() of no bytes in the call, on a word of library memory. Returns
/// kHandleNull without any effect when that is not possible.
[[gnu::always_inline]] inline Handle signal_direct(Engine& engine,
                                                   gmm::ThreadWaker& waker,
                                                   GlobalAddress word,
                                                   std::uint64_t add,
                                                   Handle order) {
  const gmm::AddressSpace& space = engine.space();
  std::byte* slice = space.atomic_slice_of(space.codec().rank(word));
  if (!engine.is_clear(order) || (word & 7) != 0 || slice == nullptr) {
    return kHandleNull;
  }
  std::byte* signal = space.word_at(slice, space.codec().within_rank(word));
  if (signal == nullptr) {
    return kHandleNull;
  }
  engine.show_order_to_tsan();
  Engine::before_direct(order);
  signal_word(slice, signal, add, waker);
  return engine.borrowed();
}

/// Like signal_direct(), but first copies one word of data from and to library
/// memory.
[[gnu::always_inline]] inline Handle put_word_signal_direct(
    Engine& engine,
    gmm::ThreadWaker& waker,
    GlobalAddress to,
    GlobalAddress from,
    GlobalAddress word,
    std::uint64_t add,
    Handle order) {
  const gmm::AddressSpace& space = engine.space();
  const Rank rank = space.codec().rank(word);
  if (!engine.is_clear(order) || ((to | from | word) & 7) != 0 ||
      space.codec().rank(to) != rank) {
    return kHandleNull;
  }
  std::byte* slice = space.atomic_slice_of(rank);
  if (slice == nullptr) {
    return kHandleNull;
  }
  std::byte* target = space.word_at(slice, space.codec().within_rank(to));
  std::byte* signal = space.word_at(slice, space.codec().within_rank(word));
  const std::byte* source = space.library_word(from);
  if (target == nullptr || signal == nullptr || source == nullptr) {
    return kHandleNull;
  }
  engine.show_order_to_tsan();
  Engine::before_direct(order);
  gmm::copy_word(target, source);
  signal_word(slice, signal, add, waker);
  return engine.borrowed();
}

/// A put, and then an add that wakes the threads that wait for `word`. They go
/// as one chain; with a remote source, or a `word` of another color than `to`,
/// the add starts when the put is done. kBadRank, logged: `to` and `word` are
/// on two ranks.
Result<Handle> put_signal(Engine& engine,
                          gmm::ThreadWaker& waker,
                          GlobalAddress to,
                          GlobalAddress from,
                          std::uint64_t size,
                          GlobalAddress word,
                          std::uint64_t add,
                          Handle order);

}  // namespace acp::gma
