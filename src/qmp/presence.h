// The state of each rank in its inbox, for ranks that wait for it. docs/qmp.md,
// "Waiting". Read when a wait takes long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qmp/library_memory.h"
#include "qmp/message_layout.h"

namespace qmp {

/// The presences of all ranks of the job. Thread-safe.
class Presences {
 public:
  void begin(int module, Inbox* mine, LibraryMemory* library);

  /// This rank begins barrier `number` of the whole job.
  void begin_barrier(std::uint64_t number);
  /// Everything that this rank ever sent has arrived.
  void leave();

  /// The presence of a rank whose memory is mapped here; nullptr: read() it.
  const Presence* mapped(int rank) const;

  /// Copies the presence of a rank, which may take a second. Nothing: the rank
  /// does not answer.
  std::optional<Presence> read(int rank);

 private:
  int module_ = -1;
  Presence* mine_ = nullptr;
  LibraryMemory* library_ = nullptr;
};

/// Whether the rank has left. Acquire: everything that it sent is visible.
bool has_left(const Presence& presence);

/// "rank 3, host a", or that the rank does not answer.
std::string describe(int rank, const std::optional<Presence>& presence);

}  // namespace qmp
