// Connects the halves of channels: sends messages into the inboxes of
// other ranks, and receives those for this rank. docs/qmp.md, "How halves
// meet". The caller holds the lock of the process; no function waits.
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
  using Receive = std::function<void(const InboxMessage&)>;

  /// `mine` is the inbox of this rank, with which its memory of `module`
  /// begins. `receive` is called for each message.
  void begin(int module, Inbox* mine, LibraryMemory* library, Receive receive);

  /// Queues a message for the inbox of `rank`. False: no memory.
  bool queue(int rank, const InboxMessage& message);

  /// Sends queued messages and receives new ones. Returns true when at
  /// least one was delivered, failed, or arrived.
  bool advance();

  /// Tells the next rank that this one leaves after `barriers` barriers of the
  /// whole job. Needs no lock.
  void leave(std::uint64_t barriers) const;

  /// Whether the previous rank has left without barrier `number`, counted from
  /// 1. Needs no lock.
  bool has_left_before(std::uint64_t number) const;

  bool is_idle() const { return sending_.empty(); }

 private:
  /// A message on its way. `block` is the scratch of the delivery.
  struct Sending {
    Block block;
    inbox::Delivery delivery;
  };

  bool send();
  bool receive();

  // begin() writes the first four fields, before other threads see the object,
  // and they do not change. leave() and has_left_before() read two of them
  // without the lock.
  int module_ = -1;
  Inbox* mine_ = nullptr;
  LibraryMemory* library_ = nullptr;
  Receive receive_;
  // The lock of the process guards the rest.
  inbox::Reader reader_;          ///< Begun by begin(), advanced by receive().
  std::vector<Sending> sending_;  ///< queue() adds, and send() removes.
};

}  // namespace qmp
