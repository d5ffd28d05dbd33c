// The operations of a vector that sequences do not have: pushes that reserve
// bytes, and changes that freeze the vector and wait for pushes.
// docs/containers.md, "Vector", has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/bytes.h"
#include "middle/structure/control.h"

namespace acp::middle::vector {

/// The sync word: {frozen:1 | queued:1 | version:14 | reserved:48}. Pushes add
/// to it, changes freeze and replace it. A frozen vector that is queued has no
/// owner; the front of the queue takes it. Plain value.
struct Reservations {
  static constexpr std::uint64_t kFrozen = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kQueued = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kVersionMask = 0x3fff;
  static constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << 48) - 1;

  std::uint64_t word;

  static std::uint64_t live(std::uint64_t version, std::uint64_t bytes) {
    return (version & kVersionMask) << 48 | bytes;
  }

  bool is_frozen() const { return (word & kFrozen) != 0; }

  bool is_queued() const { return (word & kQueued) != 0; }

  bool is_of(std::uint64_t version) const {
    return (word >> 48 & kVersionMask) == (version & kVersionMask);
  }

  std::uint64_t bytes() const { return word & kBytesMask; }
};

static_assert(Reservations::kFrozen == structure::kDeadSync);

/// The use of a frozen vector. A change leaves it frozen to the next
/// waiter. A push thaws it, so that pushes go on beside each other.
enum class Use : std::uint8_t { kChange, kPush };

/// A vector that the caller has for itself: it is frozen and no push is under
/// way. commit() writes `shape` and thaws, or leaves it to the next waiter.
/// Used by one thread.
///
/// 1. A reservation is valid if its word was not frozen, its version is that of
///    the fields, and it ends within the capacity.
/// 2. Valid reservations do not overlap, and each adds its bytes to `committed`
///    when they are written. A frozen vector waits until the valid ones have.
/// 3. Exactly one reservation begins within the capacity and ends beyond. Its
///    rank writes the push limit, which is where it begins, and grows the
///    vector.
/// 4. All other reservations are not valid. They disappear when the sync word
///    is replaced, and their pushes try again.
class FrozenVector {
 public:
  static constexpr structure::Kind kKind = structure::Kind::kVector;

  /// The sync word of a new vector.
  static std::uint64_t live_sync(const structure::Shape& shape) {
    return Reservations::live(structure::kFirstVersion, shape.size);
  }

  static structure::Shape shape_in(const structure::View& view);
  static void fields_of(const structure::Shape& shape,
                        std::uint64_t (&fields)[structure::kFields]);

  explicit FrozenVector(const structure::Call& call, Use use = Use::kChange)
      : call_(call), use_(use) {}

  FrozenVector(const FrozenVector&) = delete;
  FrozenVector& operator=(const FrozenVector&) = delete;
  /// Thaws the vector as it was, unless commit() or destroy() was called.
  /// Leaves the queue.
  ~FrozenVector();

  /// Freezes the vector and waits for the pushes. False: it was destroyed
  /// (reported), or the job is ending.
  [[nodiscard]] bool begin(structure::Scratch& scratch);
  /// Freezes the vector for the push that grows it (3). `start` is where its
  /// reservation begins, and the push limit. open() was called before.
  [[nodiscard]] bool begin_growth(std::uint64_t version, std::uint64_t start);
  /// Takes over a frozen vector that was left to the queue's front.
  void adopt(const structure::View& view);

  /// Says which vector turn() is about. begin() does that by itself.
  void open(structure::Scratch& scratch);

  /// The caller's place among those who wait for the vector.
  structure::Turn& turn() { return turn_; }

  const structure::Call& call() const { return call_; }

  /// Writes `shape` and thaws. False: the job is ending.
  [[nodiscard]] bool commit();
  /// Destroys the control and frees the bytes.
  void destroy();

  structure::Shape shape;

 private:
  bool freeze(std::uint64_t limit);
  bool wait_for_pushes(std::uint64_t reserved);

  const structure::Call call_;
  const Use use_;
  structure::Turn turn_;
  structure::Scratch* scratch_ = nullptr;  ///< open() writes it.
  // adopt() writes these. commit() and destroy() clear is_frozen_.
  std::uint64_t version_ = 0;  ///< The fields' version.
  bool is_frozen_ = false;
};

/// The body of acp_push_back_vector. False: failed, which is reported.
bool push_back(acp_ga_t vector, acp_ga_t ga, std::size_t size);

}  // namespace acp::middle::vector
