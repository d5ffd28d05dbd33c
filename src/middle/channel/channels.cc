#include "middle/channel/channels.h"

#include <bit>
#include <mutex>

#include "acp/malloc.h"
#include "middle/log.h"
#include "middle/malloc/allocate_for.h"

namespace acp::middle::channel {

namespace {

constexpr std::uint32_t kIndexMask = EndpointTable::kMaxEndpoints - 1;

/// Looks at memory, 2 to 4 us, before a waiting thread asks the basic layer.
constexpr int kLooks = 256;
/// Looks between two that take the lock: another thread may have served us.
constexpr int kLooksPerLock = 32;
/// Turns of a wait between two looks at whether the job is ending.
constexpr std::uint32_t kTurnsPerLook = 1024;

int is_never_over(void* /*unused*/) {
  return 0;
}

ChannelHandle handle_of(const Endpoint& endpoint) {
  return std::uint64_t{endpoint.generation} << 24 | (endpoint.index + 1);
}

RequestHandle handle_of(const Endpoint& endpoint, const Request& request) {
  return std::uint64_t{request.generation} << 40 |
         std::uint64_t{endpoint.index} << 20 | request.index;
}

/// With the lock of an end held.
void free_block(acp_ga_t block) {
  const BusyScope busy;
  acp_free(block);
}

void refuse(int code) {
  acp_errno = code;
}

}  // namespace

/// A request that somebody waits for.
struct Channels::Sought {
  Channels* channels;
  Endpoint* endpoint;
  std::uint32_t index;
  std::uint32_t generation;

  Request* find() const { return endpoint->requests.find(index, generation); }
};

Channels& channels() {
  static Channels all;
  return all;
}

void Channels::leave_job() noexcept {
  channels().is_running_.store(false, std::memory_order_relaxed);
}

int Channels::init() {
  std::uint64_t bytes = 0;
  if (acpx_setting("ACP_CH_BUFFER", &bytes) != 0) {
    return -1;
  }
  site_.rank = acp_rank();
  site_.ring_bytes = std::bit_floor(bytes);
  site_.mine =
      static_cast<RankBlock*>(acp_query_address(site_.block_of(site_.rank)));
  news_seen_ = 0;
  is_running_.store(true, std::memory_order_release);
  return 0;
}

/// Whatever the other ranks do, they come here too: calls that nobody expects
/// are refused, and what was not received is dropped. So everybody's ends get
/// their answers, and after the barrier nobody touches anybody's memory.
int Channels::fini() {
  {
    const std::lock_guard lock(calls_lock_);
    calls_.refuse_unexpected();
  }
  for (std::uint32_t i = 0; i < places_; ++i) {
    Endpoint& endpoint = *table_.find(i);
    const std::lock_guard lock(endpoint.lock);
    endpoint.generation = endpoint.generation % UINT32_MAX + 1;
    if (endpoint.sender != nullptr) {
      endpoint.sender->close();
    } else if (endpoint.receiver != nullptr) {
      endpoint.receiver->close();
    }
    list(endpoint);
  }
  {
    const std::lock_guard lock(list_lock_);
    ++ends_;  // keeps the step until the barrier is over
  }
  begin_progress();
  if (acpx_wait_until(has_ended, this, -1) != 0) {
    return -1;  // the job ends
  }
  // Where it fails nobody comes any more who could use what is freed here.
  const int result = acp_sync();
  acpx_remove_progress(run_step, this);
  has_step_ = false;
  is_running_.store(false, std::memory_order_release);
  calls_.clear();
  listed_.clear();
  for (std::uint32_t i = places_; i-- > 0;) {
    Endpoint& endpoint = *table_.find(i);
    release(endpoint);
    endpoint.requests.clear();
    endpoint.is_listed = false;
    endpoint.is_in_use = false;
  }
  ends_ = 0;
  unused_places_.clear();
  for (std::uint32_t i = places_; i-- > 0;) {
    unused_places_.push_back(i);
  }
  return result;
}

/// Everybody has answered; ends that were never called do not wait for it.
int Channels::has_ended(void* self) {
  auto& all = *static_cast<Channels*>(self);
  const std::lock_guard calls_lock(all.calls_lock_);
  if (!all.calls_.is_idle()) {
    return 0;
  }
  for (std::uint32_t i = 0; i < all.places_; ++i) {
    Endpoint& endpoint = *all.table_.find(i);
    const std::lock_guard lock(endpoint.lock);
    if (endpoint.sender != nullptr ||
        (endpoint.receiver != nullptr && !endpoint.receiver->is_waiting())) {
      return 0;
    }
  }
  return 1;
}

Endpoint* Channels::new_place() {
  const std::lock_guard lock(list_lock_);
  if (unused_places_.empty() && places_ == EndpointTable::kMaxEndpoints) {
    return nullptr;
  }
  std::uint32_t index = places_;
  if (unused_places_.empty()) {
    ++places_;
  } else {
    index = unused_places_.back();
    unused_places_.pop_back();
  }
  ++ends_;
  return &table_.place(index);
}

/// False: no memory.
bool Channels::make_end(Endpoint& endpoint, int sender, int receiver) {
  const bool is_sender = sender == site_.rank;
  const int other = is_sender ? receiver : sender;
  endpoint.is_direct = acpx_pointer(site_.block_of(other)) != nullptr;
  const std::size_t bytes =
      is_sender ? Sender::block_bytes(site_, !endpoint.is_direct)
                : Receiver::block_bytes(site_);
  const BusyScope busy;
  const acp_ga_t block =
      allocate_for("acp_create_ch", (bytes + 63) / 64 * 64, site_.rank);
  if (block == ACP_GA_NULL) {
    return false;
  }
  if (is_sender) {
    endpoint.sender =
        std::make_unique<Sender>(site_, receiver, block, !endpoint.is_direct);
  } else {
    endpoint.receiver =
        std::make_unique<Receiver>(site_, sender, block, endpoint.head);
  }
  return true;
}

ChannelHandle Channels::create(int sender, int receiver) {
  const int procs = acp_procs();
  if (sender < 0 || sender >= procs || receiver < 0 || receiver >= procs) {
    log_error("acp_create_ch({}, {}): ranks are 0 to {}", sender, receiver,
              procs - 1);
    refuse(ACPX_BAD_RANK);
    return 0;
  }
  if (sender == receiver || (sender != site_.rank && receiver != site_.rank)) {
    log_error(
        "acp_create_ch({}, {}): a channel is between the caller, rank {}, and "
        "another rank",
        sender, receiver, site_.rank);
    refuse(ACPX_INVALID_ARGUMENT);
    return 0;
  }
  const int before = acp_errno;
  Endpoint* endpoint = new_place();
  if (endpoint == nullptr) {
    log_error("acp_create_ch: there are {} channels already", places_);
    refuse(ACPX_NO_MEMORY);
    return 0;
  }
  ChannelHandle handle = 0;
  {
    const std::lock_guard lock(endpoint->lock);
    endpoint->is_in_use = true;
    if (!make_end(*endpoint, sender, receiver)) {
      release(*endpoint);
      refuse(ACPX_NO_MEMORY);
      return 0;
    }
    handle = handle_of(*endpoint);
  }
  {
    const std::lock_guard lock(calls_lock_);
    if (sender == site_.rank) {
      calls_.call(*endpoint);
    } else {
      calls_.expect(*endpoint, sender);
    }
  }
  begin_progress();
  acp_errno = before;
  return handle;
}

/// Adds the progress step if it is not there. Not with a lock held: it waits
/// for a run of the step that removes itself.
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

Endpoint* Channels::find(ChannelHandle channel) const {
  const auto index = static_cast<std::uint32_t>(channel & 0xffffff) - 1;
  return table_.find(index);
}

RequestHandle Channels::post(Way way,
                             ChannelHandle channel,
                             void* buffer,
                             std::size_t size) {
  const bool is_receive = way == Way::kReceive;
  const char* function = is_receive ? "acp_nbrecv_ch" : "acp_nbsend_ch";
  Endpoint* endpoint = find(channel);
  if (endpoint == nullptr || (buffer == nullptr && size != 0)) [[unlikely]] {
    log_error("{}({:#x}, {}, {}): no such channel, or no buffer", function,
              channel, buffer, size);
    refuse(ACPX_INVALID_ARGUMENT);
    return 0;
  }
  const std::lock_guard lock(endpoint->lock);
  if (handle_of(*endpoint) != channel ||
      (is_receive ? endpoint->receiver == nullptr
                  : endpoint->sender == nullptr)) [[unlikely]] {
    log_error("{}({:#x}): {}", function, channel,
              handle_of(*endpoint) != channel ? "was freed"
              : is_receive                    ? "rank is its sender"
                                              : "rank is its receiver");
    refuse(ACPX_INVALID_ARGUMENT);
    return 0;
  }
  Request* request = endpoint->requests.take();
  if (request == nullptr) [[unlikely]] {
    log_error("{}({:#x}): {} requests that were not waited for", function,
              channel, RequestPool::kMaxRequests);
    refuse(ACPX_NO_MEMORY);
    return 0;
  }
  request->buffer = static_cast<std::byte*>(buffer);
  request->size = size;
  request->is_receive = is_receive;
  if (is_receive) {
    endpoint->receiver->post(*request);
  } else {
    endpoint->sender->post(*request);
  }
  if (request->state == RequestState::kPending) {
    leave(*endpoint);
  }
  return handle_of(*endpoint, *request);
}

RequestHandle Channels::free(const char* function, ChannelHandle channel) {
  Endpoint* endpoint = find(channel);
  if (endpoint == nullptr) {
    log_error("{}({:#x}): no such channel", function, channel);
    refuse(ACPX_INVALID_ARGUMENT);
    return 0;
  }
  const int before = acp_errno;
  const std::lock_guard lock(endpoint->lock);
  if (handle_of(*endpoint) != channel ||
      (endpoint->sender == nullptr && endpoint->receiver == nullptr)) {
    log_error("{}({:#x}): was freed already", function, channel);
    refuse(ACPX_INVALID_ARGUMENT);
    return 0;
  }
  Request* request = endpoint->requests.take();
  if (request == nullptr) {
    log_error("{}({:#x}): {} requests that were not waited for", function,
              channel, RequestPool::kMaxRequests);
    refuse(ACPX_NO_MEMORY);
    return 0;
  }
  request->is_receive = false;
  endpoint->generation = endpoint->generation % UINT32_MAX + 1;
  endpoint->free_request = request;
  if (endpoint->sender != nullptr) {
    endpoint->sender->close();
  } else {
    endpoint->receiver->close();
  }
  const RequestHandle handle = handle_of(*endpoint, *request);
  drive(*endpoint);
  leave(*endpoint);
  acp_errno = before;
  return handle;
}

/// Moves an end on, and notes what became of it. Its lock is held.
bool Channels::drive(Endpoint& endpoint) {
  const bool has_worked = endpoint.advance();
  if (endpoint.is_closing()) [[unlikely]] {
    settle(endpoint);
  }
  return has_worked;
}

/// What a free has come to. The end's lock is held.
void Channels::settle(Endpoint& endpoint) {
  bool is_freed = endpoint.sender != nullptr && endpoint.sender->is_done();
  if (endpoint.receiver != nullptr && endpoint.receiver->has_useless_block()) {
    free_block(endpoint.receiver->block());
    endpoint.receiver->forget_block();
    is_freed = true;
  }
  const bool is_gone = endpoint.is_gone();
  if ((is_freed || is_gone) && endpoint.free_request != nullptr) {
    endpoint.free_request->finish();
    endpoint.free_request = nullptr;
  }
  if (is_gone) {
    release(endpoint);
  }
}

/// Gives its memory back. The end's lock is held.
void Channels::release(Endpoint& endpoint) {
  if (endpoint.sender == nullptr && endpoint.receiver == nullptr) {
    return;
  }
  free_block(endpoint.sender != nullptr ? endpoint.sender->block()
                                        : endpoint.receiver->block());
  endpoint.head.store(nullptr, std::memory_order_relaxed);
  endpoint.sender.reset();
  endpoint.receiver.reset();
  endpoint.free_request = nullptr;
  {
    const std::lock_guard lock(list_lock_);
    --ends_;
  }
  recycle(endpoint);
}

/// A place is used again when nobody can have a handle to something in it.
void Channels::recycle(Endpoint& endpoint) {
  if (endpoint.is_in_use && endpoint.sender == nullptr &&
      endpoint.receiver == nullptr && endpoint.requests.in_use() == 0) {
    endpoint.is_in_use = false;
    const std::lock_guard lock(list_lock_);
    unused_places_.push_back(endpoint.index);
  }
}

/// Has each step look at it until there is nothing to do. Its lock is held.
/// True: no step did before.
bool Channels::list(Endpoint& endpoint) {
  if (endpoint.is_listed || endpoint.is_idle()) {
    return false;
  }
  endpoint.is_listed = true;
  const std::lock_guard lock(list_lock_);
  listed_.push_back(&endpoint);
  return true;
}

/// The program may compute from now on, and only a step look, when something
/// wakes one. What came before the listing woke a step that did not look here;
/// what the sender leaves of a large message wakes none. Its lock is held.
void Channels::leave(Endpoint& endpoint) {
  bool has_more = list(endpoint) || endpoint.awaits_piece();
  while (has_more || endpoint.ask_before_leaving()) {
    has_more = drive(endpoint) && endpoint.awaits_piece();
  }
}

// ---- Waiting --------------------------------------------------------------

std::size_t Channels::wait(const char* function, RequestHandle handle) {
  const auto index =
      static_cast<std::uint32_t>(handle & (RequestPool::kMaxRequests - 1));
  Endpoint* endpoint = table_.find((handle >> 20) & kIndexMask);
  Sought sought{this, endpoint, index,
                static_cast<std::uint32_t>(handle >> 40)};
  bool has_spun = false;  // since something moved
  std::uint32_t turns = 0;
  while (endpoint != nullptr) {
    bool has_moved = false;
    {
      const std::lock_guard lock(endpoint->lock);
      Request* request = sought.find();
      if (request == nullptr) {
        break;
      }
      if (request->state == RequestState::kPending) {
        has_moved = drive(*endpoint);
      } else if (endpoint->sender != nullptr) {
        endpoint->sender->wake_receiver();
      }
      if (request->state != RequestState::kPending) {
        return conclude(function, *endpoint, *request);
      }
    }
    const bool may_spin = endpoint->is_direct && !has_spun;
    has_spun = !has_moved;
    if (has_moved || (may_spin && spin(*endpoint, sought))) {
      // What is refused is tried again, in a job that is ending for ever.
      if (++turns % kTurnsPerLook != 0 ||
          acpx_wait_until(is_never_over, nullptr, 0) >= 0) {
        continue;
      }
      return kWaitFailed;
    }
    const char* before = acpx_enter_call(function);
    const int result = acpx_wait_until(is_over, &sought, -1);
    acpx_leave_call(before);
    if (result != 0) {
      return kWaitFailed;
    }
  }
  log_error("{}({:#x}): no such request; each can be waited for once", function,
            handle);
  refuse(ACPX_INVALID_ARGUMENT);
  return kWaitFailed;
}

int Channels::wait_all(const acp_request_t* requests,
                       int count,
                       std::size_t* sizes) {
  if (count < 0 || (requests == nullptr && count != 0)) {
    log_error("acp_waitall_ch({}, {}): no requests",
              static_cast<const void*>(requests), count);
    refuse(ACPX_INVALID_ARGUMENT);
    return -1;
  }
  int first_error = 0;
  for (int i = 0; i < count; ++i) {
    const std::size_t size =
        wait("acp_waitall_ch", reinterpret_cast<std::uintptr_t>(requests[i]));
    if (sizes != nullptr) {
      sizes[i] = size;
    }
    if (size == kWaitFailed && first_error == 0) {
      first_error = acp_errno;
    }
  }
  if (first_error != 0) {
    refuse(first_error);
  }
  return first_error == 0 ? 0 : -1;
}

/// Ends a request that is complete. The end's lock is held.
std::size_t Channels::conclude(const char* function,
                               Endpoint& endpoint,
                               Request& request) {
  std::size_t result = request.is_receive ? request.done : 0;
  if (request.state == RequestState::kFailed) [[unlikely]] {
    log_error("{}: {}: the message will not come", function,
              acpx_strerror(request.error));
    refuse(request.error);
    result = kWaitFailed;
  }
  endpoint.requests.give_back(request);
  if (!endpoint.has_end()) [[unlikely]] {
    recycle(endpoint);
  }
  return result;
}

/// A short while in which nobody else is asked: an answer of a rank on another
/// core takes less. True: look again.
bool Channels::spin(Endpoint& endpoint, const Sought& sought) {
  for (int look = 1; look <= kLooks; ++look) {
    if (endpoint.has_record()) {
      return true;
    }
    if (look % kLooksPerLock == 0) {
      const std::lock_guard lock(endpoint.lock);
      const Request* request = sought.find();
      if (request == nullptr || request->state != RequestState::kPending) {
        return true;
      }
      if (drive(endpoint)) {
        return true;
      }
    }
    relax();
  }
  return false;
}

/// For acpx_wait_until. Armed before the last look, so that no message is
/// missed by a thread that goes to sleep.
int Channels::is_over(void* argument) {
  auto& sought = *static_cast<Sought*>(argument);
  Endpoint& endpoint = *sought.endpoint;
  const std::lock_guard lock(endpoint.lock);
  const Request* request = sought.find();
  if (request == nullptr) {
    return 1;
  }
  const auto has_moved = [&] {
    return sought.channels->drive(endpoint) ||
           request->state != RequestState::kPending;
  };
  return has_moved() || (endpoint.ask() && has_moved()) ? 1 : 0;
}

// ---- Progress -------------------------------------------------------------

int Channels::run_step(void* self) {
  if (is_busy) {
    return 0;
  }
  const int before = acp_errno;
  const int has_worked = static_cast<Channels*>(self)->step();
  acp_errno = before;
  return has_worked;
}

int Channels::step() {
  bool has_worked = false;
  bool has_news = false;
  {
    const std::lock_guard lock(calls_lock_);
    has_worked = calls_.advance();
    has_news = calls_.take_news();
  }
  const std::uint64_t news = load(site_.mine->news);
  has_worked = look_at(has_news || news != news_seen_) || has_worked;
  news_seen_ = news;
  const std::lock_guard lock(list_lock_);
  if (ends_ == 0 && has_step_) {
    has_step_ = false;
    acpx_remove_progress(run_step, this);
  }
  return has_worked ? 1 : 0;
}

/// Drives the ends that have something to do; with news, all of them.
bool Channels::look_at(bool has_news) {
  looked_at_.clear();
  {
    const std::lock_guard lock(list_lock_);
    if (has_news) {
      for (std::uint32_t i = 0; i < places_; ++i) {
        looked_at_.push_back(table_.find(i));
      }
    } else {
      looked_at_ = listed_;
    }
  }
  bool has_worked = false;
  for (Endpoint* endpoint : looked_at_) {
    const std::lock_guard lock(endpoint->lock);
    has_worked = drive(*endpoint) || has_worked;
    if (endpoint->ask_before_leaving()) {
      has_worked = drive(*endpoint) || has_worked;
    }
    list(*endpoint);
    if (endpoint->is_listed && endpoint->is_idle()) {
      endpoint->is_listed = false;
      const std::lock_guard list_lock(list_lock_);
      std::erase(listed_, endpoint);
    }
  }
  return has_worked;
}

// ---- The module -----------------------------------------------------------

int Channels::add_module(int (*add)(const acpx_module_t*)) {
  acpx_module_t module{};
  module.name = "channels";
  module.bytes = sizeof(RankBlock);
  module.init = [](void*) {
    return channels().init();
  };
  module.fini = [](void*) {
    return channels().fini();
  };
  const int number = add(&module);
  if (number < 0) {
    return -1;
  }
  channels().site_.module = number;
  return 0;
}

}  // namespace acp::middle::channel
