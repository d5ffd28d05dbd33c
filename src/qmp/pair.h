// Two nodes of a communicator that reduce together: each writes into the
// other's box. docs/qmp.md, "Collectives". One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "qmp.h"
#include "qmp/library_memory.h"
#include "qmp/wire.h"

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
  /// there is room, so calls alternate with receive. QMP_ERROR: cut off.
  QMP_status_t send(const void* data, std::size_t bytes);

  /// Waits for `bytes` bytes. QMP_BAD_MESSAGE: there were `length()`, and `to`
  /// is as before; QMP_TIMEOUT: none came; QMP_ERROR: the job is ending.
  QMP_status_t receive(void* to, std::size_t bytes, int timeout_ms);

  /// Of the last message received.
  std::uint64_t length() const { return length_; }

 private:
  static int has_come(void* self);
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
  std::uint64_t length_ = 0;
  std::uint64_t words_[kPlaces] = {};  ///< As last written.
};

}  // namespace qmp
