// Creating, posting to and freeing channels, and the progress step that drives
// their ends. Called by channel_api.cc, and by the basic layer's progress. A
// post drives its end at once. What is left is listed, and the step drives it.
// No thread may wait with a lock of channels held.
#include "middle/channel/channels.h"

#include <mutex>

#include "acp/malloc.h"
#include "base/immortal.h"
#include "base/message_count.h"
#include "middle/channel/handles.h"
#include "middle/log.h"
#include "middle/malloc/allocate_for.h"

namespace acp::middle::channel {

namespace {

/// Set while this thread is in the channels' progress step, where the heap
/// frees without waiting.
thread_local constinit bool is_in_step = false;

}  // namespace

Channels& channels() {
  static Immortal<Channels> all;
  return *all;
}

/// Returns an end that no handle names; nullptr when there are kMaxEnds.
End* Channels::unused_end() {
  const std::lock_guard lock(list_lock_);
  if (unused_ends_.empty() && ends_made_ == EndTable::kMaxEnds) {
    return nullptr;
  }
  std::uint32_t index = ends_made_;
  if (unused_ends_.empty()) {
    ++ends_made_;
  } else {
    index = unused_ends_.back();
    unused_ends_.pop_back();
  }
  return &table_.at_or_new(index);
}

/// Allocates the block of an end. No lock may be held, because the heap may
/// have to wait. ACP_GA_NULL: no memory.
acp_ga_t Channels::allocate_block(bool is_sender, bool is_direct) const {
  const std::size_t bytes = is_sender ? Sender::block_bytes(site_, !is_direct)
                                      : Receiver::block_bytes(site_);
  return allocate_for("acp_create_ch", (bytes + 63) / 64 * 64, site_.rank);
}

/// Makes the sender or the receiver of an end. Its lock is held.
void Channels::make_end(End& end, int sender, int receiver, acp_ga_t block) {
  if (sender == site_.rank) {
    end.sender =
        std::make_unique<Sender>(site_, receiver, block, !end.is_direct);
  } else {
    end.receiver = std::make_unique<Receiver>(site_, sender, block, end.head);
  }
}

/// Makes the end first, then gives it to the connector, whose lock comes before
/// the end's.
ChannelHandle Channels::create(int sender, int receiver) {
  const int procs = acp_procs();
  if (sender < 0 || sender >= procs || receiver < 0 || receiver >= procs) {
    log_error("acp_create_ch({}, {}): ranks are 0 to {}", sender, receiver,
              procs - 1);
    acp_errno = ACPX_BAD_RANK;
    return 0;
  }
  if (sender == receiver || (sender != site_.rank && receiver != site_.rank)) {
    log_error(
        "acp_create_ch({}, {}): a channel is between the caller, rank {}, and "
        "another rank; what a rank sends to itself it copies (memcpy)",
        sender, receiver, site_.rank);
    acp_errno = ACPX_INVALID_ARGUMENT;
    return 0;
  }
  const int before = acp_errno;
  End* end = unused_end();
  if (end == nullptr) {
    log_error("acp_create_ch: there are {} channels already", ends_made_);
    acp_errno = ACPX_NO_MEMORY;
    return 0;
  }
  const bool is_sender = sender == site_.rank;
  const int other = is_sender ? receiver : sender;
  const bool is_direct = acpx_pointer(site_.block_of(other)) != nullptr;
  const acp_ga_t block = allocate_block(is_sender, is_direct);
  ChannelHandle handle = 0;
  {
    const std::lock_guard lock(end->lock);
    end->is_in_use = true;
    end->has_lost_sender = false;
    end->is_direct = is_direct;
    if (block == ACP_GA_NULL) {
      recycle(*end);
      acp_errno = ACPX_NO_MEMORY;
      return 0;
    }
    make_end(*end, sender, receiver, block);
    count_live_end();
    handle = handle_of(*end);
    end->waiting_function = nullptr;
    end->sending_rank = sender;
    end->receiving_rank = receiver;
    end->handle = handle;
  }
  {
    const std::lock_guard lock(connector_lock_);
    if (sender == site_.rank) {
      connector_.connect(*end);
    } else {
      connector_.expect(*end, sender);
    }
  }
  begin_progress();
  acp_errno = before;
  return handle;
}

/// Adds the progress step if it is not there. No lock may be held, because this
/// waits for a run of the step that removes itself.
void Channels::begin_progress() {
  {
    const std::lock_guard lock(list_lock_);
    if (has_step_) {
      return;
    }
    has_step_ = true;
  }
  acpx_add_progress(run_step, this);
}

End* Channels::find(ChannelHandle channel) const {
  return table_.find(end_index_of_channel(channel));
}

/// Checks without the end's lock what needs none, then takes it, because a free
/// in another thread may end the handle. A small message is done in this call.
RequestHandle Channels::post(Way way,
                             ChannelHandle channel,
                             void* buffer,
                             std::size_t size) {
  const bool is_receive = way == Way::kReceive;
  const char* function = is_receive ? "acp_nbrecv_ch" : "acp_nbsend_ch";
  End* end = find(channel);
  if (end == nullptr || (buffer == nullptr && size != 0)) [[unlikely]] {
    log_error("{}({:#x}, {}, {}): no such channel, or no buffer", function,
              channel, buffer, size);
    acp_errno = ACPX_INVALID_ARGUMENT;
    return 0;
  }
  const std::lock_guard lock(end->lock);
  if (handle_of(*end) != channel ||
      (is_receive ? end->receiver == nullptr : end->sender == nullptr))
      [[unlikely]] {
    log_error("{}({:#x}): {}", function, channel,
              handle_of(*end) != channel ? "was freed"
              : is_receive               ? "this rank is its sender"
                                         : "this rank is its receiver");
    acp_errno = ACPX_INVALID_ARGUMENT;
    return 0;
  }
  Request* request = end->requests.take();
  if (request == nullptr) [[unlikely]] {
    log_error("{}({:#x}): {} requests that were not waited for", function,
              channel, RequestPool::kMaxRequests);
    acp_errno = ACPX_NO_MEMORY;
    return 0;
  }
  request->buffer = static_cast<std::byte*>(buffer);
  request->size = size;
  request->is_receive = is_receive;
  if (is_receive) {
    end->receiver->post(*request);
  } else {
    count_message(static_cast<std::uint32_t>(end->receiving_rank), size);
    end->sender->post(*request);
  }
  if (request->state == RequestState::kPending ||
      (!is_receive && end->sender->is_gathering())) {
    leave(*end);
    if (!is_receive && end->sender->is_gathering()) {
      acpx_hurry_progress();
    }
  }
  return handle_of(*end, *request);
}

/// Ends the handle at once. The end itself closes in steps, and the request
/// completes as settle() says.
RequestHandle Channels::free(const char* function, ChannelHandle channel) {
  End* end = find(channel);
  if (end == nullptr) {
    log_error("{}({:#x}): no such channel", function, channel);
    acp_errno = ACPX_INVALID_ARGUMENT;
    return 0;
  }
  const RequestHandle handle = free_end(function, *end, channel);
  free_useless_blocks();
  return handle;
}

/// Does what free() does, but for memory that is useless then.
RequestHandle Channels::free_end(const char* function,
                                 End& end,
                                 ChannelHandle channel) {
  const int before = acp_errno;
  const std::lock_guard lock(end.lock);
  if (handle_of(end) != channel || !end.has_end()) {
    log_error("{}({:#x}): was freed already", function, channel);
    acp_errno = ACPX_INVALID_ARGUMENT;
    return 0;
  }
  Request* request = end.requests.take();
  if (request == nullptr) {
    log_error("{}({:#x}): {} requests that were not waited for", function,
              channel, RequestPool::kMaxRequests);
    acp_errno = ACPX_NO_MEMORY;
    return 0;
  }
  request->is_receive = false;
  end.generation = end.generation % UINT32_MAX + 1;
  end.free_request = request;
  if (end.sender != nullptr) {
    end.sender->close();
  } else {
    end.receiver->close();
  }
  const RequestHandle handle = handle_of(end, *request);
  drive(end);
  leave(end);
  acp_errno = before;
  return handle;
}

/// Completes the free request and releases the end, as far as the closing has
/// come. The end's lock is held.
void Channels::settle(End& end) {
  bool is_freed = end.sender != nullptr && end.sender->is_done();
  if (end.receiver != nullptr && end.receiver->has_useless_block()) {
    free_later(end.receiver->block());
    end.receiver->forget_block();
    is_freed = true;
  }
  const bool is_gone = end.is_gone();
  if ((is_freed || is_gone) && end.free_request != nullptr) {
    end.free_request->finish();
    end.free_request = nullptr;
  }
  if (is_gone) {
    release(end);
  }
}

/// Frees a block of an end, whose lock is held. A progress step frees at once,
/// because the heap does not wait in it. All other callers call
/// free_useless_blocks() when they hold no lock any more.
void Channels::free_later(acp_ga_t block) {
  if (is_in_step) {
    acp_free(block);
    return;
  }
  const std::lock_guard lock(list_lock_);
  useless_blocks_.push_back(block);
  unfreed_.fetch_add(1, std::memory_order_relaxed);
}

/// Frees what free_later() has left. The heap may have to wait, and the
/// progress step may need any lock of channels meanwhile, so none may be held.
/// When it returns, the blocks of all ends that this thread has seen settled
/// are free.
void Channels::free_useless_blocks() {
  if (unfreed_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  const int before = acp_errno;
  const std::lock_guard freeing(freeing_);
  std::vector<acp_ga_t> blocks;
  {
    const std::lock_guard lock(list_lock_);
    blocks.swap(useless_blocks_);
  }
  for (const acp_ga_t block : blocks) {
    acp_free(block);
    unfreed_.fetch_sub(1, std::memory_order_relaxed);
  }
  acp_errno = before;
}

/// Gives the end's memory back. The end's lock is held.
void Channels::release(End& end) {
  if (end.sender == nullptr && end.receiver == nullptr) {
    return;
  }
  free_later(end.sender != nullptr ? end.sender->block()
                                   : end.receiver->block());
  end.head.store(nullptr, std::memory_order_relaxed);
  end.sender.reset();
  end.receiver.reset();
  end.free_request = nullptr;
  {
    const std::lock_guard lock(list_lock_);
    --live_ends_;
  }
  recycle(end);
}

/// Counts an end that has its memory. release() counts it down.
void Channels::count_live_end() {
  const std::lock_guard lock(list_lock_);
  ++live_ends_;
}

/// Makes an end available again once it is gone and all its requests were
/// waited for: then no valid handle names it.
void Channels::recycle(End& end) {
  if (end.is_in_use && end.sender == nullptr && end.receiver == nullptr &&
      end.requests.in_use() == 0) {
    end.is_in_use = false;
    const std::lock_guard lock(list_lock_);
    unused_ends_.push_back(end.index);
  }
}

/// Has each step drive the end until it is idle. Its lock is held. True: it was
/// not listed before.
bool Channels::list(End& end) {
  if (end.is_listed || end.is_idle()) {
    return false;
  }
  end.is_listed = true;
  const std::lock_guard lock(list_lock_);
  listed_.push_back(&end);
  return true;
}

/// Called when the program may compute from now on and only a step looks, once
/// something wakes it. What came before the listing woke a step that did not
/// look here, so this looks again. The rest of a message that both ends copy
/// wakes no step, so this asks for a doorbell. The end's lock is held.
void Channels::leave(End& end) {
  bool has_more = list(end) || end.awaits_piece();
  while (has_more || end.ask_before_leaving()) {
    has_more = drive(end) && end.awaits_piece();
  }
}

// ---- Progress -------------------------------------------------------------

int Channels::run_step(void* self) {
  if (is_busy) {
    return ACPX_STEP_BUSY;
  }
  const int before = acp_errno;
  is_in_step = true;
  const int has_worked = static_cast<Channels*>(self)->step();
  is_in_step = false;
  acp_errno = before;
  return has_worked;
}

/// One pass of progress. It drives all ends when one was connected or the other
/// side has closed one, otherwise the listed ones. It removes itself when the
/// last end is gone.
int Channels::step() {
  bool has_worked = false;
  bool has_connected = false;
  {
    const std::lock_guard lock(connector_lock_);
    has_worked = connector_.advance();
    has_connected = connector_.take_connected();
  }
  const std::uint64_t closed_ends = load(site_.mine->closed_ends);
  const Which which = has_connected || closed_ends != closed_ends_seen_
                          ? Which::kAll
                          : Which::kListed;
  has_worked = drive_ends(which) || has_worked;
  closed_ends_seen_ = closed_ends;
  const std::lock_guard lock(list_lock_);
  if (live_ends_ == 0 && has_step_) {
    has_step_ = false;
    acpx_remove_progress(run_step, this);
  }
  return has_worked ? 1 : 0;
}

/// Drives the listed ends, or all of them.
bool Channels::drive_ends(Which which) {
  driven_.clear();
  {
    const std::lock_guard lock(list_lock_);
    if (which == Which::kAll) {
      for (std::uint32_t i = 0; i < ends_made_; ++i) {
        driven_.push_back(table_.find(i));
      }
    } else {
      driven_ = listed_;
    }
  }
  bool has_worked = false;
  for (End* end : driven_) {
    const std::lock_guard lock(end->lock);
    has_worked = drive(*end) || has_worked;
    if (end->ask_before_leaving()) {
      has_worked = drive(*end) || has_worked;
    }
    list(*end);
    if (end->is_listed && end->is_idle()) {
      end->is_listed = false;
      const std::lock_guard list_lock(list_lock_);
      std::erase(listed_, end);
    }
  }
  return has_worked;
}

}  // namespace acp::middle::channel
