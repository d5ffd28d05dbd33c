// Serves acp_top over a Unix socket. All viewers of a job share its looks, and
// none of them can slow or end the job.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "launcher/write_queue.h"
#include "protocol/job_view.h"
#include "protocol/view_socket.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields. No
/// call blocks.
///
///   viewer          ViewServer                        Job
///     │── 'R' ─────────▶│  is_look_due() ────────────▶│ looks at all ranks
///     │◀── the view ────│◀──── answer(view) ──────────│
///
/// A viewer is dropped when it sends another byte than a request, or a request
/// before it has its answer, or when it does not read for kPatience.
class ViewServer {
 public:
  using Clock = std::chrono::steady_clock;

  /// After acprun has worked for viewers, no look for them begins for this
  /// time, nor for kRest times the time of that work.
  static constexpr std::chrono::milliseconds kLeastPause{250};
  static constexpr int kRest = 50;
  /// Looks of all hosts are there in this time, or the answer does without.
  static constexpr std::chrono::milliseconds kLookLimit{1000};
  static constexpr std::chrono::milliseconds kPatience{5000};
  static constexpr std::size_t kMostViewers = 16;

  /// `job` gives the view without ranks. The arguments must outlive this.
  ViewServer(EventLoop& loop, std::function<protocol::JobView()> job)
      : loop_(loop), job_(std::move(job)) {}

  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;
  ~ViewServer();

  /// Listens in the first of the folders that will do. A failure is a message
  /// of level debug: the job runs without viewers then.
  void open(std::span<const std::string> folders);

  /// Whether a viewer waits for a look, none is under way, and enough time has
  /// passed since the last one.
  bool is_look_due(Clock::time_point now) const;

  /// A look of all hosts has begun. It took acprun the time from `begin` to
  /// `end`, and is under way until answer().
  void note_look(Clock::time_point begin, Clock::time_point end);

  /// acprun has worked for viewers from `begin` to `end`. The next look waits.
  void rest_after(Clock::time_point begin, Clock::time_point end);

  /// Whether a viewer has waited too long for a host. The caller answers with
  /// the looks that are there.
  bool is_answer_overdue(Clock::time_point now) const {
    return now >= answer_by_;
  }

  bool has_viewers() const noexcept { return !viewers_.empty(); }

  /// Whether a viewer waits for a view of the ranks.
  bool is_asked() const;

  /// Sends the view to all viewers that wait for one.
  void answer(const protocol::JobView& view);

  /// Sends the last view to every viewer, and to each that asks from now on.
  void finish(const protocol::JobView& view);

  /// Drops viewers that do not read. Call it after every event and at the time
  /// next().
  void check(Clock::time_point now);

  Clock::time_point next() const;

 private:
  struct Viewer {
    UniqueFd socket;
    bool wants_ranks = false;  ///< It has asked, and has no answer yet.
    WriteQueue queue;
    Clock::time_point drop_at = Clock::time_point::max();
  };

  void accept();
  void read_from(int fd);
  bool take_request(Viewer& viewer, char request);
  void send(Viewer& viewer, SharedBytes view);
  void flush(int fd);
  void drop(int fd);

  EventLoop& loop_;
  const std::function<protocol::JobView()> job_;
  std::optional<protocol::ViewListener> listener_;
  std::map<int, Viewer> viewers_;  ///< By descriptor.
  Clock::time_point next_look_{};
  /// Time of is_answer_overdue(); max() while no look is under way.
  Clock::time_point answer_by_ = Clock::time_point::max();
  SharedBytes last_;  ///< The view of finish(); null before.
};

}  // namespace acp::launcher
