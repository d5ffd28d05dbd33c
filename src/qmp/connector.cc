// Messages of this rank to other inboxes, and those of its own inbox. Called by
// Exchange, in starts and in its progress step. Nothing here waits: a message
// without a cell goes on in a later step.
#include "qmp/connector.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "acp/extension.h"
#include "acp/infrastructure.h"

namespace qmp {

void Connector::begin(int module,
                      Inbox* mine,
                      LibraryMemory* library,
                      Receive receive) {
  module_ = module;
  mine_ = mine;
  reader_ = inbox::Reader(mine->cell);
  library_ = library;
  receive_ = std::move(receive);
}

bool Connector::queue(int rank, const InboxMessage& message) {
  const Block block = library_->allocate(sizeof(inbox::Scratch));
  if (!block) {
    return false;
  }
  auto* scratch = reinterpret_cast<inbox::Scratch*>(block.memory);
  std::memcpy(scratch->message, &message, sizeof message);
  const acp_ga_t inbox = acpx_module_ga(module_, rank);
  sending_.push_back({block, inbox::Delivery({inbox + offsetof(Inbox, tickets),
                                              inbox + offsetof(Inbox, cell)},
                                             scratch, block.address)});
  (void)send();
  return true;
}

/// Moves every message on as far as it goes, and frees those that have
/// ended. A failed one is not reported: the layer below has logged it, and the
/// job is ending.
bool Connector::send() {
  using Result = inbox::Delivery::Result;
  const std::size_t before = sending_.size();
  std::erase_if(sending_, [this](Sending& each) {
    Result result = Result::kMoved;
    while (result == Result::kMoved) {
      result = each.delivery.advance();
    }
    if (result == Result::kStays) {
      return false;
    }
    library_->free(each.block.memory);
    return true;
  });
  return sending_.size() != before;
}

bool Connector::receive() {
  bool has_received = false;
  InboxMessage message{};
  while (reader_.take(message)) {
    receive_(message);
    has_received = true;
  }
  return has_received;
}

bool Connector::advance() {
  const bool has_received = receive();
  return (!sending_.empty() && send()) || has_received;
}

void Connector::leave(std::uint64_t barriers) const {
  const acp_ga_t next = acpx_module_ga(module_, (acp_rank() + 1) % acp_procs());
  (void)acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                        next + offsetof(Inbox, leaving), barriers + 1,
                        ACP_HANDLE_NULL);
}

bool Connector::has_left_before(std::uint64_t number) const {
  const std::uint64_t leaving =
      std::atomic_ref(mine_->leaving).load(std::memory_order_relaxed);
  return leaving != 0 && leaving - 1 < number;
}

}  // namespace qmp
