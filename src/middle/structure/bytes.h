// Changes the bytes of a vector or a deque that the caller has for itself:
// moves, grows and shrinks them. Also fetches the bytes that a call brings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "middle/structure/control.h"
#include "middle/structure/site.h"

namespace acp::middle::structure {

/// Largest number of bytes of one call or one body. No heap is so large, and no
/// counter of this layer overflows below it.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;

/// One of several copies that are done together.
struct Move {
  acp_ga_t to;
  acp_ga_t from;
  std::size_t bytes;
};

/// Does copies that do not depend on each other in one flight. False: as
/// finish().
[[nodiscard]] bool move_all(std::initializer_list<Move> moves);

/// Sets acp_errno and writes a line about an address that the program gave and
/// that no memory of a rank, or of this rank, has.
void fail_no_memory(const Call& call, acp_ga_t ga);

/// Copies and waits. False: the copy failed, for example because the program
/// gave a bad address. The first wait may instead collect a failure of
/// operations that were under way, which stays in acp_errno. The copy is then
/// done once more. An error names the public function.
[[nodiscard]] bool copy_checked(acp_ga_t to, acp_ga_t from, std::size_t bytes);

/// Owns a block of a heap and frees it, unless it is given away. Used by one
/// thread.
class Block {
 public:
  Block() = default;
  Block(std::size_t bytes, int rank);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  bool is_good() const { return ga_ != ACP_GA_NULL; }

  acp_ga_t ga() const { return ga_; }

  /// Call allocate() and own() only on a Block that owns nothing.
  void allocate(std::size_t bytes, int rank);

  void own(acp_ga_t ga) { ga_ = ga; }

  void take(Block& other);

  acp_ga_t give() {
    const acp_ga_t ga = ga_;
    ga_ = ACP_GA_NULL;
    return ga;
  }

 private:
  acp_ga_t ga_ = ACP_GA_NULL;  ///< Null: owns no block.
};

/// The bytes that a call brings. They are read before the structure changes, so
/// that a bad address fails without effect. Used by one thread.
class Source {
 public:
  /// Takes `bytes` bytes at `ga`. Bytes of another rank are fetched, into the
  /// scratch when they fit. False: they cannot be read (reported), there is no
  /// memory, or the job is ending.
  [[nodiscard]] bool open(Scratch& scratch,
                          const Call& call,
                          acp_ga_t ga,
                          std::size_t bytes);

  /// Copies the bytes to a block on the structure's rank if they are part of
  /// `body`, which is about to change. False: no memory, or the job is ending.
  [[nodiscard]] bool leave(const Call& call,
                           acp_ga_t body,
                           std::size_t body_bytes);

  acp_ga_t ga() const { return ga_; }

  std::size_t bytes() const { return bytes_; }

  /// Adds a put of the bytes to a chain on the structure's rank. False: the
  /// bytes are on another rank, and the caller has to call copy_to() first.
  bool add_put(Chain& chain, acp_ga_t to) const;

  /// Copies the bytes to `to`, and waits.
  [[nodiscard]] bool copy_to(acp_ga_t to) const {
    return move_all({{to, ga_, bytes_}});
  }

 private:
  // open() writes these, and leave() changes them when it copies the bytes.
  acp_ga_t ga_ = ACP_GA_NULL;
  std::size_t bytes_ = 0;
  bool is_mine_ = false;  ///< The bytes are on the caller's rank.
  Block block_;           ///< Has the bytes that no longer lie at the source.
};

/// Where the bytes of a vector or a deque are. A vector's head is 0. Plain
/// value.
struct Shape {
  acp_ga_t body = ACP_GA_NULL;
  std::uint64_t capacity = 0;
  std::uint64_t head = 0;
  std::uint64_t size = 0;
  acp_ga_t old_body = ACP_GA_NULL;

  acp_ga_t at(std::uint64_t offset) const { return body + head + offset; }
};

/// Rounds up to a multiple of 64, so that bodies are aligned.
inline std::uint64_t rounded_capacity(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Makes a gap of `bytes` bytes at `index`, whose content is undefined. If the
/// bytes move to a new body, `outdated` gets the old body of before. The
/// caller's source may lie there, so the caller frees it after it has filled
/// the gap. False: there is no memory and nothing has changed, or the job is
/// ending.
[[nodiscard]] bool open_gap(const Call& call,
                            Shape& shape,
                            std::uint64_t index,
                            std::uint64_t bytes,
                            Block& outdated);

/// Removes `bytes` bytes at `index`. The caller has checked that they exist.
[[nodiscard]] bool close_gap(const Call& call,
                             Shape& shape,
                             std::uint64_t index,
                             std::uint64_t bytes);

/// Makes room for `capacity` bytes altogether. False: as open_gap().
[[nodiscard]] bool reserve(const Call& call,
                           Shape& shape,
                           std::uint64_t capacity);

/// Makes the block the body, which the shape then owns.
void replace(Shape& shape, Block& block, std::uint64_t bytes);

/// Writes `bytes` zeros.
[[nodiscard]] bool fill_zero(Scratch& scratch, acp_ga_t to, std::size_t bytes);

/// Exchanges the bytes of two structures, which stay on their ranks. False: as
/// open_gap().
[[nodiscard]] bool exchange(const Call& a,
                            Shape& shape_a,
                            const Call& b,
                            Shape& shape_b);

}  // namespace acp::middle::structure
