// Each rank's word about itself, for ranks that wait for it: docs/qmp.md,
// "Waiting". Slow paths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qmp/library_memory.h"
#include "qmp/message_layout.h"

namespace qmp {

/// The presence of every rank of the job, in its inbox. Thread-safe.
class Presences {
 public:
  void begin(int module, Inbox* mine, LibraryMemory* library);

  /// This rank begins its barrier `number` of the whole job.
  void begin_barrier(std::uint64_t number);
  /// This rank sends nothing any more, and all that it sent has arrived.
  void leave();

  /// Of a rank whose memory is mapped here; nullptr: read() it.
  const Presence* mapped(int rank) const;

  /// Asks the rank, for at most a second. Nothing: it does not answer.
  std::optional<Presence> read(int rank);

 private:
  int module_ = -1;
  Presence* mine_ = nullptr;
  LibraryMemory* library_ = nullptr;
};

/// Whether the rank has left. Acquire: what it sent before has arrived.
bool has_left(const Presence& presence);

/// "rank 3, host a", or that the rank does not answer.
std::string describe(int rank, const std::optional<Presence>& presence);

}  // namespace qmp
