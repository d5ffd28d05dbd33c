// Opening a device, the queue pairs of its connections, and registrations.
// Called by VerbsTransport, Endpoint and Regions. It makes system calls, so no
// message may come here, and a step only to register memory.
#include "verbs/device.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "verbs/lock_limit.h"

namespace acp::verbs {

namespace {

/// Send buffers when a device is opened, and most of them. With the receive
/// buffers of the start they are 256, which is 2 MiB. Each large queue pair
/// adds some, because it may have so many packets under way.
constexpr std::size_t kSendBuffersAtStart = 256 - kReceivesAtStart;
constexpr std::size_t kMostSendBuffers = 256;
constexpr std::size_t kSendBuffersForLarge = kWindow;
/// Connect requests that may wait to be accepted.
constexpr int kBacklog = 1024;

/// Vendor id of rxe. Its name proves nothing, since the user chooses it.
constexpr std::uint32_t kRxeVendor = 0xffffff;

/// Inline limit below which a put8 needs a registered word.
constexpr std::uint32_t kWordBytes = 8;

Status refuse(const Port& port, const char* what) {
  const int error = errno;
  log_error("verbs: {} of {}: {}{}", what, port.name, errno_text(error),
            error == ENOMEM ? "; " + lock_limit() : "");
  return error == ENOMEM ? Status::kNoMemory : Status::kSystem;
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
      completions_(std::move(channel)),
      receives_(*domain_, max_receives),
      send_buffers_(*domain_),
      words_(*domain_) {}

/// Listening comes last: a request may arrive at once and needs all the rest.
Result<std::unique_ptr<Device>> Device::open(Port port,
                                             transport::Color color,
                                             const DeviceLoad& load) {
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
  std::unique_ptr<Device> device(
      new Device(std::move(port), color, load.max_receives, std::move(domain),
                 std::move(channel)));
  Status status = device->make_queues(attributes, load.connections);
  status = status == Status::kOk ? device->receives_.register_first() : status;
  status = status == Status::kOk
               ? device->send_buffers_.grow(kSendBuffersAtStart)
               : status;
  status = status == Status::kOk ? device->find_inline_bytes() : status;
  status = status == Status::kOk ? device->listen() : status;
  if (status != Status::kOk) {
    return status;
  }
  return device;
}

/// Reads the device's limits, then makes the queues that depend on them.
Status Device::make_queues(const ibv_device_attr& attributes,
                           std::uint32_t connections) {
  is_rxe_ = attributes.vendor_id == kRxeVendor;
  responder_resources_ =
      static_cast<std::uint8_t>(std::clamp(attributes.max_qp_rd_atom, 0, 16));
  initiator_depth_ = static_cast<std::uint8_t>(
      std::clamp(attributes.max_qp_init_rd_atom, 0, 16));
  has_atomics_ = attributes.atomic_cap != IBV_ATOMIC_NONE &&
                 responder_resources_ != 0 && initiator_depth_ != 0;
  agrees_with_cpu_ = has_atomics_ && attributes.atomic_cap == IBV_ATOMIC_GLOB;
  if (completions_.open(*domain_->context, attributes, connections) !=
      Status::kOk) {
    return refuse(port_, "a completion queue");
  }
  return receives_.open(attributes) == Status::kOk
             ? Status::kOk
             : refuse(port_, "a shared receive queue");
}

Status Device::listen() {
  if (rdma_listen(port_.id.get(), kBacklog) != 0) {
    return refuse(port_, "listening");
  }
  port_.id->context = this;
  port_.listen_address.port = ntohs(rdma_get_src_port(port_.id.get()));
  return Status::kOk;
}

/// Completions, queue pair, receive buffers: each step is undone if a later one
/// fails, and errno tells the first failure. Send buffers come last and may be
/// missing.
Status Device::add_connection(rdma_cm_id& id,
                              Endpoint& endpoint,
                              PairSize size) {
  ibv_cq* completions = completions_.acquire(size);
  if (completions == nullptr) {
    const int error = errno;
    log_error(
        "verbs: {}: a completion queue for more than {} connections: {}; use "
        "fewer ranks, or more devices",
        name(), endpoints_.size(), errno_text(error));
    errno = error;
    return Status::kSystem;
  }
  ibv_qp_init_attr wanted = queue_pair(completions, size);
  if (rdma_create_qp(&id, domain_.get(), &wanted) != 0) {
    const int error = errno;
    completions_.release(*completions, size);
    errno = error;
    return Status::kSystem;
  }
  const Status status = receives_.add(*id.qp);
  if (status != Status::kOk) {
    rdma_destroy_qp(&id);
    completions_.release(*completions, size);
    errno = status == Status::kNoMemory ? ENOMEM : EIO;
    return status;
  }
  endpoints_[id.qp->qp_num] = {.endpoint = &endpoint, .size = size};
  if (size == PairSize::kLarge) {
    add_send_buffers();
  }
  return Status::kOk;
}

/// Without more memory the send buffers of the start remain: packets then wait
/// for buffers more often.
void Device::add_send_buffers() {
  const std::size_t missing = kMostSendBuffers - send_buffers_.size();
  if (missing != 0 && has_send_memory_) {
    has_send_memory_ =
        send_buffers_.grow(std::min(missing, kSendBuffersForLarge),
                           LogLevel::kInfo) == Status::kOk;
  }
}

void Device::drop_connection(rdma_cm_id& id) noexcept {
  if (id.qp == nullptr) {
    return;
  }
  const auto found = endpoints_.find(id.qp->qp_num);
  const PairSize size = found->second.size;
  endpoints_.erase(found);
  receives_.drop(*id.qp);
  const ibv_cq* completions = id.qp->send_cq;
  rdma_destroy_qp(&id);
  completions_.release(*completions, size);
}

ibv_qp_init_attr Device::queue_pair(ibv_cq* completions,
                                    PairSize size) const noexcept {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = completions;
  wanted.recv_cq = completions;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap.max_send_wr = send_entries(size);
  wanted.cap.max_send_sge = 1;
  wanted.cap.max_inline_data = inline_bytes(size);
  receives_.describe(wanted, size);
  return wanted;
}

/// No query tells the inline limit of a device. So this makes queue pairs with
/// smaller and smaller limits until one succeeds.
Status Device::find_inline_bytes() {
  ibv_cq* completions = completions_.acquire(PairSize::kLarge);
  for (;;) {
    ibv_qp_init_attr wanted = queue_pair(completions, PairSize::kLarge);
    const QueuePair trial(ibv_create_qp(domain_.get(), &wanted));
    if (trial != nullptr) {
      break;
    }
    if (inline_bytes_ == 0) {
      return refuse(port_, "a queue pair");
    }
    inline_bytes_ /= 2;
  }
  completions_.release(*completions, PairSize::kLarge);
  return inline_bytes_ < kWordBytes ? words_.make() : Status::kOk;
}

Status Device::make_proof_word() {
  if (const Status status = words_.make(); status != Status::kOk) {
    return status;
  }
  proof_word_ = words_.acquire();
  return Status::kOk;
}

/// libibverbs drops the flag for relaxed ordering where the kernel does not
/// know it. Where the device refuses it, memory is registered without it.
MemoryHandle Device::register_memory(std::byte* address,
                                     std::uint64_t size,
                                     LogLevel refusal) {
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if (is_relaxed_) {
    MemoryHandle relaxed{MemoryRegion(ibv_reg_mr(
        domain_.get(), address, size, kAll | IBV_ACCESS_RELAXED_ORDERING))};
    if (relaxed) {
      return relaxed;
    }
    is_relaxed_ = errno == ENOMEM;  // the lock limit is no such refusal
    if (!is_relaxed_) {
      log(LogLevel::kInfo,
          "verbs: {} refuses memory with relaxed ordering ({}); memory is "
          "registered without",
          name(), errno_text(errno));
    }
  }
  MemoryHandle made{
      MemoryRegion(ibv_reg_mr(domain_.get(), address, size, kAll))};
  if (!made) {
    log(refusal,
        "verbs: registering {} bytes at {} with {}: {}; copies to and from "
        "there go as messages, which is slower; {}",
        size, static_cast<void*>(address), name(), errno_text(errno),
        lock_limit());
  }
  return made;
}

}  // namespace acp::verbs
