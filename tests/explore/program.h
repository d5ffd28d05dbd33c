// The interface between the explorer and the code of a rank.
#pragma once

#include <cstddef>
#include <cstdint>

namespace explore {

/// One operation on a structure, by its number in operations.h.
struct Operation {
  std::uint16_t code = 0;
  std::uint64_t a = 0;  ///< First argument.
  std::uint64_t b = 0;  ///< Second argument.
};

/// The result of an operation that has none, or found nothing.
inline constexpr std::uint64_t kNothing = ~std::uint64_t{0};
/// The result of an operation that set acp_errno.
inline constexpr std::uint64_t kFailure = ~std::uint64_t{1};

/// The handles of up to three structures.
struct Handles {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  std::uint64_t variant = 0;
};

/// The code of a rank for one kind of structure. It runs in a fiber of that
/// rank.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  /// Creates the structures. Rank 0 calls it.
  virtual Handles create(std::uint64_t variant) = 0;

  /// Each rank calls it with the result of create().
  virtual void use(const Handles& handles) = 0;

  /// Does an operation and returns its result.
  virtual std::uint64_t run(const Operation& operation) = 0;

  /// Writes the content of the structures, as the model's dump() has it.
  /// Returns how many numbers there are, `most` at most.
  virtual std::size_t dump(std::uint64_t* to, std::size_t most) = 0;

  /// Destroys the structures. Rank 0 calls it.
  virtual void destroy() = 0;

  /// Ends the part of this rank. Each rank calls it after destroy().
  virtual void leave() {}
};

}  // namespace explore
