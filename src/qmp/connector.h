// How halves of channels meet: announcements to the inbox of a rank.
// docs/qmp.md, "How halves meet". Under the lock of the process; never waits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "acp/gma.h"
#include "qmp/library_memory.h"
#include "qmp/message_layout.h"

namespace qmp {

class Connector {
 public:
  using Receive = std::function<void(const Announcement&)>;

  /// `module`: each rank's module memory begins with its inbox.
  void begin(int module, Inbox* mine, LibraryMemory* library, Receive receive);

  /// Sends it soon. False: no memory.
  bool announce(int rank, const Announcement& text);

  /// Moves on what is on its way, and receives. True when there was news.
  bool advance();

  /// Tells the next rank that this one leaves after `barriers` barriers of the
  /// whole job.
  void leave(std::uint64_t barriers) const;

  /// Whether the rank before has left, and does not come to barrier `number`,
  /// counted from 1.
  bool has_left_before(std::uint64_t number) const;

  bool is_idle() const { return sending_.empty(); }

 private:
  /// Where the results of operations go, and what they carry.
  struct Scratch {
    std::uint64_t ticket;
    std::uint64_t word;
    Announcement text;
  };

  enum class Stage { kTake, kTaken, kLook, kLooked, kWritten };

  struct Sending {
    acp_ga_t inbox = ACP_GA_NULL;
    Block block;
    Stage stage = Stage::kTake;
    acp_handle_t handle = ACP_HANDLE_NULL;
    std::uint64_t ticket = 0;  ///< From kLook on.

    Scratch& scratch() const {
      return *reinterpret_cast<Scratch*>(block.memory);
    }
  };

  enum class Step { kMoved, kStays, kOver };

  Step move(Sending& sending);
  bool send();
  bool receive();

  int module_ = -1;
  Inbox* mine_ = nullptr;
  LibraryMemory* library_ = nullptr;
  Receive receive_;
  std::uint64_t received_ = 0;
  std::vector<Sending> sending_;
};

}  // namespace qmp
