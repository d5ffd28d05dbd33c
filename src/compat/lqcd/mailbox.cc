// Sends, receives and progress of the LQCD message API. Called by lqcd_api.cc
// and by the progress step of the library; nothing waits for a peer.
#include "compat/lqcd/mailbox.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "acp/extension.h"
#include "inbox/tsan_order.h"

namespace lqcd {

bool Mailbox::begin(int module) {
  module_ = module;
  auto* mine = static_cast<Inbox*>(
      acp_query_address(acpx_module_ga(module, acp_rank())));
  reader_ = inbox::Reader(mine->cell);
  is_running_ = acpx_add_progress(&run_step, this) == 0;
  return is_running_;
}

Mailbox::~Mailbox() {
  if (is_running_) {
    (void)acpx_remove_progress(&run_step, this);
  }
  for (const auto& [range, region] : registered_) {
    (void)acp_unregister_memory(region.first);
  }
}

void Mailbox::close() {
  {
    const std::lock_guard lock(lock_);
    is_closing_ = true;
  }
  acp_complete(ACP_HANDLE_ALL);
}

acp_ga_t Mailbox::registered(std::byte* buffer, std::size_t bytes) {
  const std::pair range{buffer, bytes};
  if (const auto found = registered_.find(range); found != registered_.end()) {
    return found->second.second;
  }
  const acp_atkey_t key = acpx_try_register_memory(buffer, bytes, 0);
  if (key == ACP_ATKEY_NULL) {
    return ACP_GA_NULL;  // The message goes through a copy.
  }
  const acp_ga_t address = acp_query_ga(key, buffer);
  registered_[range] = {key, address};
  return address;
}

Handle* Mailbox::declare(const Handle& declared) {
  const std::lock_guard lock(lock_);
  handles_.push_back(std::make_unique<Handle>(declared));
  Handle* handle = handles_.back().get();
  if (handle->bytes > kSnapshotBytes) {
    handle->address = registered(handle->buffer, handle->bytes);
  }
  return handle;
}

// ---- Sending ----------------------------------------------------------------

/// The request names the word of its answer, so both are in one memory that
/// lives until the answer has come. advance() sends it.
bool Mailbox::post(int rank,
                   int name,
                   acp_ga_t source,
                   std::size_t bytes,
                   std::shared_ptr<GlobalBytes> copy,
                   Handle* sender) {
  Posting posting;
  posting.memory = GlobalBytes::make(sizeof(Posting::Scratch));
  if (posting.memory == nullptr) {
    return false;
  }
  const acp_ga_t own = posting.memory->address();
  const Offer offer{source, bytes, own + offsetof(Posting::Scratch, answer),
                    name, 0};
  std::memcpy(posting.scratch().offer.message, &offer, sizeof offer);
  const acp_ga_t inbox = acpx_module_ga(module_, rank);
  posting.delivery = inbox::Delivery(
      {inbox + offsetof(Inbox, tickets), inbox + offsetof(Inbox, cell)},
      &posting.scratch().offer, own + offsetof(Posting::Scratch, offer));
  // Relaxed: the offer goes out later, and the answer comes after it.
  std::atomic_ref(posting.scratch().answer).store(0, std::memory_order_relaxed);
  posting.copy = std::move(copy);
  posting.sender = sender;
  outgoing_[rank].push_back(std::move(posting));
  return true;
}

/// A large buffer is fetched from where it is; a send of a copy is done at
/// once.
bool Mailbox::start_send(Handle* handle) {
  if (handle->address != ACP_GA_NULL) {
    return post(handle->rank, handle->name, handle->address, handle->bytes,
                nullptr, handle);
  }
  std::shared_ptr<GlobalBytes> copy = GlobalBytes::make(handle->bytes);
  if (copy == nullptr) {
    return false;
  }
  if (handle->bytes > 0) {
    std::memcpy(copy->data(), handle->buffer, handle->bytes);
  }
  const acp_ga_t source = copy->address();
  if (!post(handle->rank, handle->name, source, handle->bytes, std::move(copy),
            nullptr)) {
    return false;
  }
  handle->state = Handle::State::kDone;
  return true;
}

/// A thread of this process may read, for a peer, what the caller has written.
bool Mailbox::start(Handle* handle) {
  inbox::show_order_to_tsan();
  const std::lock_guard lock(lock_);
  if (handle->state == Handle::State::kActive) {
    return false;
  }
  handle->state = Handle::State::kActive;
  if (handle->kind == Handle::Kind::kReceive) {
    waiting_[handle->name].push_back(handle);
    match(handle->name);
  } else if (!start_send(handle)) {
    handle->state = Handle::State::kNoMemory;
  }
  (void)advance();
  return true;
}

/// All offers name one copy, which lives until the last of them is answered.
bool Mailbox::broadcast(const void* data,
                        std::size_t bytes,
                        const std::vector<int>& ranks,
                        int name) {
  std::shared_ptr<GlobalBytes> copy = GlobalBytes::make(bytes);
  if (copy == nullptr) {
    return false;
  }
  if (bytes > 0) {
    std::memcpy(copy->data(), data, bytes);
  }
  inbox::show_order_to_tsan();
  const std::lock_guard lock(lock_);
  bool is_posted = true;
  for (const int rank : ranks) {
    is_posted &= post(rank, name, copy->address(), bytes, copy, nullptr);
  }
  (void)advance();
  return is_posted;
}

/// Moves the first message to each rank on until nothing changes. A delivered
/// message waits among unanswered_ for the receiver, and the next one to that
/// rank then begins.
bool Mailbox::send() {
  using Result = inbox::Delivery::Result;
  bool has_moved = false;
  for (auto& [rank, queue] : outgoing_) {
    // One message at a time: offers take tickets in the order of the starts.
    while (!queue.empty() && !is_closing_) {
      Result result = queue.front().delivery.advance();
      while (result == Result::kMoved) {
        has_moved = true;
        result = queue.front().delivery.advance();
      }
      if (result != Result::kDelivered) {
        break;  // A failure stays in the queue: the job is ending.
      }
      has_moved = true;
      unanswered_.push_back(std::move(queue.front()));
      queue.pop_front();
    }
  }
  return has_moved;
}

bool Mailbox::collect_answers() {
  return std::erase_if(unanswered_, [](Posting& posting) {
           // Acquire: pairs with the word of the receiver, which comes after
           // its read of the bytes.
           const auto answer =
               static_cast<Answer>(std::atomic_ref(posting.scratch().answer)
                                       .load(std::memory_order_acquire));
           if (answer == Answer::kNone) {
             return false;
           }
           if (posting.sender != nullptr) {
             posting.sender->length = posting.sender->bytes;
             posting.sender->state = answer == Answer::kTooLong
                                         ? Handle::State::kTooLong
                                         : Handle::State::kDone;
           }
           return true;
         }) != 0;
}

// ---- Receiving --------------------------------------------------------------

bool Mailbox::receive() {
  bool has_received = false;
  Offer offer{};
  while (reader_.take(offer)) {
    offers_[offer.name].push_back(offer);
    match(offer.name);
    has_received = true;
  }
  return has_received;
}

void Mailbox::match(int name) {
  std::deque<Offer>& offers = offers_[name];
  std::deque<Handle*>& waiting = waiting_[name];
  while (!offers.empty() && !waiting.empty()) {
    fetches_.add(waiting.front(), offers.front());
    waiting.pop_front();
    offers.pop_front();
  }
}

// ---- Progress ---------------------------------------------------------------

bool Mailbox::advance() {
  const bool has_received = receive();
  const bool has_fetched = fetches_.advance(!is_closing_);
  const bool has_sent = send();
  return collect_answers() || has_received || has_fetched || has_sent;
}

int Mailbox::run_step(void* self) {
  auto& mailbox = *static_cast<Mailbox*>(self);
  if (!mailbox.lock_.try_lock()) {
    // The holder may have looked before the message came, and may then compute
    // for long. It may even be this thread, since acp_inquire runs steps.
    return ACPX_STEP_BUSY;
  }
  const std::lock_guard lock(mailbox.lock_, std::adopt_lock);
  return mailbox.advance() ? 1 : 0;
}

bool Mailbox::is_over(const Handle* handle) {
  const std::lock_guard lock(lock_);
  (void)advance();
  return handle->state != Handle::State::kActive;
}

Handle::State Mailbox::collect(Handle* handle) {
  const std::lock_guard lock(lock_);
  return std::exchange(handle->state, Handle::State::kIdle);
}

}  // namespace lqcd
