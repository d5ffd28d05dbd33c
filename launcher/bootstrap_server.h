// acprun's side of the bootstrap. It owns a socket per rank and the host
// segment; the roll-call decides what each rank is answered.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "launcher/rollcall.h"
#include "launcher/waits.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone reads and writes all
/// fields.
class BootstrapServer {
 public:
  using OnFailure = std::function<void(Verdict)>;

  /// Makes the host segment and the sockets. Fails with kSystem or kNoMemory,
  /// logged.
  [[nodiscard]] Status open(const protocol::HostPlan& plan);

  /// The sockets' other ends, by rank. The keeper gives them to the ranks; the
  /// caller then closes acprun's copies.
  std::span<const UniqueFd> rank_ends() const { return rank_ends_; }

  void close_rank_ends() { rank_ends_.clear(); }

  /// Answers ranks from now on. A rank that breaks the protocol is reported to
  /// `on_failure` and gets no answer.
  [[nodiscard]] Status serve(EventLoop& loop, OnFailure on_failure);

  /// Reads all messages that ranks have sent so far. A caller that has learnt
  /// of a rank's death calls this first, because the rank sent them before.
  void catch_up();

  Rollcall& rollcall() { return rollcall_; }

  const protocol::HostSegment& segment() const { return segment_; }

  /// Tells the ranks that the job ends: sets the state in the host segment,
  /// wakes its sleepers, and sends Ending to every rank that has said Hello.
  void announce_ending(std::string_view why);

 private:
  void receive_all(std::uint32_t rank);
  void answer(std::uint32_t rank, const Answer& answer);
  void send(std::uint32_t rank,
            const protocol::BootstrapMessage& message,
            int attached_fd = -1);
  void wake_sleepers();

  UniqueFd segment_fd_;
  protocol::HostSegment segment_;
  std::vector<UniqueFd> sockets_;  ///< By rank; empty once the rank closed.
  std::vector<UniqueFd> rank_ends_;
  Rollcall rollcall_{0};
  EventLoop* loop_ = nullptr;  ///< Set by serve(), as is the next.
  OnFailure on_failure_;
  bool is_ending_ = false;  ///< Set once, by announce_ending().
};

}  // namespace acp::launcher
