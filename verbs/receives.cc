// Posting and recycling the receive buffers of a device. Called by Device,
// Endpoint and VerbsTransport. Recycling may not allocate, because every packet
// that arrives comes here.
#include "verbs/receives.h"

#include <algorithm>
#include <cerrno>

#include "base/assert.h"
#include "base/log.h"
#include "verbs/credit.h"
#include "verbs/packet.h"

namespace acp::verbs {

namespace {

/// Buffers are registered in this number: 128 KiB.
constexpr std::size_t kChunk = 16;

/// Set in the ids of receives: a failed completion does not tell its kind.
constexpr std::uint64_t kReceiveBit = 1;

bool is_missing(int error) noexcept {
  return error == EOPNOTSUPP || error == ENOSYS;
}

/// Buffers for the empty packets of this many connections. An empty packet
/// answers packets that this process has sent, so only connections in use bring
/// some.
std::uint32_t for_empty(std::uint32_t connections) noexcept {
  return std::min(connections * kEmptyPackets, kMostForEmpty);
}

}  // namespace

/// Tries a shared receive queue. On a device without them each queue pair gets
/// its own receive queue; any other error ends the open.
Status Receives::open(const ibv_device_attr& limits) {
  if (limits.max_srq_wr > 0) {
    max_buffers_ =
        std::min(max_buffers_, static_cast<std::uint32_t>(limits.max_srq_wr));
    ibv_srq_init_attr wanted{};
    wanted.attr.max_wr = max_buffers_;
    wanted.attr.max_sge = 1;
    shared_.reset(ibv_create_srq(&domain_, &wanted));
    if (shared_ == nullptr && !is_missing(errno)) {
      return errno == ENOMEM ? Status::kNoMemory : Status::kSystem;
    }
  }
  if (shared_ == nullptr) {
    max_buffers_ = std::min(max_buffers_, kReceivesPerConnection);
    log(LogLevel::kDebug,
        "verbs: {} has no shared receive queue: {} receive buffers for each "
        "connection",
        ibv_get_device_name(domain_.context->device), max_buffers_);
  }
  return Status::kOk;
}

/// They serve the shared queue, or those of all queue pairs.
Status Receives::register_first() {
  return buffers_.grow(shared_ == nullptr
                           ? kReceivesAtStart
                           : std::min(max_buffers_, kReceivesAtStart));
}

void Receives::describe(ibv_qp_init_attr& wanted,
                        PairSize size) const noexcept {
  const std::uint32_t most =
      std::min(max_buffers_, size == PairSize::kLarge ? kReceivesPerConnection
                                                      : kReceivesOfSmall);
  wanted.srq = shared_.get();
  wanted.cap.max_recv_wr = shared_ == nullptr ? most : 0;
  wanted.cap.max_recv_sge = shared_ == nullptr ? 1 : 0;
}

Status Receives::add(ibv_qp& pair) {
  Queue& queue = shared_ != nullptr ? shared_queue_ : pairs_[pair.qp_num];
  queue.pair = shared_ != nullptr ? nullptr : &pair;
  ++queue.connections;
  queue.promised += kIdleWindow;
  watch();  // may change the number of buffers
  const Status status = fill(queue);
  if (status != Status::kOk) {
    drop(pair);
  }
  return status;
}

void Receives::drop(const ibv_qp& pair) {
  if (shared_ != nullptr) {
    --shared_queue_.connections;
    shared_queue_.promised -= kIdleWindow;
    return;
  }
  const auto found = pairs_.find(pair.qp_num);
  if (found != pairs_.end()) {
    // They may still complete as flushed. recycle() ignores completions of a
    // queue pair that it does not know.
    std::ranges::for_each(found->second.buffers,
                          [this](Buffer* buffer) { buffers_.release(buffer); });
    pairs_.erase(found);
  }
}

void Receives::take_over(const ibv_qp& pair, std::uint32_t window) {
  // The shared queue counts the window already: drop() of the queue pair before
  // takes the one packet away that add() of this one has added.
  Queue* queue = queue_of(pair.qp_num);
  if (shared_ == nullptr && queue != nullptr) {
    queue->promised += window - kIdleWindow;
    is_broken_ = fill(*queue) == Status::kSystem || is_broken_;
  }
}

/// The device tells once, and is then asked to tell again.
void Receives::on_low(const ibv_srq* queue) {
  if (queue != shared_.get() || sharers_ == 1) {
    return;
  }
  sharers_ /= 2;
  log(LogLevel::kDebug,
      "verbs: {}: receive buffers run low; {} idle connections share one now",
      ibv_get_device_name(domain_.context->device), sharers_);
  is_broken_ = fill(shared_queue_) == Status::kSystem || is_broken_;
  watch();
}

/// Asks the device to tell when three quarters of the buffers of the shared
/// queue are in use, as long as windows share some.
void Receives::watch() noexcept {
  if (shared_ == nullptr || sharers_ == 1 ||
      shared_queue_.connections <= kUnshared) {
    return;
  }
  ibv_srq_attr attributes{};
  attributes.srq_limit = std::max(shared_queue_.posted / 4, 1U);
  if (ibv_modify_srq(shared_.get(), &attributes, IBV_SRQ_LIMIT) != 0) {
    sharers_ = 1;
  }
}

bool Receives::grow(const ibv_qp& pair, std::uint32_t count) {
  Queue* queue = queue_of(pair.qp_num);
  if (queue == nullptr || !has_memory_) {
    return false;
  }
  queue->promised += count;
  if (needed(*queue) > max_buffers_) {
    queue->promised -= count;
    return false;
  }
  const Status status = fill(*queue);
  if (status != Status::kOk) {
    queue->promised -= count;
    has_memory_ = false;
    is_broken_ = is_broken_ || status == Status::kSystem;
  }
  return status == Status::kOk;
}

void Receives::shrink(const ibv_qp& pair, std::uint32_t count) noexcept {
  if (Queue* queue = queue_of(pair.qp_num)) {
    queue->promised -= count;
  }
}

std::uint32_t Receives::promised() const noexcept {
  std::uint32_t sum = shared_queue_.promised;
  for (const auto& [number, queue] : pairs_) {
    sum += queue.promised;
  }
  return sum;
}

std::uint32_t Receives::posted() const noexcept {
  std::uint32_t sum = shared_queue_.posted;
  for (const auto& [number, queue] : pairs_) {
    sum += queue.posted;
  }
  return sum;
}

/// Null: the queue pair has been dropped.
Receives::Queue* Receives::queue_of(std::uint32_t pair) noexcept {
  if (shared_ != nullptr) {
    return &shared_queue_;
  }
  const auto found = pairs_.find(pair);
  return found == pairs_.end() ? nullptr : &found->second;
}

/// Buffers for the packets that the connections of a queue may bring at once.
/// Idle connections, whose windows are of one packet, share some: not all of
/// their peers send at once. Where they do, a packet waits for 0.64 ms, and
/// on_low() makes more buffers.
std::uint32_t Receives::needed(const Queue& queue) const noexcept {
  const std::uint32_t idle = queue.connections * kIdleWindow;
  const std::uint32_t sharing =
      queue.pair == nullptr && idle > kUnshared ? idle - kUnshared : 0;
  return queue.promised - sharing + (sharing + sharers_ - 1) / sharers_ +
         for_empty(queue.connections);
}

std::uint32_t Receives::wanted(const Queue& queue) const noexcept {
  return std::min(max_buffers_, needed(queue));
}

/// Posts the buffers that a queue lacks. On failure some of them are posted.
Status Receives::fill(Queue& queue) {
  ACP_ASSERT(recycled_ == 0);
  while (queue.posted < wanted(queue)) {
    Buffer* buffer = buffers_.acquire();
    if (buffer == nullptr) {
      const std::size_t count =
          shared_ == nullptr
              ? kChunk
              : std::min<std::size_t>(kChunk, max_buffers_ - buffers_.size());
      if (const Status status = buffers_.grow(count); status != Status::kOk) {
        return post(queue.pair) ? status : Status::kSystem;
      }
      continue;
    }
    append(queue, buffer);
    if (recycled_ == kBatch && !post(queue.pair)) {
      return Status::kSystem;
    }
  }
  return post(queue.pair) ? Status::kOk : Status::kSystem;
}

/// Adds a buffer to the list that is posted next.
void Receives::append(Queue& queue, Buffer* buffer) {
  ++queue.posted;
  if (queue.pair != nullptr) {
    queue.buffers.push_back(buffer);
  }
  ibv_sge& piece = pieces_[recycled_];
  piece.addr = reinterpret_cast<std::uintptr_t>(buffer->data);
  piece.length = kPacketBytes;
  piece.lkey = buffer->lkey;
  ibv_recv_wr& receive = receives_[recycled_];
  receive.wr_id = reinterpret_cast<std::uintptr_t>(buffer) | kReceiveBit;
  receive.sg_list = &piece;
  receive.num_sge = 1;
  receive.next = nullptr;
  if (recycled_ != 0) {
    receives_[recycled_ - 1].next = &receive;
  }
  ++recycled_;
}

/// A device without shared queues tells the queue by the queue pair.
void Receives::recycle(Buffer* buffer, const ibv_wc& completion) noexcept {
  Queue* queue = queue_of(completion.qp_num);
  // A failed queue pair would only flush the buffer again, and buffers of a
  // dropped one may belong to another by now.
  if (queue == nullptr ||
      (queue->pair != nullptr && completion.status != IBV_WC_SUCCESS)) {
    return;
  }
  --queue->posted;
  if (queue->pair != nullptr) {
    std::erase(queue->buffers, buffer);
  }
  if (queue->posted >= wanted(*queue)) {
    buffers_.release(buffer);
    return;
  }
  if (recycled_ == kBatch || queue->pair != recycled_to_) {
    is_broken_ = !post(recycled_to_) || is_broken_;
  }
  recycled_to_ = queue->pair;
  append(*queue, buffer);
}

bool Receives::post_recycled() noexcept {
  return post(recycled_to_) && !is_broken_;
}

/// Posts the list of receives; `pair` null: to the shared queue.
bool Receives::post(ibv_qp* pair) noexcept {
  if (recycled_ == 0) {
    return true;
  }
  recycled_ = 0;
  ibv_recv_wr* bad = nullptr;
  const int error =
      pair == nullptr ? ibv_post_srq_recv(shared_.get(), receives_.data(), &bad)
                      : ibv_post_recv(pair, receives_.data(), &bad);
  if (error != 0) {
    log_error("verbs: posting receives to {}: {}",
              ibv_get_device_name(domain_.context->device), errno_text(error));
  }
  return error == 0;
}

}  // namespace acp::verbs
