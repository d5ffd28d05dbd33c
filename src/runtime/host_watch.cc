// The watching thread, and the phases of the ranks of a host. Called by the
// bootstrap under other launchers than acprun. The thread calls nothing of the
// transports or the engine, so it works while a rank computes or hangs.
#include "runtime/host_watch.h"

#include <fmt/core.h>
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
#include "protocol/rank_names.h"
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
constexpr std::size_t kWorkEntry = 3;
constexpr std::size_t kFirstPeerEntry = 4;

/// The value of Ending and Abort between ranks of a host: a rank has written
/// the line that says why the job ends.
constexpr std::uint64_t kLineIsWritten = 1;

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

void clear_event(const UniqueFd& event) noexcept {
  std::uint64_t count = 0;
  (void)!::read(event.get(), &count, sizeof count);
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

std::vector<std::uint32_t> ranks_of(const std::vector<HostPeer>& peers) {
  std::vector<std::uint32_t> ranks;
  ranks.reserve(peers.size());
  for (const HostPeer& peer : peers) {
    ranks.push_back(peer.rank);
  }
  return ranks;
}

}  // namespace

HostWatch::HostWatch(HostRole role,
                     std::vector<HostPeer> peers,
                     const protocol::HostSegment& segment,
                     ProcessManager& manager,
                     HostConnections* connections)
    : role_(role),
      segment_(segment),
      manager_(manager),
      connections_(connections),
      peers_(std::move(peers)),
      is_lost_(peers_.size(), false),
      phases_(manager.rank(), ranks_of(peers_)) {}

HostWatch::~HostWatch() {
  if (thread_.joinable()) {
    signal_event(stop_event_);
    thread_.join();
  }
}

Status HostWatch::start() {
  stop_event_.reset(::eventfd(0, EFD_CLOEXEC));
  end_event_.reset(::eventfd(0, EFD_CLOEXEC));
  work_event_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!stop_event_ || !end_event_ || !work_event_) {
    log_error("eventfd: {}", errno_text(errno));
    return Status::kSystem;
  }
  auto thread = start_thread("the thread that watches the ranks of this host",
                             [this] { run(); });
  if (!thread) {
    return Status::kSystem;
  }
  thread_ = std::move(*thread);
  return Status::kOk;
}

// --- phases ------------------------------------------------------------------

/// Ranks that wait in different phases would wait for each other for ever, so
/// the job ends. On several hosts the judgement ends it, with one line.
Status HostWatch::wait_for_ranks(Phase phase, TimePoint limit) {
  std::unique_lock lock(mutex_);
  phases_.arrive_self(phase);
  if (phase == Phase::kCollective) {
    signal_event(work_event_);
  }
  const bool is_met = wait_until(changed_, lock, limit, [&] {
    return end_ || phases_.elsewhere(phase) || phases_.have_others_arrived();
  });
  if (end_) {
    lock.unlock();
    return log_end();
  }
  if (!is_met) {
    const std::string missing = describe_numbers(phases_.missing());
    lock.unlock();
    log_error("rank {} of this host did not come to the end of {} in time",
              missing, name_of_phase(phase));
    return Status::kTimedOut;
  }
  if (const auto other = phases_.elsewhere(phase)) {
    const std::string text =
        fmt::format("rank {} waits in {}, and this rank in {}", other->rank,
                    name_of_phase(other->phase), name_of_phase(phase));
    lock.unlock();
    if (connections_ == nullptr || !await_judgement()) {
      abort(kStatusUnlikeCalls, text);
    }
    return log_end();
  }
  is_finalizing_ = is_finalizing_ || phase == Phase::kFinalize;
  return Status::kOk;
}

/// Deaths stop to matter before the first rank can leave.
void HostWatch::go(Phase phase) {
  {
    const std::lock_guard lock(mutex_);
    phases_.go(phase);
    is_calm_ = is_calm_ || phase == Phase::kFinalize;
  }
  if (phase == Phase::kFinalize && connections_ != nullptr) {
    connections_->say_goodbye();
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

/// The line is written without the mutex. With ACP_ERRORS=abort it leads to
/// abort() in this thread, which takes the mutex.
Status HostWatch::log_end() {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    if (is_told_) {
      return Status::kAborted;
    }
    reason = reason_;
  }
  log_error("the job ends: {}",
            reason.empty() ? "another rank of this host says so" : reason);
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
/// sets the end in the host segment writes the line for the host. After
/// acp_abort and after a judgement there is a line already.
bool HostWatch::begin_end(EndCause cause, std::string text) {
  bool is_told = false;
  {
    const std::lock_guard lock(mutex_);
    if (end_ || is_calm_) {
      return false;
    }
    is_told = is_told_;
    end_.emplace(cause, SteadyClock().now());
    reason_ = text;
  }
  if (protocol::end_job(segment_) && cause != EndCause::kOrdered && !is_told) {
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
  std::uint64_t value = 0;
  {
    const std::lock_guard lock(mutex_);
    value = is_told_ ? kLineIsWritten : 0;
  }
  for (const HostPeer& peer : peers_) {
    (void)send_message(peer.socket.get(), {type, value, std::string(text)});
  }
}

/// SIGTERM goes to the whole process, so that a handler of the program runs in
/// one of its own threads.
void HostWatch::take_action(EndAction action, TimePoint now) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    end_->take(now);
    reason = reason_;
  }
  switch (action) {
    case EndAction::kAbortJob: manager_.abort(1, reason); break;
    case EndAction::kTerminate: ::kill(::getpid(), SIGTERM); break;
    case EndAction::kKill: ::kill(::getpid(), SIGKILL); break;
  }
}

// --- the thread --------------------------------------------------------------

/// One turn is a poll and what it found. The poll times out at the next action
/// that ends this process, if the job ends. Otherwise it times out at the end
/// of the job, after the loss of a host or a judgement that rank 0 has not
/// taken.
void HostWatch::run() {
  for (;;) {
    TimePoint due = TimePoint::max();
    EndAction action = EndAction::kKill;
    {
      const std::lock_guard lock(mutex_);
      if (end_) {
        due = end_->due();
        action = end_->next();
      }
    }
    const TimePoint now = SteadyClock().now();
    if (now >= due) {
      take_action(action, now);
      continue;
    }
    if (now >= reset_verdict_.due()) {
      end_stuck(reset_verdict_.take());
      continue;
    }
    if (now >= loss_due_) {
      loss_due_ = TimePoint::max();
      end_lost_host();
      continue;
    }
    poll_all(std::min({due, reset_verdict_.due(), loss_due_}));
    if ((ready_[kStopEntry].revents & POLLIN) != 0) {
      return;
    }
    if (ready_[kLauncherEntry].revents != 0) {
      lose_launcher();
    }
    if (ready_[kWorkEntry].revents != 0) {
      clear_event(work_event_);
    }
    take_absences_of_leader();
    look_at_peers();
    look_at_hosts();
    judge();
    note_silence_of_rank_0();
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
  ready_.push_back({work_event_.get(), POLLIN, 0});
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const HostPeer& peer = peers_[i];
    ready_.push_back({is_lost_[i] ? -1 : peer.socket.get(), POLLIN, 0});
    ready_.push_back({is_lost_[i] ? -1 : peer.life.get(), POLLIN, 0});
  }
  if (connections_ != nullptr) {
    ready_.push_back({connections_->ready_fd(), POLLIN, 0});
    due = std::min(due, connections_->look_due());
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
      phases_.arrive(peer, phase);
      break;
    }
    case BootstrapType::kAbsent:
      if (const auto absence = protocol::Absence::of(message.value);
          message.value != 0 && absence.rank < segment_.header().procs) {
        Told told{absence, 0};
        {
          const std::lock_guard lock(mutex_);
          told.meetings = phases_.arrivals_of(peer);
        }
        (void)reset_verdict_.note(told.absence, told.meetings);
        send_to_hosts(told);
      }
      break;
    case BootstrapType::kGo: {
      const std::lock_guard lock(mutex_);
      gone_ = phase;
      is_calm_ = is_calm_ || phase == Phase::kFinalize;
      break;
    }
    case BootstrapType::kAbort:
    case BootstrapType::kEnding:
      if (message.value == kLineIsWritten) {
        const std::lock_guard lock(mutex_);
        is_told_ = true;
      }
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

/// Messages come before losses, as with the ranks of this host. A leader that
/// has left acp_finalize closes its connections at once, and TCP drops its
/// goodbye when it resets one. Then the fence of this host ends soon as well,
/// and the loss means nothing.
void HostWatch::look_at_hosts() {
  if (connections_ == nullptr) {
    return;
  }
  const ConnectionReport report = connections_->look();
  for (const LeaderMessage& message : report.messages) {
    take_absence_of_other_host(message);
  }
  if (!report.lost || loss_due_ != TimePoint::max()) {
    return;
  }
  lost_host_ = *report.lost;
  {
    const std::lock_guard lock(mutex_);
    if (is_finalizing_) {
      loss_due_ = SteadyClock().now() + kLossPause;
      return;
    }
  }
  end_lost_host();
}

/// Does nothing when Phase::kFinalize is over.
void HostWatch::end_lost_host() {
  const std::string text =
      fmt::format("the host of rank {} at {} has lost a rank, or is gone",
                  lost_host_.leader, lost_host_.address);
  if (begin_end(EndCause::kRankLost, text)) {
    pass_on(text);
  }
}

// --- absences ----------------------------------------------------------------

/// The words of this rank's own host have the absence already.
void HostWatch::tell_absence(const protocol::Absence& absence) {
  if (role_ == HostRole::kMember) {
    (void)send_message(peers_.front().socket.get(),
                       {BootstrapType::kAbsent, absence.word(), {}});
    return;
  }
  Told told{absence, 0};
  {
    const std::lock_guard lock(mutex_);
    told.meetings = phases_.own_arrivals();
    told_.push_back(told);
  }
  // Here and not in the thread: it comes before the goodbye of this rank.
  send_to_hosts(told);
  signal_event(work_event_);
}

void HostWatch::send_to_hosts(const Told& told) {
  if (connections_ != nullptr) {
    connections_->send_absence(
        {LeaderMessageType::kAbsent, 0, told.absence.word(), told.meetings});
  }
}

/// The connections have them already.
void HostWatch::take_absences_of_leader() {
  std::vector<Told> told;
  {
    const std::lock_guard lock(mutex_);
    told.swap(told_);
  }
  for (const Told& one : told) {
    (void)reset_verdict_.note(one.absence, one.meetings);
  }
}

/// Ranks of this host clear the word of an acp_reset after its first meeting,
/// and no earlier than the Go. So after that Go the number is not entered. Rank
/// 0 passes on what changes the words or a judgement of its host.
void HostWatch::take_absence_of_other_host(const LeaderMessage& message) {
  if (message.type == LeaderMessageType::kWritten) {
    note_written();
    return;
  }
  const auto absence = protocol::Absence::of(message.absence);
  if (message.absence == 0 || absence.rank >= segment_.header().procs) {
    return;
  }
  if (message.type == LeaderMessageType::kStuck) {
    if (message.waiting < segment_.header().procs) {
      end_stuck(message);
    }
    return;
  }
  bool is_new = reset_verdict_.note(absence, message.meetings);
  {
    const std::lock_guard lock(mutex_);
    const bool is_over = absence.kind == protocol::AbsenceKind::kResetting &&
                         message.meetings < phases_.meetings();
    is_new |= !is_over && segment_.header().absences.enter(absence);
  }
  if (is_new && is_rank_0()) {
    connections_->send_absence(message);
  }
}

/// Whether ranks of this host wait in acp_reset for a rank that never comes.
/// Many hosts may find it. Rank 0 writes the line and ends the job. Another
/// leader does so at once where it holds no connection to rank 0.
void HostWatch::judge() {
  if (connections_ == nullptr) {
    return;
  }
  std::optional<HostPhases::Waiting> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = phases_.waiting_in_meeting();
  }
  const auto stuck = reset_verdict_.judge(waiting);
  if (!stuck) {
    return;
  }
  if (is_rank_0() || !connections_->send_stuck(*stuck)) {
    reset_verdict_.end_at(SteadyClock().now());
    return;
  }
  const std::lock_guard lock(mutex_);
  reset_verdict_.leave_to_rank_0(SteadyClock().now(),
                                 is_told_ ? Line::kWritten : Line::kMissing);
}

/// From here on the leader ends the job without a line, and only if rank 0's
/// launcher does not end it.
void HostWatch::note_written() {
  {
    const std::lock_guard lock(mutex_);
    is_told_ = true;
  }
  reset_verdict_.note_written(SteadyClock().now());
}

/// Rank 0 may leave acp_finalize after this leader has told it of a judgement.
/// Then no other rank writes the line.
void HostWatch::note_silence_of_rank_0() {
  if (!reset_verdict_.is_pending() || is_rank_0() ||
      connections_->reaches_rank_0()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!is_told_) {
    reset_verdict_.end_at(SteadyClock().now());
  }
}

/// The line comes first, and then the word to the other leaders: the launcher
/// may kill this process at once. Absences have the rank of today, and the line
/// tells the one at launch as well.
void HostWatch::end_stuck(const LeaderMessage& stuck) {
  bool is_written = false;
  {
    const std::lock_guard lock(mutex_);
    if (end_ || is_calm_) {
      return;
    }
    is_written = is_told_;
    is_told_ = true;
  }
  const auto absence = protocol::Absence::of(stuck.absence);
  const std::uint32_t missing =
      segment_.proc_of_rank()[absence.rank].load(std::memory_order_relaxed);
  const std::string text = fmt::format(
      "{} {}; {}", protocol::name_of_proc(segment_, missing),
      protocol::describe_missing(
          absence.kind, protocol::name_of_proc(segment_, stuck.waiting)),
      protocol::kSameOrderAdvice);
  if (!is_written) {
    log_error("the job ends: {}", text);
    if (is_rank_0()) {
      connections_->send_written();
    }
  }
  abort(kStatusUnlikeCalls, text);
}

bool HostWatch::await_judgement() {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, SteadyClock().now() + kJudgementLimit,
                             [this] { return end_.has_value(); });
}

}  // namespace acp::runtime
