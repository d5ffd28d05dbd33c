// The bootstrap of one host's ranks: a socket for each, and the host segment.
// The roll-call, which may be on another host, decides what a rank is answered.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"
#include "status/result.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone reads and writes all
/// fields.
class BootstrapServer {
 public:
  /// A message of the rank in this slot; nullopt: bytes that make no sense.
  using OnMessage = std::function<void(
      std::uint32_t slot, std::optional<protocol::BootstrapMessage>)>;

  /// Makes the host segment and the sockets. Fails with kSystem or kNoMemory,
  /// logged.
  [[nodiscard]] Status open(const protocol::HostPlan& plan);

  /// The sockets' other ends, by slot. The keeper gives them to the ranks; the
  /// caller then closes its own copies.
  std::span<const UniqueFd> rank_ends() const { return rank_ends_; }

  void close_rank_ends() { rank_ends_.clear(); }

  /// Reads messages from now on. Messages that come after tell_ending() are
  /// dropped.
  [[nodiscard]] Status serve(EventLoop& loop, OnMessage on_message);

  /// Reads all messages that ranks have sent so far. A caller that has learnt
  /// of a rank's death calls this first, because the rank sent them before.
  void catch_up();

  /// Gives the rank in this slot its number and the host segment.
  void welcome(std::uint32_t slot);
  /// Gives the rank in this slot the address card that it has asked for. One
  /// that is too long for the segment counts as none.
  void give_card(std::uint32_t slot, std::string_view card);
  /// Tells every rank that all have arrived at this phase.
  void go(protocol::Phase phase);

  const protocol::HostSegment& segment() const { return segment_; }

  /// Tells the ranks that the job ends. Sets the state in the host segment,
  /// wakes its sleepers, and sends Ending to every rank that has said Hello.
  void tell_ending(std::string_view why);

 private:
  void receive_all(std::uint32_t slot);
  void close(std::uint32_t slot);
  void send(std::uint32_t slot,
            const protocol::BootstrapMessage& message,
            int attached_fd = -1);

  UniqueFd segment_fd_;
  protocol::HostSegment segment_;
  std::vector<UniqueFd> sockets_;  ///< By slot; empty once the rank closed.
  std::vector<UniqueFd> rank_ends_;
  std::vector<bool> has_greeted_;  ///< By slot: the rank has said Hello.
  EventLoop* loop_ = nullptr;      ///< Set by serve(), as is the next.
  OnMessage on_message_;
  bool is_ending_ = false;  ///< Set once, by tell_ending().
};

}  // namespace acp::launcher
