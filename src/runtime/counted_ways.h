// Which way a step of this rank goes, for the counters: the way that
// gma/route.h chooses, by the name of the transport that it takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "gma/engine.h"
#include "gma/operation.h"
#include "gmm/address_space.h"
#include "protocol/counters.h"
#include "protocol/host_segment.h"
#include "runtime/transport_set.h"

namespace acp::runtime {

/// Thread-safe.
class CountedWays {
 public:
  /// The arguments must outlive this.
  CountedWays(const protocol::HostSegment& segment,
              const gmm::AddressSpace& space,
              gma::Engine& engine,
              TransportSet& transports);

  /// The way of a step that is an operation by itself. Precondition: the engine
  /// has accepted it, so its ranks exist.
  protocol::CountedWay of_step(const gma::Step& step);

  /// The way of all steps of a chain. They go together: if one of them leaves
  /// this process, all do. Precondition: as for of_step().
  protocol::CountedWay of_chain(std::span<const gma::Step> steps);

  /// The way of messages to a rank.
  protocol::CountedWay of_messages(gmm::Rank rank);

 private:
  enum class CrossMemory : std::uint8_t { kUnknown, kWorks, kRefused };

  protocol::CountedWay of_transport_to(gmm::Rank rank) const;
  protocol::CountedWay of_device() const;
  protocol::CountedWay of_word(const gma::Step& word) const;
  bool has_cross_memory(gmm::Rank rank);

  const protocol::HostSegment& segment_;
  const gmm::AddressSpace& space_;
  gma::Engine& engine_;
  TransportSet& transports_;
  /// By slot. Two first callers may both ask the endpoint, and learn the same.
  std::unique_ptr<std::atomic<CrossMemory>[]> cross_memory_;
};

}  // namespace acp::runtime
