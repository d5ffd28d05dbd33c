// What a vector has besides what sequences have: pushes that reserve, and
// changes that wait for them. docs/containers.md, "Vector".
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/bytes.h"
#include "middle/structure/control.h"

namespace acp::middle::vector {

/// The sync word: {frozen:1 | version:15 | reserved:48}. Plain value.
struct Reservations {
  static constexpr std::uint64_t kFrozen = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kVersionMask = 0x7fff;
  static constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << 48) - 1;

  std::uint64_t word;

  static std::uint64_t live(std::uint64_t version, std::uint64_t bytes) {
    return (version & kVersionMask) << 48 | bytes;
  }

  bool is_frozen() const { return (word & kFrozen) != 0; }

  bool is_of(std::uint64_t version) const {
    return (word >> 48 & kVersionMask) == (version & kVersionMask);
  }

  std::uint64_t bytes() const { return word & kBytesMask; }
};

static_assert(Reservations::kFrozen == structure::kDeadSync);

/// A vector that the caller has for itself: frozen, and no push under way.
class FrozenVector {
 public:
  static constexpr structure::Kind kKind = structure::Kind::kVector;

  /// Of a new vector's sync word, and its fields.
  static std::uint64_t live_sync(const structure::Shape& shape) {
    return Reservations::live(structure::kFirstVersion, shape.size);
  }

  static structure::Shape shape_in(const structure::View& view);
  static void fields_of(const structure::Shape& shape,
                        std::uint64_t (&fields)[structure::kFields]);

  explicit FrozenVector(const structure::Call& call) : call_(call) {}

  FrozenVector(const FrozenVector&) = delete;
  FrozenVector& operator=(const FrozenVector&) = delete;
  /// Thaws it as it was, unless commit() or destroy() was called.
  ~FrozenVector();

  /// False: destroyed (reported), or the end of the job.
  [[nodiscard]] bool begin(structure::Scratch& scratch);
  /// The same for the push whose reservation begins within the capacity and
  /// ends beyond: tells others that it begins at `start`.
  [[nodiscard]] bool begin_growth(structure::Scratch& scratch,
                                  std::uint64_t version,
                                  std::uint64_t start);

  const structure::Call& call() const { return call_; }

  /// Writes `shape` and thaws. False: the end of the job.
  [[nodiscard]] bool commit();
  /// The vector is gone, and so is what it had.
  void destroy();

  structure::Shape shape;

 private:
  bool freeze(structure::Scratch& scratch, std::uint64_t limit);
  bool wait_for_pushes(std::uint64_t reserved);

  const structure::Call call_;
  structure::Scratch* scratch_ = nullptr;
  std::uint64_t version_ = 0;
  bool is_frozen_ = false;
};

/// As acp_push_back_vector; false: failed, which is reported.
bool push_back(acp_ga_t vector, acp_ga_t ga, std::size_t size);

}  // namespace acp::middle::vector
