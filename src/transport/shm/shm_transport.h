// The transport between ranks of one host. It carries what direct loads and
// stores cannot: messages, through the receiver's command ring, and copies
// between registered memories, by the kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/host_segment.h"
#include "transport/shm/command_ring.h"
#include "transport/shm/cross_memory.h"
#include "transport/thread_waker.h"
#include "transport/transport.h"

namespace acp::shm {

class ShmTransport;

/// The endpoint of one rank of this host in one color. All colors use the same
/// ring; a message only carries the number of its color.
class ShmEndpoint final : public transport::Endpoint {
 public:
  ShmEndpoint(ShmTransport& transport,
              std::uint32_t slot,
              transport::Color color) noexcept;

  [[nodiscard]] Status send(std::span<const std::span<const std::byte>> parts,
                            transport::Ordering ordering) override;
  /// Thread-safe, unlike the other functions.
  [[nodiscard]] Status copy_cross_memory(transport::Direction direction,
                                         std::span<std::byte> local,
                                         std::uint64_t remote_address) override;

 private:
  enum class Probe : std::uint8_t { kNotYet, kGood, kBad };

  // The constructor alone writes these three.
  ShmTransport& transport_;
  std::uint32_t slot_;
  transport::Color color_;
  /// Written by the first copy_cross_memory() in any thread; two first ones may
  /// both probe, and they find the same. Relaxed.
  std::atomic<Probe> probe_{Probe::kNotYet};
};

/// One thread at a time, and the engine's mutex guards all fields. But any
/// thread may be in ShmEndpoint::copy_cross_memory(), which uses the segment,
/// cross_memory_ and the endpoint's probe_ alone.
class ShmTransport final : public transport::Transport {
 public:
  struct Options {
    std::uint32_t my_proc = 0;
    std::uint32_t my_slot = 0;
    transport::Color colors = 1;
    bool allows_cross_memory = true;
  };

  /// `segment` and `waker` must outlive this object.
  ShmTransport(const protocol::HostSegment& segment,
               transport::ThreadWaker& waker,
               const Options& options);

  std::string_view name() const noexcept override { return "shm"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  Result<transport::Endpoint*> endpoint(transport::ProcId peer,
                                        transport::Color color) override;
  std::size_t poll(transport::MessageSink& sink) override;

  void flush() override {}

  TimePoint next_deadline() const noexcept override { return TimePoint::max(); }

  /// Returns none: senders wake this process through its doorbell.
  std::span<const int> descriptors() const noexcept override { return {}; }

  bool arm() override { return ring_.is_empty(); }

  void disarm() override {}

 private:
  friend class ShmEndpoint;

  // The constructor writes these fields.
  const protocol::HostSegment& segment_;
  transport::ThreadWaker& waker_;
  Options options_;
  transport::Capabilities capabilities_;
  CommandRing ring_;  ///< The ring of this process, from which poll() takes.
  CrossMemory cross_memory_;  ///< Thread-safe; see its fields.
  /// Index: slot * colors + color. endpoint() makes each on first use.
  std::vector<std::unique_ptr<ShmEndpoint>> endpoints_;
};

}  // namespace acp::shm
