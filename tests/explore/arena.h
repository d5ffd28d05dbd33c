// Memory that the code of ranks allocates. It lies in one range, so that a
// Snapshot can put it back.
#pragma once

#include <cstddef>

namespace explore {

/// Whether allocations come from the arena: the code of a rank runs. False in
/// the code of the explorer itself.
extern bool g_is_in_rank;

/// Sets g_is_in_rank while it lives.
class InRank {
 public:
  explicit InRank(bool is_in) : before_(g_is_in_rank) { g_is_in_rank = is_in; }

  InRank(const InRank&) = delete;
  InRank& operator=(const InRank&) = delete;

  ~InRank() { g_is_in_rank = before_; }

 private:
  bool before_;
};

/// The range of the arena: whole pages.
void* arena_begin();
std::size_t arena_bytes();

/// Bytes that ranks have allocated and not freed.
std::size_t arena_in_use();

}  // namespace explore
