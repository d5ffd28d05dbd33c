// The watching thread, and the phases of the ranks of a host. Called by the
// bootstrap under other launchers than acprun. The thread calls nothing of the
// transports or the engine, so it works while a rank computes or hangs.
#include "runtime/host_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/number_list.h"
#include "base/thread.h"
#include "protocol/job_ending.h"
#include "runtime/bootstrap_socket.h"
#include "runtime/mpi_presence.h"

namespace acp::runtime {

namespace {

using protocol::BootstrapType;
using protocol::Phase;

/// Descriptors in front of those of the peers, which have two each.
constexpr std::size_t kStopEntry = 0;
// Entry 1 is the event of the end, which only wakes the thread.
constexpr std::size_t kLauncherEntry = 2;
constexpr std::size_t kFirstPeerEntry = 3;

const char* name_of_phase(Phase phase) {
  switch (phase) {
    case Phase::kNetwork:
    case Phase::kInit: return "acp_init";
    case Phase::kCollective: return "acp_reset";
    case Phase::kFinalize: return "acp_finalize";
  }
  return "a phase that this version does not know";
}

void signal_event(const UniqueFd& event) noexcept {
  const std::uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof one);
}

/// TimePoint::max() means no limit; wait_until() would overflow on it.
template <typename Condition>
bool wait_until(std::condition_variable& changed,
                std::unique_lock<std::mutex>& lock,
                TimePoint limit,
                Condition is_true) {
  if (limit == TimePoint::max()) {
    changed.wait(lock, is_true);
    return true;
  }
  return changed.wait_until(lock, limit, is_true);
}

}  // namespace

HostWatch::HostWatch(HostRole role,
                     std::vector<HostPeer> peers,
                     const protocol::HostSegment& segment,
                     ProcessManager& manager,
                     HostLinks* links)
    : role_(role),
      segment_(segment),
      manager_(manager),
      links_(links),
      peers_(std::move(peers)),
      is_lost_(peers_.size(), false),
      arrived_(peers_.size()) {}

HostWatch::~HostWatch() {
  if (thread_.joinable()) {
    signal_event(stop_event_);
    thread_.join();
  }
}

Status HostWatch::start() {
  stop_event_.reset(::eventfd(0, EFD_CLOEXEC));
  end_event_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_event_ || !end_event_) {
    log_error("eventfd: {}", errno_text(errno));
    return Status::kSystem;
  }
  auto thread = start_thread("the thread that watches the ranks of this host",
                             [this] { run(); });
  if (!thread.ok()) {
    return thread.status();
  }
  thread_ = std::move(*thread);
  return Status::kOk;
}

// --- phases ------------------------------------------------------------------

/// Ranks that wait in different phases would wait for each other for ever, so
/// the job ends.
Status HostWatch::wait_for_ranks(Phase phase, TimePoint limit) {
  std::unique_lock lock(mutex_);
  const auto is_elsewhere = [phase](const std::optional<Phase>& one) {
    return one && *one != phase;
  };
  const bool is_met = wait_until(changed_, lock, limit, [&] {
    return end_ || std::ranges::any_of(arrived_, is_elsewhere) ||
           std::ranges::all_of(arrived_,
                               [](const auto& one) { return one.has_value(); });
  });
  if (end_) {
    lock.unlock();
    return log_end();
  }
  if (!is_met) {
    std::vector<std::uint32_t> missing;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (!arrived_[i]) {
        missing.push_back(peers_[i].rank);
      }
    }
    log_error("rank {} of this host did not come to the end of {} in time",
              describe_numbers(missing), name_of_phase(phase));
    return Status::kTimedOut;
  }
  const auto other = std::ranges::find_if(arrived_, is_elsewhere);
  if (other != arrived_.end()) {
    const std::size_t peer = static_cast<std::size_t>(other - arrived_.begin());
    const std::string text = fmt::format(
        "rank {} waits in {}, and this rank in {}", peers_[peer].rank,
        name_of_phase(**other), name_of_phase(phase));
    lock.unlock();
    abort(1, text);
    return log_end();
  }
  return Status::kOk;
}

/// Deaths stop to matter before the first rank can leave.
void HostWatch::go(Phase phase) {
  {
    const std::lock_guard lock(mutex_);
    arrived_.assign(peers_.size(), std::nullopt);
    is_calm_ = is_calm_ || phase == Phase::kFinalize;
  }
  if (phase == Phase::kFinalize && links_ != nullptr) {
    links_->say_goodbye();
  }
  for (const HostPeer& peer : peers_) {
    // The thread notices when a peer is gone.
    (void)send_message(
        peer.socket.get(),
        {BootstrapType::kGo, static_cast<std::uint64_t>(phase), {}});
  }
}

void HostWatch::arrive(Phase phase) {
  (void)send_message(
      peers_.front().socket.get(),
      {BootstrapType::kArrive, static_cast<std::uint64_t>(phase), {}});
}

Status HostWatch::wait_for_go(Phase phase, TimePoint limit) {
  std::unique_lock lock(mutex_);
  const bool is_met =
      wait_until(changed_, lock, limit, [&] { return end_ || gone_; });
  if (gone_ == phase) {
    gone_.reset();
    return Status::kOk;
  }
  lock.unlock();
  if (!is_met) {
    log_error("rank {}, the first of this host, does not let {} go on in time",
              peers_.front().rank, name_of_phase(phase));
    return Status::kTimedOut;
  }
  return log_end();
}

// --- the end of the job ------------------------------------------------------

Status HostWatch::log_end() {
  const std::lock_guard lock(mutex_);
  log_error("the job ends: {}",
            reason_.empty() ? "another rank of this host says so" : reason_);
  return Status::kAborted;
}

/// After Phase::kFinalize a transport may notice that ranks have left, and that
/// ends no job. The launcher comes first: a rank that hears of the end may
/// exit, and then the launcher takes the job's status from that rank.
void HostWatch::abort(int exit_status, std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    if (is_calm_ && !protocol::is_ending(segment_)) {
      return;
    }
  }
  manager_.abort(exit_status, text);
  (void)begin_end(EndCause::kOrdered, std::string(text));
  if (protocol::is_ending(segment_)) {
    pass_on(text);
  }
}

/// True: this call has begun the end of the job in this process. The rank that
/// sets the end in the host segment writes the line for the host; after
/// acp_abort there is a line already.
bool HostWatch::begin_end(EndCause cause, std::string text) {
  {
    const std::lock_guard lock(mutex_);
    if (end_ || is_calm_) {
      return false;
    }
    end_.emplace(cause, SteadyClock().now());
    reason_ = text;
  }
  if (protocol::end_job(segment_) && cause != EndCause::kOrdered) {
    log_error("{}: the job ends", text);
  }
  signal_event(end_event_);
  changed_.notify_all();
  return true;
}

/// A member tells the leader, the leader everybody. A rank that knows already
/// ignores it.
void HostWatch::pass_on(std::string_view text) {
  const BootstrapType type = role_ == HostRole::kLeader ? BootstrapType::kEnding
                                                        : BootstrapType::kAbort;
  for (const HostPeer& peer : peers_) {
    (void)send_message(peer.socket.get(), {type, 0, std::string(text)});
  }
}

/// SIGTERM goes to the whole process, so that a handler of the program runs in
/// one of its own threads.
void HostWatch::take_step(EndStep step, TimePoint now) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    end_->take(now);
    reason = reason_;
  }
  switch (step) {
    case EndStep::kAbortJob: manager_.abort(1, reason); break;
    case EndStep::kTerminate: ::kill(::getpid(), SIGTERM); break;
    case EndStep::kKill: ::kill(::getpid(), SIGKILL); break;
  }
}

// --- the thread --------------------------------------------------------------

/// One turn is a poll and what it found. The time-out of the poll is the next
/// step that ends this process, if the job ends.
void HostWatch::run() {
  for (;;) {
    TimePoint due = TimePoint::max();
    EndStep step = EndStep::kKill;
    {
      const std::lock_guard lock(mutex_);
      if (end_) {
        due = end_->due();
        step = end_->next();
      }
    }
    const TimePoint now = SteadyClock().now();
    if (now >= due) {
      take_step(step, now);
      continue;
    }
    poll_all(due);
    if ((ready_[kStopEntry].revents & POLLIN) != 0) {
      return;
    }
    if (ready_[kLauncherEntry].revents != 0) {
      lose_launcher();
    }
    look_at_peers();
    look_at_hosts();
  }
}

/// A descriptor that says no more is left out: it would end each poll at once.
void HostWatch::poll_all(TimePoint due) {
  bool is_ending = false;
  bool watches_launcher = !ignores_launcher_;
  {
    const std::lock_guard lock(mutex_);
    is_ending = end_.has_value();
    watches_launcher = watches_launcher && !is_ending && !is_calm_;
  }
  const DeathWatch launcher = manager_.death_watch();
  ready_.clear();
  ready_.push_back({stop_event_.get(), POLLIN, 0});
  ready_.push_back({is_ending ? -1 : end_event_.get(), POLLIN, 0});
  ready_.push_back({watches_launcher ? launcher.fd : -1, launcher.events, 0});
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const HostPeer& peer = peers_[i];
    ready_.push_back({is_lost_[i] ? -1 : peer.socket.get(), POLLIN, 0});
    ready_.push_back({is_lost_[i] ? -1 : peer.life.get(), POLLIN, 0});
  }
  if (links_ != nullptr) {
    links_->add_to(ready_);
  }
  const WaitLimit limit{due, -1, 0};
  if (::poll(ready_.data(), ready_.size(), limit.poll_timeout_ms()) <= 0) {
    for (pollfd& one : ready_) {
      one.revents = 0;
    }
  }
}

/// Messages come before deaths: a rank may have sent some before it died.
void HostWatch::look_at_peers() {
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    const std::size_t entry = kFirstPeerEntry + 2 * peer;
    if (ready_[entry].revents != 0 || ready_[entry + 1].revents != 0) {
      receive_from(peer);
    }
    if (ready_[entry + 1].revents != 0) {
      lose(peer);
    }
  }
}

void HostWatch::receive_from(std::size_t peer) {
  while (!is_lost_[peer]) {
    const ReceivedMessage received =
        receive_message(peers_[peer].socket.get(), Waiting::kNever);
    switch (received.kind) {
      case ReceivedMessage::Kind::kNothing: return;
      case ReceivedMessage::Kind::kMessage: take(peer, received.message); break;
      case ReceivedMessage::Kind::kClosed: lose(peer); return;
      case ReceivedMessage::Kind::kNonsense:
        log_error("{} sent {} bytes that make no message", name_of(peer),
                  received.bytes);
        lose(peer);
        return;
    }
  }
}

/// Waiting threads look at the phases after changed_ is notified. An order to
/// end is passed on only when it has begun the end here, so no member gets it
/// twice.
void HostWatch::take(std::size_t peer,
                     const protocol::BootstrapMessage& message) {
  const auto phase = static_cast<Phase>(message.value);
  switch (message.type) {
    case BootstrapType::kArrive: {
      const std::lock_guard lock(mutex_);
      arrived_[peer] = phase;
      break;
    }
    case BootstrapType::kGo: {
      const std::lock_guard lock(mutex_);
      gone_ = phase;
      is_calm_ = is_calm_ || phase == Phase::kFinalize;
      break;
    }
    case BootstrapType::kAbort:
    case BootstrapType::kEnding:
      if (begin_end(EndCause::kOrdered, message.text) &&
          role_ == HostRole::kLeader) {
        pass_on(message.text);
      }
      break;
    default: break;
  }
  changed_.notify_all();
}

std::string HostWatch::name_of(std::size_t peer) const {
  return fmt::format("rank {} (pid {})", peers_[peer].rank,
                     peers_[peer].process);
}

void HostWatch::lose(std::size_t peer) {
  if (is_lost_[peer]) {
    return;
  }
  is_lost_[peer] = true;
  const std::string text =
      name_of(peer) + " of this host has ended without acp_finalize";
  if (begin_end(EndCause::kRankLost, text)) {
    pass_on(text);
  }
}

/// PMI closes its connection after MPI_Finalize, which is no death. The
/// connection tells of deaths only where the kernel has no process descriptors.
void HostWatch::lose_launcher() {
  ignores_launcher_ = true;
  if (manager_.death_watch().events == POLLRDHUP &&
      mpi_presence() != MpiPresence::kAbsent) {
    return;
  }
  (void)begin_end(EndCause::kLauncherLost,
                  "the launcher's process on this host is gone");
}

void HostWatch::look_at_hosts() {
  const auto lost = links_ == nullptr ? std::nullopt : links_->look();
  if (lost) {
    const std::string text =
        fmt::format("the host of rank {} has lost a rank, or is gone", *lost);
    if (begin_end(EndCause::kRankLost, text)) {
      pass_on(text);
    }
  }
}

}  // namespace acp::runtime
