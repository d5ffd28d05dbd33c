// A pair: two nodes of a communicator that meet in reductions. Each has a box,
// and the other writes into it. docs/qmp.md, "Collectives". One thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "qmp/library_memory.h"
#include "qmp/message_layout.h"

namespace qmp {

class Pair {
 public:
  /// Makes the box. Without memory address() is ACP_GA_NULL.
  explicit Pair(LibraryMemory& library);
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair();

  acp_ga_t address() const { return block_.address; }

  /// `partner` is the address of the other box. False: it is ACP_GA_NULL, or
  /// there is no memory here.
  bool connect(acp_ga_t partner);

  /// Sends up to kPairBytes without waiting. Calls alternate with take(): the
  /// last message of the partner says that its box has room (invariant 7).
  /// False: the job is ending.
  bool send(const Tag& tag, const void* data, std::size_t bytes);

  /// Whether the next message has come; looks a few hundred times.
  bool comes_soon();

  /// Whether the next message of the pair `self` has come.
  static bool has_come(void* self);

  /// Takes the next message, which has come. False: it has another tag or
  /// length; then it stays, and `to` is as before.
  bool take(const Tag& tag, void* to, std::size_t bytes);

  /// The word of a message distinguishes so many numbers of operations.
  static constexpr std::uint64_t kNumbers = std::uint64_t{1} << 17;

  /// Reads tag and length of the next message. False: it has not come.
  bool peek(Tag& tag, std::uint64_t& bytes);

 private:
  acp_ga_t at_partner(const std::byte* in_mine) const;
  /// The word of the next entry.
  std::uint64_t look();

  // One thread at a time uses the object, and no lock guards it. The
  // constructor writes the first three fields, and connect() the next three.
  LibraryMemory& library_;
  Block block_;                ///< Has the box, which the partner writes to.
  PairBox* mine_ = nullptr;    ///< The box; null: there was no memory.
  PairBox* theirs_ = nullptr;  ///< Null: on another host.
  Block outgoing_;             ///< Messages on their way to another host.
  acp_ga_t theirs_address_ = ACP_GA_NULL;
  std::uint64_t sent_ = 0;      ///< Messages sent. Written by send().
  std::uint64_t received_ = 0;  ///< Messages taken. Written by take().
  /// Last written to the partner. Written by send().
  std::uint64_t words_[kPairEntries] = {};
};

}  // namespace qmp
