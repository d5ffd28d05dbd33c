// The event loop of one job. It starts the keeper, reacts to messages,
// signals and deadlines, and decides with the first failure how the job
// ends. It never waits for a rank outside of the loop.
#include "launcher/job.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <set>

#include "base/log.h"
#include "launcher/bootstrap_server.h"
#include "launcher/descendants.h"
#include "launcher/input.h"
#include "launcher/launch.h"
#include "launcher/output.h"
#include "launcher/summary.h"
#include "launcher/time_limits.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Time between SIGTERM and SIGKILL when the job has failed by itself. A failed
/// job has to be over within 2 s, all steps together.
constexpr milliseconds kFailureGrace{1000};
/// Time beyond the grace period after which acprun does the keeper's work.
constexpr milliseconds kKeeperLimit{1000};
/// Time between two looks whether the terminal belongs to acprun again.
constexpr milliseconds kTerminalTick{500};
constexpr milliseconds kForEver{-1};

Verdict without_rank(Cause cause, std::int64_t value, std::uint32_t pid = 0) {
  return {cause, kNoRank, pid, value, {}, {}};
}

/// Used by one thread, which alone reads and writes all fields.
///
/// Invariants:
///  1. verdict_ is set once, by fail(); later failures follow from it.
///  2. While verdict_ is set, force_at_ is finite, so the loop always ends.
///  3. is_keeper_gone_ ends the loop; wind_up() then reads what is left in the
///     pipes.
class Job {
 public:
  Job(const JobPlan& plan, const Signals& signals)
      : plan_(plan),
        signals_(signals),
        older_children_(children_of(::getpid())) {}

  int run() {
    if (start() != Status::kOk || watch_everything() != Status::kOk) {
      end_descendants(older_children_, kKeeperLimit);
      return kStatusLauncher;
    }
    while (!is_keeper_gone_) {
      loop_.turn(time_to_next_deadline());
      check_deadlines();
    }
    return wind_up();
  }

 private:
  // --- start ---------------------------------------------------------------

  Status start() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const Options& options = plan_.options;
    const auto identity = protocol::make_job_identity();
    if (!identity.ok()) return identity.status();
    protocol::HostPlan host;
    host.identity = *identity;
    host.put_all_here(options.procs);
    host.starter_bytes = options.settings.number(SettingId::kStarterMemory);
    host.module_bytes = protocol::module_bytes_for(options.settings);
    Status status = loop_.open();
    if (status == Status::kOk) status = bootstrap_.open(host);
    if (status != Status::kOk) return status;
    for (std::uint32_t slot = 0; slot < options.procs; ++slot) {
      bootstrap_.segment().record(slot).bound_cpus =
          plan_.ranks[slot].cpus.mask;
    }
    auto streams = open_streams(plan_);
    if (!streams.ok()) return streams.status();
    streams_ = std::move(*streams);
    status = start_ranks(plan_, streams_, bootstrap_.rank_ends(),
                         signals_.inherited(), keeper_);
    // Copies in acprun would keep pipes and sockets open after a rank's death.
    bootstrap_.close_rank_ends();
    for (RankStreams& one : streams_)
      one.rank_ends = {};
    return status;
  }

  Status watch_everything() {
    limits_.emplace(plan_.options);
    Status status =
        loop_.watch(keeper_.fd(), EPOLLIN, [this] { receive_from_keeper(); });
    if (status == Status::kOk) {
      status = loop_.watch(signals_.fd(), EPOLLIN, [this] { take_signals(); });
    }
    if (status == Status::kOk) {
      status = bootstrap_.serve(
          loop_, [this](Verdict verdict) { fail(std::move(verdict)); });
    }
    return status == Status::kOk ? watch_streams() : status;
  }

  /// A single rank without --tag is passed through, so that its prompts appear.
  Status watch_streams() {
    const bool is_tagged = plan_.options.tag;
    const LineMode mode = plan_.ranks.size() == 1 && !is_tagged
                              ? LineMode::kPassThrough
                              : LineMode::kLines;
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      RankStreams& one = streams_[rank];
      const LineAssembler lines(mode,
                                is_tagged ? fmt::format("[{}] ", rank) : "");
      Status status = Status::kOk;
      if (one.output) {
        status =
            output_.add(std::move(one.output), Output::Stream::kOut, lines);
      }
      if (one.error && status == Status::kOk) {
        status = output_.add(std::move(one.error), Output::Stream::kErr, lines);
      }
      if (status != Status::kOk) return status;
    }
    if (streams_[0].input) {
      input_.emplace(loop_, STDIN_FILENO, std::move(streams_[0].input));
      input_->start();
    }
    return Status::kOk;
  }

  // --- events --------------------------------------------------------------

  void receive_from_keeper() {
    KeeperMessage message;
    for (;;) {
      switch (keeper_.receive(message)) {
        case KeeperConnection::Received::kNothing: return;
        case KeeperConnection::Received::kClosed: lose_keeper(); return;
        case KeeperConnection::Received::kMessage: take_message(message); break;
      }
    }
  }

  void take_message(const KeeperMessage& message) {
    const auto value = static_cast<std::uint32_t>(message.value);
    switch (message.type) {
      case KeeperMessageType::kStarted:
        bootstrap_.rollcall().set_pid(message.rank, value);
        if (plan_.options.verbose) {
          output_.say(fmt::format("acprun: rank {} is pid {}, {}\n",
                                  message.rank, value,
                                  plan_.ranks[message.rank].cpus.name));
        }
        break;
      case KeeperMessageType::kStartFailed:
        fail(judge_failed_fork(message.rank, static_cast<int>(value)));
        break;
      case KeeperMessageType::kExited: take_exit(message); break;
      default: break;
    }
  }

  void take_exit(const KeeperMessage& message) {
    // All ranks may have sent messages before this rank died; an acp_abort
    // among them is the cause rather than the death.
    bootstrap_.catch_up();
    Rollcall& rollcall = bootstrap_.rollcall();
    const auto step = static_cast<SpawnStep>(message.step);
    if (step != SpawnStep::kNone) {
      fail(judge_failed_start(plan_, message.rank, rollcall.pid(message.rank),
                              step, message.error));
    }
    auto verdict =
        rollcall.on_exit(message.rank, static_cast<int>(message.value));
    if (verdict) fail(std::move(*verdict));
  }

  void take_signals() {
    while (const int signal = signals_.next()) {
      if (is_request_to_end(signal)) {
        interrupt(signal);
        continue;
      }
      passed_on_.insert(signal);
      keeper_.order(KeeperMessageType::kSignal, signal);
      if (signal == SIGTSTP) {
        // acprun stops, and the shell shows its prompt. After "fg" acprun gets
        // SIGCONT and passes it on.
        ::kill(::getpid(), SIGSTOP);
      }
      if (signal == SIGCONT && input_ && input_->is_paused()) input_->start();
    }
  }

  void interrupt(int signal) {
    fail(without_rank(Cause::kInterrupted, signal));
    if (++interrupts_ > 1) {
      // A user who asks twice does not want to wait.
      keeper_.order(KeeperMessageType::kKill);
      force_at_ = std::min(force_at_, Clock::now() + kKeeperLimit);
      give_up_output_at_ = Clock::now();
    }
  }

  void lose_output(int error) {
    Verdict verdict = without_rank(
        error == EPIPE ? Cause::kOutputClosed : Cause::kOutputFailed, 0);
    verdict.text =
        fmt::format("writing standard output: {}", errno_text(error));
    fail(std::move(verdict));
  }

  // --- the end -------------------------------------------------------------

  /// The first failure ends the job; later ones follow from it.
  void fail(Verdict verdict) {
    if (verdict_) return;
    if (verdict.cause == Cause::kSignaled &&
        passed_on_.count(static_cast<int>(verdict.value)) != 0) {
      verdict = without_rank(Cause::kInterrupted, verdict.value);
    }
    verdict_ = std::move(verdict);
    waits_ = collect_waits(bootstrap_.segment(), bootstrap_.rollcall());
    const bool is_asked_for = verdict_->cause == Cause::kInterrupted ||
                              verdict_->cause == Cause::kTimeout;
    const milliseconds grace =
        is_asked_for ? plan_.options.grace
                     : std::min(plan_.options.grace, kFailureGrace);
    bootstrap_.announce_ending(describe_end(*verdict_, plan_.host, waits_));
    keeper_.order(KeeperMessageType::kEnd, grace.count());
    force_at_ = Clock::now() + grace + kKeeperLimit;
    if (is_asked_for) give_up_output_at_ = force_at_;
  }

  void lose_keeper() {
    loop_.forget(keeper_.fd());
    const int status = keeper_.collect();
    is_keeper_gone_ = true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    fail(without_rank(Cause::kKeeperLost, status,
                      static_cast<std::uint32_t>(keeper_.pid())));
  }

  void check_deadlines() {
    if (is_keeper_gone_) return;
    if (verdict_) {
      // The keeper does not do its work, for example because it was stopped.
      if (Clock::now() >= force_at_) {
        loop_.forget(keeper_.fd());
        is_keeper_gone_ = true;  // wind_up() kills the keeper, too.
      }
      return;
    }
    if (auto verdict =
            limits_->check(bootstrap_.segment(), bootstrap_.rollcall())) {
      fail(std::move(*verdict));
    }
    if (input_ && input_->is_paused()) input_->start();
  }

  milliseconds time_to_next_deadline() const {
    auto next = verdict_ ? force_at_ : limits_->next();
    if (input_ && input_->is_paused()) {
      next = std::min(next, Clock::now() + kTerminalTick);
    }
    if (next == Clock::time_point::max()) return kForEver;
    return std::max(std::chrono::ceil<milliseconds>(next - Clock::now()),
                    milliseconds(0));
  }

  /// Ends what is left of the tree, then delivers what the ranks wrote, then
  /// prints the summary: it has to be the last lines.
  int wind_up() {
    input_.reset();
    // A keeper that died has left its children to acprun, a subreaper.
    end_descendants(older_children_, kKeeperLimit);
    output_.finish_reading();
    if (verdict_ && verdict_->cause != Cause::kOutputClosed) {
      output_.say(summarize(*verdict_, plan_.host, waits_));
    }
    while (!output_.is_flushed() && Clock::now() < give_up_output_at_) {
      const bool has_limit = give_up_output_at_ != Clock::time_point::max();
      loop_.turn(has_limit ? kTerminalTick : kForEver);
    }
    return verdict_ ? exit_status(*verdict_) : 0;
  }

  const JobPlan& plan_;
  const Signals& signals_;
  /// Children of the process that became acprun by exec; they are spared.
  const std::vector<pid_t> older_children_;
  EventLoop loop_;
  BootstrapServer bootstrap_;
  KeeperConnection keeper_;
  std::vector<RankStreams> streams_;
  Output output_{loop_, STDOUT_FILENO, STDERR_FILENO, [this](int error) {
                   lose_output(error);
                 }};
  std::optional<Input> input_;
  std::optional<TimeLimits> limits_;  ///< Since the start of the ranks.

  std::set<int> passed_on_;  ///< Signals that acprun sent to the ranks.
  std::optional<Verdict> verdict_;
  std::vector<RankWait> waits_;  ///< Waits at the time of the verdict.
  /// Time to do the keeper's work; set by fail().
  Clock::time_point force_at_ = Clock::time_point::max();
  /// Time to give up a slow reader of the output; only where the user asked for
  /// the end.
  Clock::time_point give_up_output_at_ = Clock::time_point::max();
  int interrupts_ = 0;  ///< Requests to end by signal.
  bool is_keeper_gone_ = false;
};

}  // namespace

int run_job(const JobPlan& plan, const Signals& signals) {
  return Job(plan, signals).run();
}

}  // namespace acp::launcher
