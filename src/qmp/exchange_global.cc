// The part of Exchange that global operations and the end need: transfers that
// end when the operation fails on another node (docs/qmp.md, "Revocation").
// Called by rounds, handshakes, job.cc, partition.cc and comm_api.cc. Nothing
// here waits for a node.
#include <algorithm>
#include <vector>

#include "acp/extension.h"
#include "acp/infrastructure.h"
#include "qmp/exchange.h"

namespace qmp {

/// The end marks leave first: tell_when_gone() asks whether every operation of
/// this rank is complete.
void Exchange::leave(std::uint64_t barriers) {
  connector_.leave(barriers);
  const std::lock_guard lock(lock_);
  has_left_ = true;
  for (const auto& [id, half] : halves_) {
    add_end_mark(*half);
  }
  for (const auto& [id, peer] : early_) {
    if (id.channel != kCollective) {
      end_marks_.add(peer, !id.is_receiver, 0);
    }
  }
  (void)end_marks_.send();
  is_leaving_ = true;
  tell_when_gone();
}

/// Sends may be queued here because their entries are not free. They still go
/// out, and their receivers must get them before they see that this rank has
/// left.
void Exchange::tell_when_gone() {
  const bool has_waiting =
      std::any_of(busy_.begin(), busy_.end(), [](const Half* half) {
        return half->id().channel == kCollective && !half->id().is_receiver;
      });
  if (!has_waiting && acp_inquire(ACP_HANDLE_ALL) == 0) {
    presences_.enter(Stage::kLeft);
    is_leaving_ = false;
  }
}

Revocation& Exchange::revocation_of(std::uint32_t comm) {
  std::unique_ptr<Revocation>& found = revocations_[comm];
  if (found == nullptr) {
    found = std::make_unique<Revocation>(comm, connector_);
  }
  return *found;
}

Revocation& Exchange::join(std::uint32_t comm,
                           const std::vector<int>& partners) {
  const std::lock_guard lock(lock_);
  Revocation& revocation = revocation_of(comm);
  revocation.join(partners);
  return revocation;
}

void Exchange::add_partners(Revocation& revocation,
                            const std::vector<int>& ranks) {
  const std::lock_guard lock(lock_);
  revocation.add_partners(ranks);
}

void Exchange::revoke(Revocation& revocation,
                      const Revocation::Failed& failed) {
  const std::lock_guard lock(lock_);
  revocation.revoke(failed);
}

Revocation::Failed Exchange::failed_of(const Revocation& revocation) {
  const std::lock_guard lock(lock_);
  return revocation.failed();
}

bool Exchange::has_parted(const Revocation& revocation,
                          int rank,
                          std::uint64_t operation) {
  const std::lock_guard lock(lock_);
  return revocation.has_parted(rank, operation);
}

void Exchange::ask(Revocation& revocation, int rank, const Call& call) {
  const std::lock_guard lock(lock_);
  revocation.ask(rank, call);
}

std::unordered_map<int, Call> Exchange::calls(const Revocation& revocation) {
  const std::lock_guard lock(lock_);
  return revocation.calls();
}

bool Exchange::start_for(Revocation& revocation,
                         std::uint64_t operation,
                         Transfer* first) {
  const std::lock_guard lock(lock_);
  if (!revocation.begin_transfers(operation)) {
    return false;
  }
  start_all(first);
  return true;
}

void Exchange::end_for(Revocation& revocation) {
  const std::lock_guard lock(lock_);
  revocation.end_transfers();
}

bool Exchange::has_ended(Transfer& transfer) {
  if (transfer.is_active()) {
    const std::lock_guard lock(lock_);
    if (transfer.is_active()) {
      (void)transfer.half->advance();
    }
  }
  return !transfer.is_active();
}

/// Forgets the sends under the lock, and waits for their puts without it: the
/// wait makes progress, and the progress step takes the lock.
void Exchange::stop_sends(Transfer* first) {
  std::vector<Transfer*> stopped;
  {
    const std::lock_guard lock(lock_);
    for (Transfer* each = first; each != nullptr; each = each->next) {
      if (each->is_active() && !each->half->id().is_receiver) {
        each->half->abandon(*each);
        stopped.push_back(each);
      }
    }
  }
  // Their puts read memory that the caller frees next.
  for (Transfer* each : stopped) {
    acp_handle_t handle = each->handle;
    (void)acpx_wait_until(
        [](void* of) {
          return acp_inquire(*static_cast<acp_handle_t*>(of)) == 0 ? 1 : 0;
        },
        &handle, -1);
    each->half->drop(*each);
  }
}

void Exchange::abandon(Transfer* first) {
  const std::lock_guard lock(lock_);
  for (Transfer* each = first; each != nullptr; each = each->next) {
    if (each->is_active()) {
      each->half->abandon(*each);
      each->half->drop(*each);
    }
  }
}

bool Exchange::peek(Half* half, void* to, std::size_t bytes) {
  const std::lock_guard lock(lock_);
  return static_cast<ReceiveHalf*>(half)->peek(to, bytes);
}

}  // namespace qmp
