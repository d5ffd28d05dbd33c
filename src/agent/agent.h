// The target's side: executes the requests of other ranks and replies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gmm/address_space.h"
#include "gmm/doorbell.h"
#include "gmm/touch.h"
#include "protocol/operation.h"
#include "transport/transport.h"

namespace acp::agent {

/// The functions that the agent calls; TransportSet implements them. Called
/// with the engine's mutex held.
class Surroundings {
 public:
  Surroundings() = default;
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  /// The endpoint of a peer, for replies.
  virtual Result<transport::Endpoint*> endpoint(transport::ProcId proc,
                                                transport::Color color) = 0;

  /// Does a copy whose source is mine, and then calls Agent::reply with these
  /// `proc`, `color` and `id`.
  virtual void start_copy(transport::ProcId proc,
                          transport::Color color,
                          std::uint64_t id,
                          const protocol::Step& copy) = 0;

 protected:
  ~Surroundings() = default;
};

/// Guarded by the engine's mutex.
class Agent {
 public:
  Agent(const gmm::AddressSpace& space,
        gmm::ThreadWaker& waker,
        Surroundings& surroundings);

  /// Executes a request, or a part of one, and replies when it is complete. A
  /// reply without results may wait for flush(), to be shared by the requests
  /// that follow. A malformed request is logged and dropped: no peer of ours
  /// sends it.
  void on_request(transport::ProcId from,
                  transport::Color color,
                  std::span<const std::byte> bytes);

  /// The reply to a delegated copy.
  void reply(transport::ProcId to,
             transport::Color color,
             std::uint64_t id,
             Status status,
             std::uint16_t failed_step = 0);

  /// Sends the shared reply, and replies that found their endpoint full.
  /// Called after each poll. True when some of the latter were sent.
  bool flush();

  bool has_backlog() const noexcept { return !backlog_.empty(); }

  /// Whether there was a signal since the last call.
  bool take_signal() noexcept { return std::exchange(has_signal_, false); }

  /// Drops the waiting replies to a lost peer, and its incomplete requests.
  void forget_peer(transport::ProcId peer);

 private:
  /// The results of a reply, until it is sent.
  struct Results {
    std::span<const std::byte> bytes{};
    bool is_region = false;  ///< They lie where a large get reads them.
  };

  /// A reply that waits for room in its endpoint. The bytes of a large get are
  /// read when there is room, so that they are copied once.
  struct Waiting {
    protocol::ReplyHeader header;
    std::vector<std::byte> results;
    std::optional<protocol::Step> get = {};  ///< A large get; no results then.
  };

  /// The replies that wait for one endpoint; never empty between calls. A large
  /// get of a peer makes thousands of them.
  struct Queue {
    transport::ProcId to;
    transport::Color color;
    std::deque<Waiting> replies;  ///< First come, first sent.
  };

  /// A request in parts, of which one has failed and the last has not come yet.
  struct Failed {
    transport::ProcId from;
    transport::Color color;
    std::uint64_t id;
    Status status;
    std::uint16_t step;  ///< Index of the put that has failed.
  };

  /// Requests of one initiator that have succeeded and have no results. They
  /// share a reply (docs/engine.md, "Shared replies").
  struct Done {
    transport::ProcId from = 0;
    transport::Color color = 0;
    std::size_t count = 0;
    std::array<std::uint64_t, protocol::kMostSharing> ids{};
  };

  /// The endpoint that was found last, since most replies go where the one
  /// before went. An endpoint lives as long as its transport.
  struct Found {
    transport::ProcId to = 0;
    transport::Color color = 0;
    transport::Endpoint* endpoint = nullptr;
  };

  void refuse(transport::ProcId from,
              transport::Color color,
              std::span<const std::byte> bytes);
  void on_part(transport::ProcId from,
               transport::Color color,
               const protocol::RequestView& part);
  void run_unanswered(transport::ProcId from,
                      const protocol::RequestView& request);
  std::optional<Failed> take_failure(transport::ProcId from,
                                     transport::Color color,
                                     std::uint64_t id);
  Result<std::byte*> open(gmm::GlobalAddress ga,
                          std::size_t size,
                          Access access) const;
  Status run_step(const protocol::Step& step, std::span<const std::byte>& data);
  void ring_if_asked(const protocol::Step& step);
  void reply_get(transport::ProcId to,
                 transport::Color color,
                 std::uint64_t id,
                 const protocol::Step& get);
  Result<std::span<const std::byte>> source_of(const protocol::Step& get) const;
  Status try_send(const Queue& queue, Waiting& waiting);
  void add_done(transport::ProcId from,
                transport::Color color,
                std::uint64_t id);
  void send_done();
  void send_reply(transport::ProcId to,
                  transport::Color color,
                  protocol::ReplyHeader header,
                  std::span<const std::byte> results);
  Queue& queue_to(transport::ProcId to, transport::Color color);
  bool send_from(Queue& queue);
  Status find_endpoint(transport::ProcId to, transport::Color color);
  Status try_send(transport::ProcId to,
                  transport::Color color,
                  protocol::ReplyHeader header,
                  Results results);

  const gmm::AddressSpace& space_;
  gmm::ThreadWaker& waker_;
  Surroundings& surroundings_;
  Found found_;                     ///< Written by find_endpoint().
  bool has_signal_ = false;         ///< Set by steps with the signal flag.
  std::vector<std::byte> results_;  ///< Results of the request under way.
  Done done_;                       ///< Empty after flush().
  std::vector<Queue> backlog_;      ///< Few: one for each full endpoint.
  std::vector<Failed> failed_;      ///< Nearly always empty.
};

}  // namespace acp::agent
