// Starts, waits and progress of all channels. Called by handle.cc, the
// collectives and the progress step of the library. Nothing waits for a peer
// while it holds the lock.
#include "qmp/exchange.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "acp/extension.h"
#include "acp/infrastructure.h"
#include "inbox/tsan_order.h"
#include "qmp/failure.h"

namespace qmp {

namespace {

/// Reads CLOCK_MONOTONIC_COARSE, which goes in steps of 1 to 10 ms. Every pass
/// that finds nothing asks for the time, and this clock costs a quarter of the
/// exact one.
std::uint64_t coarse_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// The transfers of a multiple leave in one batch; a single one leaves at once.
Batch* batch_for(const Transfer* first, Batch& batch) {
  return first != nullptr && first->next != nullptr ? &batch : nullptr;
}

/// A wait looks at the presence of a peer after this time, and then each time
/// that its length has doubled.
constexpr int kFirstLookMs = 20;
constexpr int kLongestLookMs = 1 << 29;

/// A wait gives up waiting for an answer after this time, and looks for it the
/// next time.
constexpr int kAnswerMs = 1000;

/// QMP_is_complete looks at a presence after each such time.
constexpr std::uint64_t kPollLookNs = 100'000'000;

}  // namespace

/// The argument of is_over.
struct Exchange::Waiting {
  Exchange* exchange;
  Transfer* first;
};

int Exchange::is_over(void* waiting) {
  auto& what = *static_cast<Waiting*>(waiting);
  return what.exchange->is_done(what.first) ? 1 : 0;
}

int Exchange::is_over_or_answered(void* waiting) {
  auto& what = *static_cast<Waiting*>(waiting);
  return is_over(waiting) != 0 || what.exchange->presences_.is_answered() ? 1
                                                                          : 0;
}

Exchange::~Exchange() {
  end();
  halves_.clear();
}

bool Exchange::begin(int module, std::size_t bytes) {
  const acp_ga_t start = acpx_module_ga(module, acp_rank());
  auto* memory = static_cast<std::byte*>(acp_query_address(start));
  if (memory == nullptr || bytes <= sizeof(Inbox)) {
    return false;
  }
  library_.begin(memory + sizeof(Inbox), bytes - sizeof(Inbox),
                 start + sizeof(Inbox));
  connector_.begin(module, reinterpret_cast<Inbox*>(memory), &library_,
                   [this](const InboxMessage& message) { receive(message); });
  presences_.begin(module, reinterpret_cast<Inbox*>(memory), &library_);
  is_running_ = acpx_add_progress(&run_step, this) == 0;
  return is_running_;
}

void Exchange::end() {
  if (is_running_) {
    is_running_ = false;
    (void)acpx_remove_progress(&run_step, this);
    if (is_leaving_) {  // No step runs any more: no lock.
      // Messages that are still queued stay unsent.
      presences_.enter(Stage::kLeft);
    }
  }
}

int Exchange::run_step(void* self) {
  return static_cast<Exchange*>(self)->step();
}

/// One progress step of the library. Late grants are the only work that depends
/// on time, so a step that found other work leaves them to the next.
int Exchange::step() {
  if (!lock_.try_lock()) {
    // The holder may have looked before the message came, and may then compute
    // for long. It may even be this thread.
    return ACPX_STEP_BUSY;
  }
  const std::lock_guard lock(lock_, std::adopt_lock);
  bool has_worked = connector_.advance();
  has_worked |= end_marks_.send();
  const bool has_moved = advance_busy();
  if (is_leaving_) {
    tell_when_gone();
  }
  if (!has_worked && !has_moved) {
    post_late_grants();
  }
  return has_worked || has_moved ? 1 : 0;
}

bool Exchange::advance_busy() {
  bool has_worked = false;
  for (std::size_t i = 0; i < busy_.size();) {
    Half& half = *busy_[i];
    has_worked |= half.advance();
    if (half.is_busy()) {
      ++i;
      continue;
    }
    half.is_listed = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
  return has_worked;
}

void Exchange::post_late_grants() {
  std::uint64_t now = 0;
  for (Half* half : busy_) {
    if (half->id().is_receiver) {
      now = now != 0 ? now : coarse_now_ns();
      static_cast<ReceiveHalf*>(half)->post_late_grants(now);
    }
  }
}

void Exchange::list(Half& half) {
  if (!half.is_listed && half.is_busy()) {
    half.is_listed = true;
    busy_.push_back(&half);
  }
}

void Exchange::connect(Half& half, acp_ga_t peer) {
  if (!half.connect(peer)) {
    (void)fail(QMP_NOMEM_ERR, "no memory to connect to %s",
               describe(half.id()).c_str());
  }
}

void Exchange::receive(const InboxMessage& message) {
  if (message.channel == kRevocation || message.channel == kMet ||
      message.channel == kCall) {
    revocation_of(message.comm).hear(message);
    return;
  }
  const ChannelId mine{message.comm, message.channel, message.from,
                       message.detail == 0};
  if (const auto found = halves_.find(mine); found != halves_.end()) {
    connect(*found->second, message.half);
    if (has_left_) {
      add_end_mark(*found->second);
    }
  } else if (!has_left_) {
    early_[mine] = message.half;
  } else if (mine.channel != kCollective) {
    end_marks_.add(message.half, !mine.is_receiver, 0);
  }
}

/// Global operations have a word of their own, Stage::kLeft. A peer that has
/// left itself waits for nothing, and a peer that is not known yet is told when
/// it tells the address of its half.
void Exchange::add_end_mark(const Half& half) {
  if (half.id().channel != kCollective && half.peer() != ACP_GA_NULL &&
      !half.peer_total()) {
    end_marks_.add(half.peer(), !half.id().is_receiver, half.started());
  }
}

/// The peer is told of the half before the half is listed, so without memory
/// nothing has to be undone. The peer may have told of its own half before.
Half* Exchange::half(const ChannelId& id) {
  const std::lock_guard lock(lock_);
  if (const auto found = halves_.find(id); found != halves_.end()) {
    return found->second.get();
  }
  std::unique_ptr<Half> made;
  if (id.is_receiver) {
    made = std::make_unique<ReceiveHalf>(id, library_);
  } else {
    made = std::make_unique<SendHalf>(id, library_);
  }
  const InboxMessage message{made->address(),
                             id.comm,
                             id.channel,
                             static_cast<std::uint32_t>(acp_rank()),
                             id.is_receiver ? 1U : 0U,
                             0};
  if (made->address() == ACP_GA_NULL ||
      !connector_.queue(static_cast<int>(id.peer), message)) {
    return nullptr;
  }
  Half* result = made.get();
  halves_[id] = std::move(made);
  if (const auto early = early_.find(id); early != early_.end()) {
    connect(*result, early->second);
    early_.erase(early);
  }
  return result;
}

void Exchange::start_one(Transfer& transfer, Batch* batch) {
  transfer.status = QMP_SUCCESS;
  transfer.has_peer_left = false;
  transfer.memory->add_user();
  transfer.state.store(Transfer::State::kActive, std::memory_order_relaxed);
  transfer.half->start(transfer, batch);
  list(*transfer.half);
}

void Exchange::start_all(Transfer* first) {
  Batch batch;
  for (Transfer* each = first; each != nullptr; each = each->next) {
    start_one(*each, batch_for(first, batch));
  }
  batch.send();
}

void Exchange::start(Transfer* first) {
  const std::lock_guard lock(lock_);
  start_all(first);
}

/// Looks at the states without the lock first: most often a wait comes when the
/// transfers have ended.
bool Exchange::is_done(Transfer* first) {
  bool is_active = false;
  for (Transfer* each = first; each != nullptr && !is_active;
       each = each->next) {
    is_active = each->is_active();
  }
  if (!is_active) {
    return true;
  }
  const std::lock_guard lock(lock_);
  is_active = false;
  for (Transfer* each = first; each != nullptr; each = each->next) {
    if (each->is_active()) {
      (void)each->half->advance();
      is_active |= each->is_active();
    }
  }
  return !is_active;
}

int Exchange::wait(Transfer* first, int timeout_ms) {
  if (is_done(first)) {
    // A thread of this process may have written bytes for a sender that then
    // stored the word itself.
    inbox::show_order_to_tsan();
    return 0;
  }
  Waiting waiting{this, first};
  const char* before = acpx_enter_call("QMP_wait");
  const int result = wait_in_intervals(waiting, timeout_ms);
  acpx_leave_call(before);
  return result;
}

/// Waits in intervals that double. Between two of them it looks whether the
/// peer of an open transfer is over, and so sends neither message nor end mark.
/// The clock is read after the first interval: most waits end before.
int Exchange::wait_in_intervals(Waiting& waiting, int timeout_ms) {
  double waited_ms = 0;
  double start = 0;
  for (int look_ms = kFirstLookMs;;
       look_ms = std::min(2 * look_ms, kLongestLookMs)) {
    const int left_ms =
        timeout_ms < 0
            ? kLongestLookMs
            : std::max(0, static_cast<int>(std::ceil(timeout_ms - waited_ms)));
    const bool is_last = timeout_ms >= 0 && left_ms <= look_ms;
    const int result =
        acpx_wait_until(&is_over, &waiting, std::min(left_ms, look_ms));
    if (result != 1 || is_last) {
      return result;
    }
    if (start == 0) {
      start = QMP_time() - look_ms / 1000.0;
    }
    while (Half* half = open_half(waiting.first)) {
      presences_.ask(static_cast<int>(half->id().peer));
      (void)acpx_wait_until(&is_over_or_answered, &waiting,
                            std::min(left_ms - look_ms, kAnswerMs));
      if (!end_if_over(*half, waiting.first)) {
        break;
      }
    }
    waited_ms = (QMP_time() - start) * 1000;
  }
}

Half* Exchange::open_half(Transfer* first) {
  for (Transfer* each = first; each != nullptr; each = each->next) {
    if (each->is_active()) {
      return each->half;
    }
  }
  return nullptr;
}

/// Ends all transfers of the half if its peer is known to be over. True: the
/// next open transfer is one with another peer.
bool Exchange::end_if_over(Half& half, Transfer* first) {
  const auto presence = presences_.answer(static_cast<int>(half.id().peer));
  if (!presence || !has_reached(*presence, Stage::kOver)) {
    return false;
  }
  const std::lock_guard lock(lock_);
  half.lose_peer();
  (void)half.advance();
  return open_half(first) != &half;
}

/// Between two questions for a presence 100 ms pass, since a program may poll
/// without a pause. An answer is looked at when the next question is due.
int Exchange::look(Transfer* first) {
  if (is_done(first)) {
    inbox::show_order_to_tsan();
    return 0;
  }
  Waiting waiting{this, first};
  const int result = acpx_wait_until(&is_over, &waiting, 0);
  const std::uint64_t now = coarse_now_ns();
  // Relaxed: it only limits how often threads look.
  if (result == 1 &&
      now - looked_at_ns_.load(std::memory_order_relaxed) >= kPollLookNs) {
    looked_at_ns_.store(now, std::memory_order_relaxed);
    Half* half = open_half(first);
    while (half != nullptr && end_if_over(*half, first)) {
      half = open_half(first);
    }
    if (half != nullptr) {
      presences_.ask(static_cast<int>(half->id().peer));
    }
    return half == nullptr ? 0 : 1;
  }
  return result;
}

void Exchange::discard(Transfer* transfer) {
  {
    const std::lock_guard lock(lock_);
    if (transfer->is_active()) {
      // start_one() has counted a user, so the memory stays.
      transfer->memory->release();
      transfer->is_detached = true;
      return;
    }
  }
  transfer->memory->release();
  delete transfer;
}

bool Exchange::has_active(std::uint32_t comm) {
  const std::lock_guard lock(lock_);
  for (const auto& [id, half] : halves_) {
    if (id.comm == comm && id.channel != kCollective && half->has_active()) {
      return true;
    }
  }
  return false;
}

void Exchange::close(std::uint32_t comm) {
  const std::lock_guard lock(lock_);
  for (const auto& [id, half] : halves_) {
    if (id.comm == comm) {
      half->close();
    }
  }
}

void Exchange::forget(std::uint32_t comm) {
  const std::lock_guard lock(lock_);
  std::erase_if(busy_,
                [comm](const Half* half) { return half->id().comm == comm; });
  std::erase_if(halves_,
                [comm](const auto& each) { return each.first.comm == comm; });
  std::erase_if(early_,
                [comm](const auto& each) { return each.first.comm == comm; });
  revocations_.erase(comm);
}

}  // namespace qmp
