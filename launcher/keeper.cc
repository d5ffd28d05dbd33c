// The keeper's process, which KeeperConnection forks: starts the ranks, then
// waits for orders and deaths until no descendant is left. Between fork and its
// end it calls nothing of acprun's event loop.
#include "launcher/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>

#include "base/log.h"
#include "launcher/copied_program.h"
#include "launcher/descendants.h"
#include "launcher/heartbeat.h"
#include "launcher/keeper_messages.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Time for background processes to end after the last rank has left by itself.
constexpr milliseconds kLeftoverGrace{500};

/// Closes all descriptors above standard output that are not in `kept`.
void close_all_but(std::vector<int> kept) {
  kept.push_back(STDERR_FILENO);
  std::sort(kept.begin(), kept.end());
  unsigned next = STDERR_FILENO;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > next) ::syscall(SYS_close_range, next, number - 1, 0);
    next = std::max(next, number + 1);
  }
  ::syscall(SYS_close_range, next, std::numeric_limits<unsigned>::max(), 0);
}

/// Used by the keeper's only thread. Call prepare, start_ranks and watch in
/// this order.
class Keeper {
 public:
  Keeper(UniqueFd control,
         std::span<const SpawnRequest> requests,
         const std::string& copied_program)
      : control_(std::move(control)),
        requests_(requests),
        copied_program_(copied_program) {}

  /// Comes before the first rank is started. A subreaper inherits every
  /// descendant, so it must be one before there is any. Other descriptors close
  /// before /dev/null takes the numbers 0 and 1.
  void prepare() {
    ::prctl(PR_SET_NAME, kKeeperName);  // From now on it is left alone.
    // Signals of the terminal reach acprun alone: it is in the foreground
    // group.
    ::setpgid(0, 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    std::vector<int> kept = {control_.get()};
    for (const SpawnRequest& request : requests_) {
      kept.insert(kept.end(), std::begin(request.standard),
                  std::end(request.standard));
      kept.push_back(request.bootstrap);
    }
    close_all_but(std::move(kept));
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(null.get(), STDOUT_FILENO);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    children_.reset(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void start_ranks() {
    for (std::uint32_t slot = 0; slot < requests_.size(); ++slot) {
      const pid_t pid = spawn(requests_[slot]);
      pids_.push_back(pid);
      if (pid < 0) {
        tell({KeeperMessageType::kStartFailed, slot, -pid});
        break;
      }
      tell({KeeperMessageType::kStarted, slot, pid});
    }
    living_ = std::count_if(pids_.begin(), pids_.end(),
                            [](pid_t pid) { return pid > 0; });
    close_all_but({control_.get(), children_.get()});
  }

  void watch() {
    while (!reap()) {
      check_silence();
      if (is_ending_ && Clock::now() >= deadline_) {
        end_descendants({}, kKillLimit, 0);
        reap();
        break;
      }
      wait_for_event();
    }
    while (!reports_.empty())
      wait_for_room();
  }

  /// Says why the ranks were killed, if acprun has not ordered it. Comes last:
  /// the reader may be stopped as well, and then the line is dropped.
  void tell_silence() const {
    if (!was_silent_) return;
    log_error(
        "the keeper has heard nothing from its acprun (pid {}) for {} s, and "
        "has killed the ranks of this host",
        ::getppid(), Heartbeat::kSilence.count());
  }

 private:
  /// The part of a job that a stopped or stuck process leads must not go on
  /// when the other hosts have ended theirs.
  void check_silence() {
    if (!parent_ || is_ending_) return;
    const auto now = Clock::now();
    // The keeper sends no words, but this tells that it was itself stopped.
    (void)parent_->is_word_due(now);
    if (!parent_->is_silent(now)) return;
    was_silent_ = true;
    remove_copied_program(copied_program_);
    end_within(milliseconds(0));
  }

  /// Reports go out before an order is taken, which may end ranks.
  void wait_for_event() {
    const short wanted = reports_.empty() ? POLLIN : POLLIN | POLLOUT;
    pollfd events[2] = {{control_.get(), wanted, 0},
                        {children_.get(), POLLIN, 0}};
    if (::poll(events, 2, time_to_next_deadline()) <= 0) return;
    if (events[1].revents != 0) {
      signalfd_siginfo info{};
      while (::read(children_.get(), &info, sizeof info) > 0) {
      }
    }
    send_reports();
    if ((events[0].revents & ~POLLOUT) != 0) take_order();
  }

  /// Some reports are left when no rank is: acprun takes them, or dies.
  void wait_for_room() {
    pollfd room{control_.get(), POLLOUT, 0};
    ::poll(&room, 1, -1);
    send_reports();
  }

  /// In milliseconds, as poll() takes it.
  int time_to_next_deadline() const {
    auto next = is_ending_ ? deadline_ : Clock::time_point::max();
    if (parent_ && !is_ending_) next = parent_->next();
    if (next == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }

  /// A closed connection counts as the order to end at once, because acprun or
  /// the daemon has died.
  void take_order() {
    KeeperMessage message;
    const ssize_t n =
        ::recv(control_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n != static_cast<ssize_t>(sizeof message)) {
      message = {};  // acprun is gone.
      // First of all: on one machine with the dead daemon, acprun kills this
      // process after kOrphanLimit.
      remove_copied_program(copied_program_);
    }
    switch (message.type) {
      case KeeperMessageType::kSignal:
        signal_ranks(static_cast<int>(message.value));
        break;
      case KeeperMessageType::kEnd:
        signal_descendants(SIGTERM, {});
        signal_descendants(SIGCONT, {});
        end_within(milliseconds(message.value));
        break;
      case KeeperMessageType::kAlive:
        if (!parent_) parent_.emplace();
        parent_->hear(Clock::now());
        break;
      case KeeperMessageType::kPause:
        if (parent_) parent_->pause();
        break;
      default: end_within(milliseconds(0));
    }
  }

  void end_within(milliseconds grace) {
    const auto deadline = Clock::now() + grace;
    deadline_ = is_ending_ ? std::min(deadline_, deadline) : deadline;
    is_ending_ = true;
  }

  void signal_ranks(int signal) {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(-pid, signal);
    }
  }

  /// Collects the processes that have ended and reports the ranks among them.
  /// Returns true when no descendant is left.
  bool reap() {
    struct End {
      std::uint32_t slot;
      int status;
    };

    std::vector<End> ends;
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      const auto found = std::find(pids_.begin(), pids_.end(), pid);
      if (found == pids_.end()) continue;
      ends.push_back(
          {static_cast<std::uint32_t>(found - pids_.begin()), status});
    }
    const bool is_empty = pid < 0 && errno == ECHILD;
    // acprun takes the first report for the cause. Among ranks that ended
    // together, a killed one is the most likely cause, and one that left with
    // status 0 the least likely.
    const auto weight = [](const End& end) {
      return WIFSIGNALED(end.status) ? 0 : WEXITSTATUS(end.status) != 0 ? 1 : 2;
    };
    std::stable_sort(ends.begin(), ends.end(),
                     [&weight](const End& a, const End& b) {
                       return weight(a) < weight(b);
                     });
    for (const End& end : ends)
      report(end.slot, end.status);
    if (living_ == 0 && !is_empty && !is_ending_) {
      signal_descendants(SIGTERM, {});
      end_within(kLeftoverGrace);
    }
    return is_empty;
  }

  void report(std::uint32_t slot, int status) {
    --living_;
    pids_[slot] = 0;  // The kernel may give the number to another process.
    const SpawnFailure& failure = *requests_[slot].failure;
    // Acquire: pairs with the shim's store; then the error is there too.
    const SpawnStage stage = failure.stage.load(std::memory_order_acquire);
    tell({KeeperMessageType::kExited, slot, status, static_cast<int>(stage),
          failure.error.load(std::memory_order_relaxed)});
  }

  void tell(const KeeperMessage& message) {
    reports_.push_back(message);
    send_reports();
  }

  /// Never blocks: an acprun that was stopped reads nothing, and the ranks have
  /// to be served meanwhile. A failed send means that acprun is gone; the next
  /// poll notices.
  void send_reports() {
    while (!reports_.empty()) {
      const ssize_t n =
          ::send(control_.get(), &reports_.front(), sizeof reports_.front(),
                 MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      reports_.pop_front();
    }
  }

  UniqueFd control_;
  UniqueFd children_;
  std::span<const SpawnRequest> requests_;
  /// HostWork::copied_program.
  const std::string& copied_program_;
  std::deque<KeeperMessage> reports_;  ///< Not yet sent, the oldest first.
  std::vector<pid_t> pids_;            ///< By slot; not positive: not running.
  std::ptrdiff_t living_ = 0;          ///< Ranks that have not ended.
  /// acprun, or the daemon of this host. Empty until its first kAlive.
  std::optional<Heartbeat> parent_;
  bool was_silent_ = false;  ///< Set by check_silence(): the ranks end for it.
  bool is_ending_ = false;   ///< Set by end_within(), never cleared.
  Clock::time_point deadline_;  ///< Time of SIGKILL while is_ending_.
};

}  // namespace

void run_keeper(UniqueFd control,
                std::span<const SpawnRequest> requests,
                const std::string& copied_program) {
  {
    Keeper keeper(std::move(control), requests, copied_program);
    keeper.prepare();
    keeper.start_ranks();
    keeper.watch();
    keeper.tell_silence();
  }
  // The daemon may be killed before it has seen this end.
  remove_copied_program(copied_program);
  deliver_log(kLastLinesLimit);
  // _exit, because functions that acprun registered with atexit must not run in
  // the keeper.
  ::_exit(0);
}

}  // namespace acp::launcher
