#include "verbs/device.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace acp::verbs {

namespace {

constexpr std::size_t kSendBuffers = 256;
/// Receive buffers are added by so many.
constexpr std::size_t kReceiveChunk = 64;
constexpr int kFirstCompletions = 512;
/// Of connections that wait to be looked at.
constexpr int kBacklog = 1024;

/// What rxe says; the name of a device is anybody's choice.
constexpr std::uint32_t kRxeVendor = 0xffffff;

/// Tells receives from sends when a failed completion does not.
constexpr std::uint64_t kReceiveTag = 1;

Status refuse(const Port& port, const char* what) {
  log_error("verbs: {} of {}: {}", what, port.name, errno_text(errno));
  return errno == ENOMEM ? Status::kNoMemory : Status::kSystem;
}

bool set_nonblocking(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

Device::Device(Port port,
               transport::Color color,
               std::uint32_t max_receives,
               ProtectionDomain domain,
               CompletionChannel channel)
    : port_(std::move(port)),
      color_(color),
      domain_(std::move(domain)),
      channel_(std::move(channel)),
      send_buffers_(*domain_),
      receive_buffers_(*domain_),
      result_words_(*domain_),
      max_receives_(max_receives) {}

Device::~Device() {
  take_notification();  // one that was not read would hold the queue
}

Result<std::unique_ptr<Device>> Device::open(Port port,
                                             transport::Color color,
                                             std::uint32_t max_receives) {
  ibv_context* context = port.id->verbs;
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context, &attributes); error != 0) {
    errno = error;
    return refuse(port, "the limits");
  }
  ProtectionDomain domain(ibv_alloc_pd(context));
  if (domain == nullptr) {
    return refuse(port, "a protection domain");
  }
  CompletionChannel channel(ibv_create_comp_channel(context));
  if (channel == nullptr || !set_nonblocking(channel->fd) ||
      !set_nonblocking(context->async_fd)) {
    return refuse(port, "a completion channel");
  }
  std::unique_ptr<Device> device(new Device(std::move(port), color,
                                            max_receives, std::move(domain),
                                            std::move(channel)));
  Status status = device->make_queues(attributes);
  status =
      status == Status::kOk ? device->send_buffers_.grow(kSendBuffers) : status;
  status = status == Status::kOk ? device->provide_receives() : status;
  status = status == Status::kOk ? device->find_inline_bytes() : status;
  status = status == Status::kOk ? device->listen() : status;
  if (status != Status::kOk) {
    return status;
  }
  return device;
}

Status Device::make_queues(const ibv_device_attr& attributes) {
  is_rxe_ = attributes.vendor_id == kRxeVendor;
  responder_resources_ =
      static_cast<std::uint8_t>(std::clamp(attributes.max_qp_rd_atom, 0, 16));
  initiator_depth_ = static_cast<std::uint8_t>(
      std::clamp(attributes.max_qp_init_rd_atom, 0, 16));
  has_atomics_ = attributes.atomic_cap != IBV_ATOMIC_NONE &&
                 responder_resources_ != 0 && initiator_depth_ != 0;
  completion_queue_.reset(ibv_create_cq(
      domain_->context, std::clamp(kFirstCompletions, 1, attributes.max_cqe),
      nullptr, channel_.get(), 0));
  if (completion_queue_ == nullptr) {
    return refuse(port_, "a completion queue");
  }
  max_receives_ = std::min(max_receives_,
                           static_cast<std::uint32_t>(attributes.max_srq_wr));
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = max_receives_;
  wanted.attr.max_sge = 1;
  receive_queue_.reset(ibv_create_srq(domain_.get(), &wanted));
  if (receive_queue_ == nullptr) {
    return refuse(port_, "a shared receive queue");
  }
  return Status::kOk;
}

Status Device::listen() {
  if (rdma_listen(port_.id.get(), kBacklog) != 0) {
    return refuse(port_, "listening");
  }
  port_.id->context = this;
  port_.place.address.port = ntohs(rdma_get_src_port(port_.id.get()));
  return Status::kOk;
}

/// A buffer for everything that the connections may bring at a time.
Status Device::provide_receives() {
  const std::uint32_t wanted = std::min(
      max_receives_, std::max(connections_, 1U) * kReceivesPerConnection);
  while (receive_buffers_.size() < wanted) {
    const std::size_t before = receive_buffers_.size();
    const std::size_t count =
        std::min<std::size_t>(kReceiveChunk, max_receives_ - before);
    if (const Status status = receive_buffers_.grow(count);
        status != Status::kOk) {
      return status;
    }
    for (std::size_t i = 0; i < count; ++i) {
      recycle(receive_buffers_.acquire());
      if (recycled_ == receives_.size() && !post_recycled()) {
        return Status::kSystem;
      }
    }
    if (!post_recycled()) {
      return Status::kSystem;
    }
  }
  return Status::kOk;
}

/// Room for the completion of every receive and every send.
Status Device::provide_completions() {
  const auto wanted = static_cast<int>(receive_buffers_.size() +
                                       std::size_t{connections_} * kSendQueue);
  if (completion_queue_->cqe >= wanted) {
    return Status::kOk;
  }
  const int error = ibv_resize_cq(completion_queue_.get(), 2 * wanted);
  if (error != 0 && ibv_resize_cq(completion_queue_.get(), wanted) != 0) {
    log_error(
        "verbs: {}: room for {} completions of {} connections: {}; use fewer "
        "ranks, or more devices",
        name(), wanted, connections_, errno_text(error));
    return Status::kSystem;
  }
  return Status::kOk;
}

Status Device::add_connection(rdma_cm_id& id, Link& link) {
  ++connections_;
  Status status = provide_receives();
  status = status == Status::kOk ? provide_completions() : status;
  ibv_qp_init_attr wanted = queue_pair();
  if (status == Status::kOk &&
      rdma_create_qp(&id, domain_.get(), &wanted) != 0) {
    status = Status::kSystem;
  }
  if (status != Status::kOk) {
    --connections_;
    return status;
  }
  links_[id.qp->qp_num] = &link;
  return Status::kOk;
}

void Device::drop_connection(rdma_cm_id& id) noexcept {
  if (id.qp != nullptr) {
    links_.erase(id.qp->qp_num);
    rdma_destroy_qp(&id);
    --connections_;
  }
}

ibv_qp_init_attr Device::queue_pair() const noexcept {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completion_queue_.get();
  wanted.recv_cq = completion_queue_.get();
  wanted.srq = receive_queue_.get();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = kSendQueue;
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_inline_data = inline_bytes_;
  return wanted;
}

/// No query tells how many bytes a device takes inline: makes a queue pair,
/// with less and less.
Status Device::find_inline_bytes() {
  for (;;) {
    ibv_qp_init_attr wanted = queue_pair();
    const QueuePair trial(ibv_create_qp(domain_.get(), &wanted));
    if (trial != nullptr) {
      return Status::kOk;
    }
    if (inline_bytes_ == 0) {
      return refuse(port_, "a queue pair");
    }
    inline_bytes_ /= 2;
  }
}

MemoryRegion Device::register_memory(std::byte* address,
                                     std::uint64_t size) noexcept {
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  return MemoryRegion(ibv_reg_mr(domain_.get(), address, size, kAll));
}

int Device::poll() noexcept {
  if (stashed_ != 0) {
    return std::exchange(stashed_, 0);
  }
  return ibv_poll_cq(completion_queue_.get(), kBatch, completions_.data());
}

bool Device::arm() noexcept {
  if (stashed_ != 0 || ibv_req_notify_cq(completion_queue_.get(), 0) != 0) {
    return false;
  }
  // What completed before the request rings nobody.
  stashed_ = std::max(
      0, ibv_poll_cq(completion_queue_.get(), kBatch, completions_.data()));
  return stashed_ == 0;
}

void Device::take_notification() noexcept {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) {
    ibv_ack_cq_events(queue, 1);
  }
}

void Device::recycle(Buffer* buffer) noexcept {
  ibv_sge& piece = receive_pieces_[recycled_];
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

bool Device::post_recycled() noexcept {
  if (recycled_ == 0) {
    return true;
  }
  recycled_ = 0;
  ibv_recv_wr* bad = nullptr;
  const int error =
      ibv_post_srq_recv(receive_queue_.get(), receives_.data(), &bad);
  if (error != 0) {
    log_error("verbs: posting receives to {}: {}", name(), errno_text(error));
  }
  return error == 0;
}

}  // namespace acp::verbs
