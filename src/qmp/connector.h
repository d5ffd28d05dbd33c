// How halves of channels meet: announcements to the inbox of a rank.
// docs/qmp.md, "How halves meet". Under the lock of the process; never waits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "inbox/inbox.h"
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
  /// An announcement on its way, and its memory.
  struct Sending {
    Block block;
    inbox::Delivery delivery;
  };

  bool send();
  bool receive();

  int module_ = -1;
  Inbox* mine_ = nullptr;
  LibraryMemory* library_ = nullptr;
  Receive receive_;
  inbox::Reader reader_;
  std::vector<Sending> sending_;
};

}  // namespace qmp
