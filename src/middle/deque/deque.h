// The operations of a deque that sequences do not have: a lock, pushes and pops
// at both ends, and takes. docs/containers.md, "Deque", has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/bytes.h"
#include "middle/structure/control.h"

namespace acp::middle::deque {

/// A deque that the caller has locked. commit() writes `shape` and unlocks.
/// Used by one thread.
class LockedDeque {
 public:
  static constexpr structure::Kind kKind = structure::Kind::kDeque;

  /// The sync word of a new deque: a free lock.
  static std::uint64_t live_sync(const structure::Shape&) { return 0; }

  static structure::Shape shape_in(const structure::View& view);
  static void fields_of(const structure::Shape& shape,
                        std::uint64_t (&fields)[structure::kFields]);

  explicit LockedDeque(const structure::Call& call)
      : call_(call), lock_(call) {}

  /// Locks the deque and reads `shape`. False: it was destroyed (reported), or
  /// the job is ending.
  [[nodiscard]] bool begin(structure::Scratch& scratch);

  const structure::Call& call() const { return call_; }

  /// Writes `shape` and unlocks. False: the job is ending.
  [[nodiscard]] bool commit();
  /// Adds the writing of `shape` and the unlocking to a chain, and runs it.
  [[nodiscard]] bool commit_with(structure::Chain& chain);
  /// Destroys the control and frees the bytes.
  void destroy();

  structure::Shape shape;

 private:
  const structure::Call call_;
  // begin() writes these.
  structure::Scratch* scratch_ = nullptr;
  std::uint64_t version_ = 0;  ///< The fields' version.
  structure::Lock lock_;
};

enum class End : std::uint8_t { kFront, kBack };

// The bodies of the public functions. Failures are reported; false: failed.
bool push(const char* function,
          acp_ga_t deque,
          End end,
          acp_ga_t ga,
          std::size_t size);
bool pop(const char* function, acp_ga_t deque, End end, std::size_t size);
/// 1: taken; 0: the deque has fewer bytes; -1: failed.
int take(const char* function,
         acp_ga_t deque,
         End end,
         acp_ga_t ga,
         std::size_t size);

}  // namespace acp::middle::deque
