// acprun's side of the bootstrap: a socket per rank, the host segment, and
// the roll-call that decides what is answered.
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

/// Used by one thread.
class BootstrapServer {
 public:
  using OnFailure = std::function<void(Verdict)>;

  /// Makes segment and sockets; kSystem or kNoMemory, logged.
  [[nodiscard]] Status open(const protocol::HostPlan& plan);

  /// The ranks' ends of the sockets, for the keeper; close them afterwards.
  std::span<const UniqueFd> rank_ends() const { return rank_ends_; }

  void close_rank_ends() { rank_ends_.clear(); }

  /// Answers ranks from now on. Failures are reported, and answered no more.
  [[nodiscard]] Status serve(EventLoop& loop, OnFailure on_failure);

  /// Reads what every rank has sent so far: it was sent before whatever the
  /// caller has just learnt, a rank's death for example.
  void catch_up();

  Rollcall& rollcall() { return rollcall_; }

  const protocol::HostSegment& segment() const { return segment_; }

  /// Ends the job for those inside: the segment's state, its sleepers, and
  /// the ranks that listen.
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
  std::vector<UniqueFd> sockets_;
  std::vector<UniqueFd> rank_ends_;
  Rollcall rollcall_{0};
  EventLoop* loop_ = nullptr;
  OnFailure on_failure_;
  bool is_ending_ = false;
};

}  // namespace acp::launcher
