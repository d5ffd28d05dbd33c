// Names the ways of steps for the counters. Called by the public functions of a
// rank that counts, after the engine has accepted the steps. It moves nothing.
#include "runtime/counted_ways.h"

#include <algorithm>

#include "gma/route.h"

namespace acp::runtime {

using gma::Step;
using gma::Way;
using protocol::CountedWay;

CountedWays::CountedWays(const protocol::HostSegment& segment,
                         const gmm::AddressSpace& space,
                         gma::Engine& engine,
                         TransportSet& transports)
    : segment_(segment),
      space_(space),
      engine_(engine),
      transports_(transports),
      cross_memory_(std::make_unique<std::atomic<CrossMemory>[]>(
          segment.header().local_procs)) {}

CountedWay CountedWays::of_transport_to(gmm::Rank rank) const {
  const transport::Transport* to = transports_.transport_to(
      segment_.proc_of_rank()[rank].load(std::memory_order_relaxed));
  return to == nullptr ? CountedWay::kShm : protocol::way_named(to->name());
}

/// Atomics that a device executes go through the network, also to memory of
/// this rank.
CountedWay CountedWays::of_device() const {
  const transport::Transport* net =
      transports_.rdma() != nullptr ? transports_.rdma() : transports_.net();
  return net == nullptr ? CountedWay::kShm : protocol::way_named(net->name());
}

/// Asks the endpoint with a copy of no bytes, as the engine will with bytes.
bool CountedWays::has_cross_memory(gmm::Rank rank) {
  const std::uint32_t slot =
      segment_.slot_of_rank()[rank].load(std::memory_order_relaxed);
  if (slot == protocol::kNoSlot) {
    return false;
  }
  CrossMemory known = cross_memory_[slot].load(std::memory_order_relaxed);
  if (known == CrossMemory::kUnknown) {
    known = CrossMemory::kRefused;
    engine_.guarded([&] {
      const Result<gma::PeerEndpoint> peer = transports_.endpoint_of(rank, 0);
      if (peer.ok() && peer.value().endpoint->copy_cross_memory(
                           transport::Direction::kGet, {}, 0) == Status::kOk) {
        known = CrossMemory::kWorks;
      }
    });
    cross_memory_[slot].store(known, std::memory_order_relaxed);
  }
  return known == CrossMemory::kWorks;
}

CountedWay CountedWays::of_word(const Step& word) const {
  if (space_.has_device_atomics() && protocol::is_atomic(word.opcode) &&
      word.width == 8) {
    return of_device();
  }
  return of_transport_to(space_.codec().rank(word.remote));
}

CountedWay CountedWays::of_step(const Step& step) {
  const auto& codec = space_.codec();
  const gmm::Rank remote = codec.rank(step.remote);
  switch (gma::route(space_, step)) {
    case Way::kLocal: return CountedWay::kDirect;
    case Way::kOwner: return of_word(step);
    case Way::kCrossGet:
    case Way::kCrossPut:
    case Way::kBounce: {
      const gmm::Rank peer =
          remote == space_.my_rank() ? codec.rank(step.local) : remote;
      return has_cross_memory(peer) ? CountedWay::kCma : CountedWay::kShm;
    }
    default:
      return of_transport_to(remote == space_.my_rank() ? codec.rank(step.local)
                                                        : remote);
  }
}

/// A chain with a copy by the kernel among its steps goes as one message to its
/// rank if it is short enough, and step by step otherwise.
CountedWay CountedWays::of_chain(std::span<const Step> steps) {
  std::uint64_t bytes = 0;
  const Step* leaving = nullptr;
  for (const Step& step : steps) {
    bytes += protocol::is_bulk(step) ? step.size : 0;
    if (leaving == nullptr && protocol::bytes_at_remote(step) != 0 &&
        gma::route(space_, step) != Way::kLocal) {
      leaving = &step;
    }
  }
  if (leaving == nullptr) {
    return CountedWay::kDirect;
  }
  const CountedWay alone = of_step(*leaving);
  return alone == CountedWay::kCma && steps.size() > 1 &&
                 bytes <= protocol::kRingMessageBytes / 2
             ? CountedWay::kShm
             : alone;
}

CountedWay CountedWays::of_messages(gmm::Rank rank) {
  return space_.slice_of(rank) != nullptr ? CountedWay::kDirect
                                          : of_transport_to(rank);
}

}  // namespace acp::runtime
