// Two nodes of a communicator that reduce together: each writes into the
// other's box. docs/qmp.md, "Collectives". One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "qmp/library_memory.h"
#include "qmp/message_layout.h"

namespace qmp {

class Pair {
 public:
  /// Box of its own; without memory for one, address() is ACP_GA_NULL.
  explicit Pair(LibraryMemory& library);
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair();

  acp_ga_t address() const { return block_.address; }

  /// False: the partner has no box, or there is no memory here.
  bool connect(acp_ga_t partner);

  /// Sends up to kPairBytes. Never waits: the partner's last message says that
  /// there is room, so calls alternate with take. False: the job is ending.
  bool send(const Tag& tag, const void* data, std::size_t bytes);

  /// Whether the next message is here, or comes while this looks a few times.
  bool comes_soon();

  /// Whether the next message of the pair `self` is here.
  static bool has_come(void* self);

  /// Takes the next message, which has come. False: it has another tag or
  /// length; it stays, and `to` is as before.
  bool take(const Tag& tag, void* to, std::size_t bytes);

  /// Of the tag's number only as many bits travel.
  static constexpr std::uint64_t kNumbers = std::uint64_t{1} << 17;

  /// The tag and length of the next message. False: it has not come.
  bool peek(Tag& tag, std::uint64_t& bytes);

 private:
  acp_ga_t at_partner(const std::byte* in_mine) const;
  std::uint64_t look();

  LibraryMemory& library_;
  Block block_;
  PairBox* mine_ = nullptr;
  PairBox* theirs_ = nullptr;  ///< Null: on another host.
  Block outgoing_;             ///< For that: what is on its way, per place.
  acp_ga_t theirs_address_ = ACP_GA_NULL;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t words_[kPairEntries] = {};  ///< As last written.
};

}  // namespace qmp
