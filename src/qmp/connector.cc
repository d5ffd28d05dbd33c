#include "qmp/connector.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "acp/extension.h"
#include "acp/infrastructure.h"
#include "qmp/mirror.h"

namespace qmp {

namespace {

acp_ga_t cell_address(acp_ga_t inbox, std::uint64_t ticket) {
  return inbox + offsetof(Inbox, cell) + ticket % kCells * sizeof(Line);
}

}  // namespace

void Connector::begin(int module,
                      Inbox* mine,
                      LibraryMemory* library,
                      Receive receive) {
  module_ = module;
  mine_ = mine;
  library_ = library;
  receive_ = std::move(receive);
}

bool Connector::announce(int rank, const Announcement& text) {
  Sending sending{acpx_module_ga(module_, rank),
                  library_->allocate(sizeof(Scratch)), Stage::kTake,
                  ACP_HANDLE_NULL, 0};
  if (!sending.block) {
    return false;
  }
  sending.scratch().text = text;
  sending_.push_back(sending);
  (void)send();
  return true;
}

Connector::Step Connector::move(Sending& sending) {
  const acp_ga_t own = sending.block.address;
  const acp_ga_t ticket_word = own + offsetof(Scratch, ticket);
  // Read only what is complete: the library may be writing the rest.
  const Scratch& scratch = sending.scratch();
  const std::uint64_t lap = sending.ticket / kCells;
  const acp_ga_t cell = cell_address(sending.inbox, sending.ticket);
  const bool is_complete = acp_inquire(sending.handle) == 0;
  acp_handle_t handle = ACP_HANDLE_NULL;
  switch (sending.stage) {
    case Stage::kTake:
      handle = acp_add8(ticket_word, sending.inbox + offsetof(Inbox, tail), 1,
                        ACP_HANDLE_NULL);
      break;
    case Stage::kTaken:
      if (!is_complete) {
        return Step::kStays;
      }
      sending.ticket = scratch.ticket;
      sending.stage = Stage::kLook;
      return Step::kMoved;
    case Stage::kLook:
      handle = acp_copy(own + offsetof(Scratch, word), cell,
                        sizeof scratch.word, ACP_HANDLE_NULL);
      break;
    case Stage::kLooked: {
      if (!is_complete) {
        return Step::kStays;
      }
      if (scratch.word != 2 * lap) {
        sending.stage = Stage::kLook;  // the receiver has not emptied it yet
        return Step::kStays;
      }
      acpx_op_t steps[2] = {};
      steps[0].opcode = ACPX_PUT;
      steps[0].remote = cell + offsetof(Line, bytes);
      steps[0].local = own + offsetof(Scratch, text);
      steps[0].size = sizeof scratch.text;
      steps[1].opcode = ACPX_PUT8;
      steps[1].flags = ACPX_SIGNAL;
      steps[1].remote = cell;
      steps[1].operand = 2 * lap + 1;
      handle = acpx_post(steps, 2, ACP_HANDLE_NULL);
      break;
    }
    case Stage::kWritten: return is_complete ? Step::kOver : Step::kStays;
  }
  switch (posted(handle)) {
    case Posted::kLater: return Step::kStays;
    case Posted::kFailed: return Step::kOver;  // logged; the job is ending
    case Posted::kYes: break;
  }
  sending.handle = handle;
  sending.stage = static_cast<Stage>(static_cast<int>(sending.stage) + 1);
  return Step::kMoved;
}

bool Connector::send() {
  const std::size_t before = sending_.size();
  std::erase_if(sending_, [this](Sending& each) {
    Step step = Step::kMoved;
    while (step == Step::kMoved) {
      step = move(each);
    }
    if (step == Step::kOver) {
      library_->free(each.block.memory);
    }
    return step == Step::kOver;
  });
  return sending_.size() != before;
}

bool Connector::receive() {
  bool has_news = false;
  for (;;) {
    Line& line = mine_->cell[received_ % kCells];
    const std::uint64_t lap = received_ / kCells;
    const std::atomic_ref word(line.word);
    // Acquire: pairs with the chain that wrote the text before the word.
    if (word.load(std::memory_order_acquire) != 2 * lap + 1) {
      return has_news;
    }
    Announcement text{};
    std::memcpy(&text, line.bytes, sizeof text);
    // Release: the next writer comes after our reading.
    word.store(2 * lap + 2, std::memory_order_release);
    ++received_;
    receive_(text);
    has_news = true;
  }
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
