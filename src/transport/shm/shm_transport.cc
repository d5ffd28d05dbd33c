// Messages and copies between ranks of one host. The engine calls it with its
// mutex held, except for copy_cross_memory(). It may not wait for a peer: a
// full ring refuses the message.
#include "transport/shm/shm_transport.h"

#include "base/assert.h"

namespace acp::shm {

namespace {

/// Messages handled in one poll, so that a flood does not keep the engine's
/// mutex locked.
constexpr int kMessagesPerPoll = 64;

}  // namespace

ShmEndpoint::ShmEndpoint(ShmTransport& transport,
                         std::uint32_t slot,
                         transport::Color color) noexcept
    : transport_(transport), slot_(slot), color_(color) {}

Status ShmEndpoint::send(std::span<const std::span<const std::byte>> parts,
                         transport::Ordering) {
  std::byte* slice = transport_.segment_.slice(slot_);
  CommandRing ring(slice, transport_.segment_.header());
  const Status status = ring.push(transport_.options_.my_proc, color_, parts);
  if (status == Status::kOk) {
    const auto& header = transport_.segment_.slice_header(slot_);
    // seq_cst pairs with the sleeper, which sets the bit and then looks at the
    // ring.
    if ((header.asleep.load(std::memory_order_seq_cst) &
         protocol::kThreadAsleep) != 0) {
      transport_.waker_.wake_thread(header);
    }
  }
  return status;
}

Status ShmEndpoint::copy_cross_memory(transport::Direction direction,
                                      std::span<std::byte> local,
                                      std::uint64_t remote_address) {
  const protocol::ProcRecord& peer = transport_.segment_.record(slot_);
  Probe probe = probe_.load(std::memory_order_relaxed);
  if (probe == Probe::kNotYet) {
    probe = transport_.cross_memory_.probe(peer) ? Probe::kGood : Probe::kBad;
    probe_.store(probe, std::memory_order_relaxed);
  }
  return probe == Probe::kGood ? transport_.cross_memory_.copy(
                                     peer, direction, local, remote_address)
                               : Status::kUnsupported;
}

ShmTransport::ShmTransport(const protocol::HostSegment& segment,
                           transport::ThreadWaker& waker,
                           const Options& options)
    : segment_(segment),
      waker_(waker),
      options_(options),
      ring_(segment.slice(options.my_slot), segment.header()),
      cross_memory_(segment.record(options.my_slot),
                    options.allows_cross_memory),
      endpoints_(std::size_t{segment.header().local_procs} * options.colors) {
  capabilities_.max_message = protocol::kRingMessageBytes;
  capabilities_.colors = options.colors;
}

Result<transport::Endpoint*> ShmTransport::endpoint(transport::ProcId peer,
                                                    transport::Color color) {
  if (peer >= segment_.header().procs ||
      segment_.slot_of_proc(peer) == protocol::kNoSlot) {
    return Status::kBadRank;
  }
  if (color >= options_.colors) {
    return Status::kBadColor;
  }
  const std::uint32_t slot = segment_.slot_of_proc(peer);
  std::unique_ptr<ShmEndpoint>& endpoint =
      endpoints_[std::size_t{slot} * options_.colors + color];
  if (endpoint == nullptr) {
    endpoint = std::make_unique<ShmEndpoint>(*this, slot, color);
  }
  return static_cast<transport::Endpoint*>(endpoint.get());
}

std::size_t ShmTransport::poll(transport::MessageSink& sink) {
  std::size_t handled = 0;
  RingMessage message;
  while (handled < kMessagesPerPoll && ring_.front(message)) {
    if (message.from < segment_.header().procs &&
        message.color < options_.colors) {
      sink.on_message(message.from, message.color, message.bytes);
    }
    ring_.release();
    ++handled;
  }
  return handled;
}

}  // namespace acp::shm
