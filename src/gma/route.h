// Which way a step goes: a pure decision from where its ends are.
#pragma once

#include <cstdint>

#include "gmm/address_space.h"

namespace acp::gma {

/// Where one end of a step is, as seen from this process.
enum class End : std::uint8_t {
  kMapped,  ///< This process loads and stores there.
  kHost,    ///< Memory that another rank of this host has registered.
  kFar,     ///< Memory of another host's rank, or of a rank treated like it.
};

End end_of(const gmm::Target& target) noexcept;

/// The ways of a copy (docs/gma.md has them as a table).
enum class Way : std::uint8_t {
  kLocal,        ///< Both ends mapped: this process copies.
  kTransferGet,  ///< Endpoint::transfer into mapped memory.
  kTransferPut,  ///< Endpoint::transfer out of mapped memory.
  kBounce,       ///< Two transfers by way of a buffer of this process.
  kGet,          ///< Posts or requests to the rank of the source.
  kPut,          ///< Posts or requests to the rank of the destination.
  kRelay,        ///< Parts through memory of this rank (relay.h).
  kDelegate,     ///< The agent of the source's rank copies.
};

/// Whether Endpoint::transfer may still be tried for this step.
enum class Transfers : std::uint8_t { kPossible, kRefused };

/// Whether a copy can be relayed. Only asked when neither end is mapped.
enum class ThirdParty : std::uint8_t {
  kRelayable,  ///< Two ranks, and endpoints reach the memory of both.
  kNot,
};

Way route_copy(End to,
               End from,
               Transfers transfers,
               ThirdParty third_party) noexcept;

/// The ways of a word (kPut8 and atomics).
enum class WordWay : std::uint8_t {
  kHere,   ///< This process's CPU.
  kOwner,  ///< The agent or the device of the word's rank.
};

/// Whether the CPU may do the step: no CPU may do an atomic of a width that a
/// device executes.
enum class CpuMay : std::uint8_t { kYes, kNo };

WordWay route_word(End word, CpuMay cpu) noexcept;

}  // namespace acp::gma
