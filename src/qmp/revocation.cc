// Failures of global operations, told to partners through the inbox. Called by
// Exchange under its lock; never waits.
#include "qmp/revocation.h"

#include <algorithm>

#include "acp/infrastructure.h"
#include "qmp/failure.h"

namespace qmp {

void Revocation::join(const std::vector<int>& partners) {
  has_joined_ = true;
  add_partners(partners);
  tell();  // A notice may have come before this rank made the communicator.
}

/// A partner that comes after the failure was told is told at once.
void Revocation::add_partners(const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    const auto place =
        std::lower_bound(partners_.begin(), partners_.end(), rank);
    if (place == partners_.end() || *place != rank) {
      partners_.insert(place, rank);
      if (told_ != kNever) {
        tell_one(rank);
      }
    }
  }
}

void Revocation::revoke(const Failed& failed) {
  if (!covers(failed.operation)) {
    failed_ = failed;
    // Release: a thread that sees the number sees everything that this one has
    // seen.
    from_.store(failed.operation, std::memory_order_release);
    tell();
  }
}

void Revocation::hear(const InboxMessage& message) {
  const auto rank = static_cast<int>(message.from);
  const Call call{{message.half, static_cast<std::uint8_t>(message.detail)},
                  message.amount};
  switch (message.channel) {
    case kCall: calls_[rank] = call; break;
    case kMet:
      met_[rank].push_back({static_cast<int>(message.detail >> 8), call});
      break;
    default: hear_failure(rank, message);
  }
}

/// Messages of one rank come in their order, so the two calls are there before
/// the revocation.
void Revocation::hear_failure(int rank, const InboxMessage& message) {
  std::uint64_t& parted = parted_.try_emplace(rank, kNever).first->second;
  parted = std::min(parted, message.half);
  // In QMP_comm_alltoall a rank waits for all others, also for this one, which
  // may have no message for it (invariant 16).
  add_partners({rank});
  Failed failed{message.half, static_cast<int>(message.detail),
                static_cast<QMP_status_t>(message.amount & 0xffffffff),
                static_cast<Cause>(message.amount >> 32)};
  if (const auto met = met_.find(rank); met != met_.end()) {
    if (met->second.size() >= failed.met.size()) {
      std::copy_n(met->second.begin(), failed.met.size(), failed.met.begin());
    }
    met_.erase(met);
  }
  revoke(failed);
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
  if (!has_joined_ || is_sending_ || from >= told_) {
    return;
  }
  told_ = from;
  for (const int rank : partners_) {
    tell_one(rank);
  }
}

/// Sends the notice that tell() has sent last, or sends now; before it the two
/// calls that did not agree.
void Revocation::tell_one(int rank) {
  const auto mine = static_cast<std::uint32_t>(acp_rank());
  bool is_told = true;
  if (failed_.cause == Cause::kDisagreement) {
    for (const CallOf& each : failed_.met) {
      is_told &= connector_.queue(
          rank,
          {each.call.tag.number, comm_, kMet, mine,
           static_cast<std::uint32_t>(each.rank) << 8 | each.call.tag.kind,
           each.call.bytes});
    }
  }
  is_told &=
      connector_.queue(rank, {told_, comm_, kRevocation, mine,
                              static_cast<std::uint32_t>(failed_.rank),
                              static_cast<std::uint64_t>(failed_.cause) << 32 |
                                  static_cast<std::uint64_t>(failed_.status)});
  if (!is_told) {
    (void)fail(QMP_NOMEM_ERR,
               "no memory to tell rank %d that global operations fail on a "
               "communicator: it may wait for ever; end the job",
               rank);
  }
}

}  // namespace qmp
