// A guess which whole chunks of a heap are free. It finds the first fit for so
// many in a row, in a logarithmic number of steps.
//
// Other ranks take and return chunks without telling, so the caller checks the
// guess in the heap. A wrong guess costs one read of the heap, and set()
// corrects it.
#pragma once

#include <cstdint>
#include <vector>

namespace acp::middle {

/// A tree over the chunk groups of a heap. Takes no memory before set() or
/// find() is called. One thread at a time.
class ChunkIndex {
 public:
  /// A new index takes all chunks for free, as in a heap of zeros.
  explicit ChunkIndex(std::uint64_t groups) noexcept : groups_(groups) {}

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  /// The first chunk of the lowest `chunks` (1 or more) free ones in a row; or
  /// kNone.
  std::uint64_t find(std::uint64_t chunks);

  /// Takes over the heap's word for a group: one bit for each chunk that is
  /// taken.
  void set(std::uint64_t group, std::uint64_t taken);

  /// Chunks of one group that the caller has taken or returned.
  void mark_taken(std::uint64_t group, std::uint64_t mask);
  void mark_free(std::uint64_t group, std::uint64_t mask);

 private:
  /// Free chunks in a row below a node: at its begin, at its end, and at most.
  struct Node {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t most;
  };

  static Node leaf(std::uint64_t taken) noexcept;
  Node join(const Node& left,
            const Node& right,
            std::uint64_t half) const noexcept;
  void prepare();

  const std::uint64_t groups_;
  std::uint64_t leaves_ = 0;  ///< A power of 2; 0 before the first use.
  std::vector<std::uint64_t> taken_;
  std::vector<Node> nodes_;  ///< Node i has the children 2 i and 2 i + 1.
};

}  // namespace acp::middle
