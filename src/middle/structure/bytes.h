// The bytes of a vector or a deque, changed by who has it for itself: moved,
// grown, cut. And where bytes that come in are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "middle/structure/control.h"
#include "middle/structure/site.h"

namespace acp::middle::structure {

/// Largest number of bytes of one call or one body: far above what a heap can
/// be, far below what counters can hold.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

/// One copy of several that are done together.
struct Move {
  acp_ga_t to;
  acp_ga_t from;
  std::size_t bytes;
};

/// Does copies that do not depend on each other in one flight. False: as
/// finish().
[[nodiscard]] bool move_all(std::initializer_list<Move> moves);

/// Copies and waits; false when that fails, as with an address that is the
/// program's. The first wait may collect a failure of the program's own earlier
/// operations, which is left in acp_errno: then it is done once more.
[[nodiscard]] bool copy_checked(acp_ga_t to, acp_ga_t from, std::size_t bytes);

/// A block of a heap, freed with its owner unless it is given away.
class Block {
 public:
  Block() = default;
  Block(std::size_t bytes, int rank);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  bool is_good() const { return ga_ != ACP_GA_NULL; }

  acp_ga_t ga() const { return ga_; }

  /// It has none yet.
  void allocate(std::size_t bytes, int rank);
  void take(Block& other);

  acp_ga_t give() {
    const acp_ga_t ga = ga_;
    ga_ = ACP_GA_NULL;
    return ga;
  }

 private:
  acp_ga_t ga_ = ACP_GA_NULL;
};

/// Bytes that a call brings, checked before anything has changed.
class Source {
 public:
  /// Takes `bytes` at `ga`; fetches them when they are another rank's. Uses the
  /// scratch's data. False: cannot be read (reported), no memory, end of job.
  [[nodiscard]] bool open(Scratch& scratch,
                          const Call& call,
                          acp_ga_t ga,
                          std::size_t bytes);

  /// Takes a copy on the structure's rank when the bytes are part of `body`,
  /// which is about to be changed. False: no memory, end of job.
  [[nodiscard]] bool leave(const Call& call,
                           acp_ga_t body,
                           std::size_t body_bytes);

  acp_ga_t ga() const { return ga_; }

  std::size_t bytes() const { return bytes_; }

  /// Adds the put to a chain on the structure's rank, when a chain can; false
  /// when copy_to() has to be called before instead.
  bool add_put(Chain& chain, acp_ga_t to) const;

  /// Copies, and waits.
  [[nodiscard]] bool copy_to(acp_ga_t to) const {
    return move_all({{to, ga_, bytes_}});
  }

 private:
  acp_ga_t ga_ = ACP_GA_NULL;
  std::size_t bytes_ = 0;
  bool is_mine_ = false;  ///< On the caller's rank.
  Block block_;
};

/// Where the bytes of a vector (head 0) or a deque are. Plain value.
struct Shape {
  acp_ga_t body = ACP_GA_NULL;
  std::uint64_t capacity = 0;
  std::uint64_t head = 0;
  std::uint64_t size = 0;
  acp_ga_t old_body = ACP_GA_NULL;

  acp_ga_t at(std::uint64_t offset) const { return body + head + offset; }
};

/// Multiple of 64, so that bodies are aligned.
inline std::uint64_t rounded_capacity(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Makes room for `bytes` at `index`; what comes in is not written yet. False:
/// no memory and nothing has changed, or the end of the job.
[[nodiscard]] bool open_gap(const Call& call,
                            Shape& shape,
                            std::uint64_t index,
                            std::uint64_t bytes);

/// Takes bytes out; they are there.
[[nodiscard]] bool close_gap(const Call& call,
                             Shape& shape,
                             std::uint64_t index,
                             std::uint64_t bytes);

/// Room for `capacity` bytes altogether. False: as open_gap().
[[nodiscard]] bool reserve(const Call& call,
                           Shape& shape,
                           std::uint64_t capacity);

/// The bytes become those of a block, which the shape takes.
void replace(Shape& shape, Block& block, std::uint64_t bytes);

/// Bytes of 0.
[[nodiscard]] bool fill_zero(Scratch& scratch, acp_ga_t to, std::size_t bytes);

/// Exchanges the bytes of two structures on their ranks. False: as open_gap().
[[nodiscard]] bool exchange(const Call& a,
                            Shape& shape_a,
                            const Call& b,
                            Shape& shape_b);

}  // namespace acp::middle::structure
