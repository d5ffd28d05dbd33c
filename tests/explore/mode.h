// The properties of the network below the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace explore {

/// The order in which the bytes of a copy are written, or read.
enum class Arrangement : std::uint8_t {
  kForwards,
  kBackwards,
  kEvenFirst,
  kOddFirst,
  kAny  ///< Each copy has one of the others.
};

/// Properties of the network below the ranks.
struct Mode {
  /// A chain is done when acpx_post returns, as where ranks share memory.
  bool is_near = false;
  /// Copies go unit by unit, and others may act between two units.
  bool is_torn = false;
  std::size_t unit_bytes = 8;
  Arrangement puts = Arrangement::kForwards;
  Arrangement gets = Arrangement::kForwards;
  std::uint64_t seed = 0;  ///< Chooses the arrangements of kAny.
  /// A waiter may see a change that came without a signal at once, and progress
  /// steps may run without a reason.
  bool is_lively = false;
};

/// The mode of that name: docs/explorer.md lists them. Other names are "far".
Mode mode_named(const std::string& name, std::uint64_t seed);

}  // namespace explore
