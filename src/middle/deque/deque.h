// What a deque has besides what sequences have: a lock, two ends, and takes.
// docs/containers.md, "Deque".
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/bytes.h"
#include "middle/structure/control.h"

namespace acp::middle::deque {

/// A deque that the caller has locked.
class LockedDeque {
 public:
  static constexpr structure::Kind kKind = structure::Kind::kDeque;

  /// Of a new deque's sync word, and its fields.
  static std::uint64_t live_sync(const structure::Shape&) { return 0; }

  static structure::Shape shape_in(const structure::View& view);
  static void fields_of(const structure::Shape& shape,
                        std::uint64_t (&fields)[structure::kFields]);

  explicit LockedDeque(const structure::Call& call)
      : call_(call), lock_(call) {}

  /// False: destroyed (reported), or the end of the job.
  [[nodiscard]] bool begin(structure::Scratch& scratch);

  const structure::Call& call() const { return call_; }

  /// Writes `shape` and unlocks. False: the end of the job.
  [[nodiscard]] bool commit();
  /// The same behind what the chain has.
  void commit_in(structure::Chain& chain);
  /// The deque is gone, and so is what it had.
  void destroy();

  structure::Shape shape;

 private:
  const structure::Call call_;
  structure::Scratch* scratch_ = nullptr;
  std::uint64_t version_ = 0;
  structure::Lock lock_;
};

enum class End : std::uint8_t { kFront, kBack };

// As the public functions; failures are reported. False: failed.
bool push(const char* function,
          acp_ga_t deque,
          End end,
          acp_ga_t ga,
          std::size_t size);
bool pop(const char* function, acp_ga_t deque, End end, std::size_t size);
/// 1, 0 or -1.
int take(const char* function,
         acp_ga_t deque,
         End end,
         acp_ga_t ga,
         std::size_t size);

}  // namespace acp::middle::deque
