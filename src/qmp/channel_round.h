// One round of a global operation through channels of class collective. Each
// message has an envelope, and a second message for bytes that do not fit.
// docs/qmp.md, "Collectives".
#pragma once

#include <cstddef>
#include <deque>

#include "qmp/message_layout.h"
#include "qmp/message_memory.h"
#include "qmp/operation.h"
#include "qmp/transfer.h"

namespace qmp {

/// Any number of sends of equal bytes, and at most one receive. Used once, by
/// one thread.
class ChannelRound {
 public:
  using Lanes = QMP_comm_struct::Lanes;

  /// `tag` is that of the operation, or has the kind kHandshake.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): out_ and in_
  ChannelRound(Operation& operation, const Tag& tag)
      : operation_(operation), tag_(tag) {}

  ChannelRound(const ChannelRound&) = delete;
  ChannelRound& operator=(const ChannelRound&) = delete;

  void send(const Lanes& lanes, void* data, std::size_t bytes);
  void receive(const Lanes& lanes, void* data, std::size_t bytes);

  /// Starts all messages, and waits. After it returns, even with a failure, no
  /// peer writes into the memory of the receive or reads that of the sends.
  QMP_status_t run();

 private:
  /// A transfer that lives as long as this round.
  struct Part {
    Part(void* data, std::size_t bytes, Half* half) : memory(data, bytes) {
      transfer.memory = &memory;
      transfer.half = half;
    }

    MessageMemory memory;
    Transfer transfer;
  };

  Transfer* add(void* data, std::size_t bytes, Half* half);
  QMP_status_t finish();
  QMP_status_t open();
  QMP_status_t wait_for(Transfer& transfer);
  void stop();

  // The thread of the round alone writes these fields: send() and receive()
  // before run() starts the transfers. Then the lock of the process guards the
  // transfers in parts_, and the peer's envelope comes into in_.
  Operation& operation_;
  Tag tag_;
  std::deque<Part> parts_;
  Transfer* envelope_ = nullptr;  ///< Envelope of the receive.
  void* to_ = nullptr;            ///< Memory of the receive.
  std::size_t expected_ = 0;      ///< Bytes of the receive.
  bool is_sending_ = false;       ///< send() has filled out_.
  // Not initialised: 8 KiB, written before they are read.
  Envelope out_;
  Envelope in_;
};

}  // namespace qmp
