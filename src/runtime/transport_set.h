// The transports of this process: one to ranks of this host, and one or two to
// all others. Finds the transport to a peer, and hands messages to agent and
// engine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "agent/agent.h"
#include "gma/endpoints.h"
#include "gma/engine.h"
#include "protocol/host_segment.h"
#include "runtime/rdma_peers.h"
#include "transport/transport.h"

namespace acp::runtime {

/// Guarded by the engine's mutex, except for functions marked "any thread" and
/// for has_net(), net(), rdma() and descriptors(). The results of these four
/// are fixed once the transports are set.
class TransportSet final : public gma::Endpoints,
                           public gma::Transports,
                           private transport::MessageSink,
                           public agent::Surroundings {
 public:
  explicit TransportSet(const protocol::HostSegment& segment);

  /// `host` leads to ranks of this host, `net` to all others; either may be
  /// null. Before attach().
  void set_host_transport(std::unique_ptr<transport::Transport> transport);
  void set_net_transport(std::unique_ptr<transport::Transport> transport);
  /// `rdma` leads to those of `peers` that `host` does not lead to, in place of
  /// `net`. Before attach().
  void set_rdma_transport(std::unique_ptr<transport::Transport> transport,
                          std::shared_ptr<const RdmaPeers> peers);
  /// Sets the receivers of messages and events. While a thread sleeps in epoll,
  /// `on_deadline` gets next_deadline() when it may have changed; `end_job`
  /// ends the job when a peer is lost. Before the first poll().
  void attach(gma::Engine& engine,
              agent::Agent& agent,
              std::function<void(TimePoint)> on_deadline,
              std::function<void(std::string_view)> end_job);

  Result<gma::PeerEndpoint> endpoint_of(gmm::Rank rank,
                                        gmm::Color color) override;
  gma::Arrivals poll() override;
  void flush() override;
  void flush_idle() override;
  void wake_for_deadline() override;
  Result<transport::Endpoint*> endpoint(transport::ProcId proc,
                                        transport::Color color) override;
  void start_copy(transport::ProcId proc,
                  transport::Color color,
                  std::uint64_t id,
                  const protocol::Step& copy) override;

  /// Each calls the function of this name of all transports.
  void on_registered(const transport::Region& region);
  bool on_unregistered(std::uint32_t key, std::uint64_t state);
  void forget_regions();

  /// Descriptors to sleep on.
  std::vector<int> descriptors() const;
  TimePoint next_deadline() const;
  /// False: messages have arrived, so poll instead of sleeping.
  bool arm();
  void disarm();

  /// The transport that leads to a process; null: none does. Any thread.
  transport::Transport* transport_to(transport::ProcId proc) const;

  bool has_net() const noexcept { return net_ != nullptr; }

  transport::Transport* net() const noexcept { return net_.get(); }

  /// Null in most jobs: `net` leads to all other hosts.
  transport::Transport* rdma() const noexcept { return rdma_.get(); }

  /// Gives up a rank of this host, as a transport does with a peer: logs it and
  /// ends the job. Under the engine's mutex.
  void lose_neighbor(transport::ProcId proc, std::string_view why) {
    on_peer_failed(proc, why);
  }

  /// A peer that a transport has given up on, or kNoSlot. Any thread.
  std::uint32_t dead_proc() const noexcept {
    return dead_proc_.load(std::memory_order_acquire);
  }

 private:
  void on_message(transport::ProcId from,
                  transport::Color color,
                  std::span<const std::byte> bytes) override;
  void on_posted_done(std::uint64_t token) override;
  void on_peer_failed(transport::ProcId peer, std::string_view why) override;
  void list_all();

  const protocol::HostSegment& segment_;
  std::unique_ptr<transport::Transport> host_;
  std::unique_ptr<transport::Transport> rdma_;
  std::shared_ptr<const RdmaPeers> rdma_peers_;  ///< Set together with rdma_.
  std::unique_ptr<transport::Transport> net_;
  /// The transports that exist; each operation asks all of them. Written by
  /// list_all() before the first poll().
  std::vector<transport::Transport*> all_;
  gma::Engine* engine_ = nullptr;
  agent::Agent* agent_ = nullptr;
  std::function<void(TimePoint)> on_deadline_;
  /// A thread sleeps in epoll, or is about to. Written by arm() and disarm(),
  /// guarded by the engine's mutex.
  bool is_armed_ = false;
  std::function<void(std::string_view)> end_job_;
  /// Written by on_peer_failed() with release order. Any thread reads it, with
  /// acquire order.
  std::atomic<std::uint32_t> dead_proc_{protocol::kNoSlot};
};

}  // namespace acp::runtime
