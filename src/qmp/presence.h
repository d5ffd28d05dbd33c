// The state of each rank in its inbox, for ranks that wait for it. docs/qmp.md,
// "Waiting". Read when a wait takes long.
#pragma once

#include <cstdint>
#include <mutex>
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
  /// This rank enters a later stage.
  void enter(Stage stage);

  /// The presence of a rank whose memory is mapped here; nullptr: read() it.
  const Presence* mapped(int rank) const;

  /// Copies the presence of a rank, which may take a second. Nothing: the rank
  /// does not answer.
  std::optional<Presence> read(int rank);

  /// Asks for the presence of a rank, and does not wait. While an earlier
  /// question is under way this does nothing.
  void ask(int rank);
  /// No question is under way.
  bool is_answered();
  /// The presence of the rank, if it is mapped or the last question was for it
  /// and is answered.
  std::optional<Presence> answer(int rank);

 private:
  acp_ga_t address_of(int rank) const;

  // begin() writes these three, before other threads see the object.
  int module_ = -1;
  Presence* mine_ = nullptr;  ///< Its words are atomic; see begin_barrier().
  LibraryMemory* library_ = nullptr;
  std::mutex mutex_;  ///< Guards the members below, which ask() writes.
  Block answer_;      ///< Room for an answer; made by the first question.
  acp_handle_t question_ = ACP_HANDLE_NULL;  ///< The copy into answer_.
  int asked_ = -1;                           ///< The rank of the last question.
};

/// Whether the rank has reached the stage. Acquire: everything that arrived
/// before is visible.
bool has_reached(const Presence& presence, Stage stage);

/// "rank 3, host a", or that the rank does not answer.
std::string describe(int rank, const std::optional<Presence>& presence);

}  // namespace qmp
