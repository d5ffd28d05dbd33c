// Posting and recycling the receive buffers of a device. Called by Device and
// by VerbsTransport.
#include "verbs/receives.h"

#include <algorithm>
#include <cerrno>

#include "base/assert.h"
#include "base/log.h"
#include "verbs/packet.h"

namespace acp::verbs {

namespace {

/// Buffers are allocated in this number.
constexpr std::size_t kChunk = 64;

/// Marks ids of receives: a failed completion does not tell its kind.
constexpr std::uint64_t kReceiveTag = 1;

bool is_missing(int error) noexcept {
  return error == EOPNOTSUPP || error == ENOSYS;
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

void Receives::describe(ibv_qp_init_attr& wanted) const noexcept {
  wanted.srq = shared_.get();
  wanted.cap.max_recv_wr = shared_ == nullptr ? max_buffers_ : 0;
  wanted.cap.max_recv_sge = shared_ == nullptr ? 1 : 0;
}

Status Receives::add(ibv_qp& pair) {
  ACP_ASSERT(recycled_ == 0);
  if (shared_ == nullptr) {
    return fill(pair);
  }
  ++connections_;
  const Status status = grow_shared();
  connections_ -= status == Status::kOk ? 0 : 1;
  return status;
}

void Receives::drop(const ibv_qp& pair) {
  if (shared_ != nullptr) {
    --connections_;
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

/// Grows to a buffer for every packet that all connections can bring at once.
Status Receives::grow_shared() {
  const std::uint32_t wanted =
      std::min(max_buffers_, connections_ * kReceivesPerConnection);
  while (buffers_.size() < wanted) {
    const std::size_t count =
        std::min<std::size_t>(kChunk, max_buffers_ - buffers_.size());
    if (const Status status = buffers_.grow(count); status != Status::kOk) {
      return status;
    }
    for (std::size_t i = 0; i < count; ++i) {
      append(buffers_.acquire());
      if (recycled_ == kBatch && !post(nullptr)) {
        return Status::kSystem;
      }
    }
    if (!post(nullptr)) {
      return Status::kSystem;
    }
  }
  return Status::kOk;
}

/// Gives a queue pair its own buffers. On failure all of them are taken back.
Status Receives::fill(ibv_qp& pair) {
  Pair own{.pair = &pair, .buffers = {}};
  Status status = Status::kOk;
  while (own.buffers.size() < max_buffers_ && status == Status::kOk) {
    Buffer* buffer = buffers_.acquire();
    if (buffer == nullptr) {
      status = buffers_.grow(kChunk);
      continue;
    }
    own.buffers.push_back(buffer);
    append(buffer);
    if ((recycled_ == kBatch || own.buffers.size() == max_buffers_) &&
        !post(&pair)) {
      status = Status::kSystem;
    }
  }
  recycled_ = 0;
  pairs_[pair.qp_num] = std::move(own);
  if (status != Status::kOk) {
    drop(pair);
  }
  return status;
}

void Receives::append(Buffer* buffer) noexcept {
  ibv_sge& piece = pieces_[recycled_];
  piece.addr = reinterpret_cast<std::uintptr_t>(buffer->data);
  piece.length = kPacketBytes;
  piece.lkey = buffer->lkey;
  ibv_recv_wr& receive = receives_[recycled_];
  receive.wr_id = reinterpret_cast<std::uintptr_t>(buffer) | kReceiveTag;
  receive.sg_list = &piece;
  receive.num_sge = 1;
  receive.next = nullptr;
  if (recycled_ != 0) {
    receives_[recycled_ - 1].next = &receive;
  }
  ++recycled_;
}

void Receives::recycle(Buffer* buffer, const ibv_wc& completion) noexcept {
  ibv_qp* pair = nullptr;
  if (shared_ == nullptr) {
    const auto found = pairs_.find(completion.qp_num);
    // A failed queue pair would only flush the buffer again, and buffers of a
    // dropped one may belong to another by now.
    if (found == pairs_.end() || completion.status != IBV_WC_SUCCESS) {
      return;
    }
    pair = found->second.pair;
  }
  if (recycled_ == kBatch || pair != recycled_to_) {
    is_broken_ = !post(recycled_to_) || is_broken_;
  }
  recycled_to_ = pair;
  append(buffer);
}

bool Receives::post_recycled() noexcept {
  return post(recycled_to_) && !is_broken_;
}

/// Posts the chain of receives; `pair` null: to the shared queue.
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
