// Failures of global operations, told to partners through the inbox. Called by
// Exchange under its lock; never waits.
#include "qmp/revocation.h"

#include <algorithm>
#include <utility>

#include "acp/infrastructure.h"
#include "qmp/failure.h"

namespace qmp {

void Revocation::join(std::vector<int> partners) {
  partners_ = std::move(partners);
  tell();  // A notice may have come before this rank made the communicator.
}

void Revocation::revoke(const Cause& cause) {
  if (!covers(cause.operation)) {
    cause_ = cause;
    // Release: a thread that sees the number sees everything that this one has
    // seen.
    from_.store(cause.operation, std::memory_order_release);
    tell();
  }
}

void Revocation::hear(const InboxMessage& message) {
  const auto rank = static_cast<int>(message.from);
  if (message.channel == kCall) {
    calls_[rank] = {{message.half, static_cast<std::uint8_t>(message.detail)},
                    message.amount};
    return;
  }
  std::uint64_t& parted = parted_.try_emplace(rank, kNever).first->second;
  parted = std::min(parted, message.half);
  revoke({message.half, static_cast<int>(message.detail),
          static_cast<QMP_status_t>(message.amount)});
}

void Revocation::ask(int rank, const Call& call) {
  // Without memory the question is left out: the wait asks again when its
  // length has doubled.
  (void)connector_.queue(rank, {call.tag.number, comm_, kCall,
                                static_cast<std::uint32_t>(acp_rank()),
                                call.tag.kind, call.bytes});
}

bool Revocation::has_parted(int rank, std::uint64_t operation) const {
  const auto found = parted_.find(rank);
  return found != parted_.end() && found->second <= operation;
}

bool Revocation::begin_transfers(std::uint64_t operation) {
  is_sending_ = !covers(operation);
  return is_sending_;
}

void Revocation::end_transfers() {
  is_sending_ = false;
  tell();
}

/// Tells the partners once for each lower number, and only while nothing of
/// this node is under way to them (invariant 9).
void Revocation::tell() {
  const std::uint64_t from = from_.load(std::memory_order_relaxed);
  if (is_sending_ || from >= told_) {
    return;
  }
  const InboxMessage message{from,
                             comm_,
                             kRevocation,
                             static_cast<std::uint32_t>(acp_rank()),
                             static_cast<std::uint32_t>(cause_.rank),
                             static_cast<std::uint64_t>(cause_.status)};
  for (const int rank : partners_) {
    if (!connector_.queue(rank, message)) {
      (void)fail(QMP_NOMEM_ERR,
                 "no memory to tell rank %d that global operations fail on a "
                 "communicator: it may wait for ever; end the job",
                 rank);
    }
  }
  if (!partners_.empty()) {
    told_ = from;
  }
}

}  // namespace qmp
