// The messages of one step of a global operation that go through channels: an
// envelope each, and what does not fit it. docs/qmp.md, "Collectives".
#pragma once

#include <cstddef>
#include <deque>

#include "qmp/message_layout.h"
#include "qmp/message_memory.h"
#include "qmp/operation.h"
#include "qmp/transfer.h"

namespace qmp {

/// Any number of sends of the same bytes, and at most one receive.
class ChannelRound {
 public:
  using Lanes = QMP_comm_struct::Lanes;

  /// `tag`: the operation's, but for meetings.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): out_ and in_
  ChannelRound(Operation& operation, const Tag& tag)
      : operation_(operation), tag_(tag) {}

  ChannelRound(const ChannelRound&) = delete;
  ChannelRound& operator=(const ChannelRound&) = delete;

  void send(const Lanes& lanes, void* data, std::size_t bytes);
  void receive(const Lanes& lanes, void* data, std::size_t bytes);

  /// Starts all of it, and waits. When it returns nobody writes into the
  /// memory given to receive, or reads that given to send, whatever failed.
  QMP_status_t run();

 private:
  /// A transfer for the time of this round.
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

  Operation& operation_;
  Tag tag_;
  std::deque<Part> parts_;
  Transfer* envelope_ = nullptr;  ///< Of the receive.
  void* to_ = nullptr;
  std::size_t expected_ = 0;  ///< Bytes of the receive.
  bool is_sending_ = false;
  // Written before they are read.
  Envelope out_;
  Envelope in_;
};

}  // namespace qmp
