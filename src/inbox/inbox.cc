// The operations that carry a message into the inbox of another rank. QMP and
// the LQCD interface call them when they advance a delivery. They may not wait:
// each function issues one operation at most and returns.
#include "inbox/inbox.h"

#include "acp/extension.h"
#include "acp/infrastructure.h"

namespace inbox {

acp_ga_t Delivery::cell() const {
  return inbox_.cells + ticket_ % kCells * sizeof(Cell);
}

/// Copies the word of the cell into the scratch.
acp_handle_t Delivery::look() const {
  return acp_copy(scratch_address_ + offsetof(Scratch, word), cell(),
                  sizeof scratch_->word, ACP_HANDLE_NULL);
}

/// One chain: the message first, then the word, by a signal.
acp_handle_t Delivery::write() const {
  acpx_op_t steps[2] = {};
  steps[0].opcode = ACPX_PUT;
  steps[0].remote = cell() + offsetof(Cell, message);
  steps[0].local = scratch_address_ + offsetof(Scratch, message);
  steps[0].size = kMessageBytes;
  steps[1].opcode = ACPX_PUT8;
  steps[1].flags = ACPX_SIGNAL;
  steps[1].remote = cell();
  steps[1].operand = 2 * (ticket_ / kCells) + 1;
  return acpx_post(steps, 2, ACP_HANDLE_NULL);
}

/// The next stage, once its operation is issued.
Delivery::Result Delivery::after(acp_handle_t issued) {
  if (issued == ACP_HANDLE_NULL) {
    return acp_errno == ACPX_AGAIN ? Result::kStays : Result::kFailed;
  }
  handle_ = issued;
  stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
  return Result::kMoved;
}

/// Stages: take a ticket, look at its cell until the receiver has emptied it,
/// and write the message. A call does one stage at most, and waits for none.
Delivery::Result Delivery::advance() {
  // The operation under way may be writing the scratch: read it only once that
  // operation is complete.
  const bool is_complete = acp_inquire(handle_) == 0;
  switch (stage_) {
    case Stage::kTake:
      return after(acp_add8(scratch_address_ + offsetof(Scratch, ticket),
                            inbox_.tickets, 1, ACP_HANDLE_NULL));
    case Stage::kTaken:
      if (!is_complete) {
        return Result::kStays;
      }
      ticket_ = scratch_->ticket;
      stage_ = Stage::kLook;
      return Result::kMoved;
    case Stage::kLook: return after(look());
    case Stage::kLooked:
      if (!is_complete) {
        return Result::kStays;
      }
      if (scratch_->word != 2 * (ticket_ / kCells)) {
        stage_ = Stage::kLook;  // The receiver has not emptied the cell yet.
        return Result::kStays;
      }
      return after(write());
    case Stage::kWritten: break;
  }
  return is_complete ? Result::kDelivered : Result::kStays;
}

}  // namespace inbox
