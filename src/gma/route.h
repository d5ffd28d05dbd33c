// Which way a step goes: a pure decision from the addresses of its ends. The
// engine and the operation runner ask; nothing here looks up an address.
#pragma once

#include <cstdint>

#include "gma/operation.h"
#include "gmm/address_space.h"

namespace acp::gma {

/// Where one end of a step is, as seen from this process.
enum class End : std::uint8_t {
  kMapped,  ///< This process loads and stores there.
  kHost,    ///< Memory that another rank of this host has registered.
  kFar,     ///< Memory of another host's rank, or of a rank treated like it.
};

/// Rank and key tell where the memory is. No key table is read, so the address
/// may be invalid, and the answer is the same until acp_reset.
inline End end_of(const gmm::AddressSpace& space, GlobalAddress ga) noexcept {
  const Rank rank = space.codec().rank(ga);
  return rank == space.my_rank()                        ? End::kMapped
         : space.slice_of(rank) == nullptr              ? End::kFar
         : space.codec().index(ga) < gmm::kFirstUserKey ? End::kMapped
                                                        : End::kHost;
}

/// The ways of a step (docs/gma.md has them as a table).
enum class Way : std::uint8_t {
  kLocal,          ///< This process loads, stores, or executes the atomic.
  kCrossGet,       ///< A cross-memory copy into mapped memory.
  kCrossPut,       ///< A cross-memory copy out of mapped memory.
  kBounce,         ///< Two cross-memory copies, by a buffer of this process.
  kGet,            ///< Posts or requests to the rank of the source.
  kPut,            ///< Posts or requests to the rank of the destination.
  kBetweenOthers,  ///< A copy between other ranks: relayed or delegated.
  kOwner,          ///< A word: the agent or the device of its rank.
};

/// Whether a cross-memory copy may still be tried for this step.
enum class CrossCopies : std::uint8_t { kPossible, kRefused };

/// The way of a copy, a put or a get.
constexpr Way route_copy(End to, End from, CrossCopies cross_copies) noexcept {
  const bool can_cross = cross_copies == CrossCopies::kPossible;
  if (to == End::kMapped) {
    return from == End::kMapped              ? Way::kLocal
           : from == End::kHost && can_cross ? Way::kCrossGet
                                             : Way::kGet;
  }
  if (from == End::kMapped) {
    return to == End::kHost && can_cross ? Way::kCrossPut : Way::kPut;
  }
  return to == End::kHost && from == End::kHost && can_cross
             ? Way::kBounce
             : Way::kBetweenOthers;
}

/// Whether the CPU may do the step: no CPU may do an atomic of a width that a
/// device executes.
enum class CpuMay : std::uint8_t { kYes, kNo };

/// The way of a word (kPut8 and atomics).
constexpr Way route_word(End word, CpuMay cpu) noexcept {
  return word == End::kMapped && cpu == CpuMay::kYes ? Way::kLocal
                                                     : Way::kOwner;
}

/// The way of any step. Its addresses are not looked up.
[[gnu::always_inline]] inline Way route(
    const gmm::AddressSpace& space,
    const Step& step,
    CrossCopies cross_copies = CrossCopies::kPossible) noexcept {
  const End remote = end_of(space, step.remote);
  if (is_word(step.opcode)) {
    const bool cpu_may = step.opcode == protocol::Opcode::kPut8 ||
                         space.has_cpu_atomics(step.width);
    return route_word(remote, cpu_may ? CpuMay::kYes : CpuMay::kNo);
  }
  const End local = end_of(space, step.local);
  return step.opcode == protocol::Opcode::kGet
             ? route_copy(local, remote, cross_copies)
             : route_copy(remote, local, cross_copies);
}

}  // namespace acp::gma
