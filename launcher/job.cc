#include "launcher/job.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>

#include "base/log.h"
#include "launcher/bootstrap_server.h"
#include "launcher/descendants.h"
#include "launcher/input.h"
#include "launcher/keeper_link.h"
#include "launcher/output.h"
#include "launcher/rank_streams.h"
#include "launcher/summary.h"
#include "launcher/watchdog.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Between SIGTERM and SIGKILL when the job has failed by itself: with the
/// rest it has to be over within 2 s.
constexpr milliseconds kFailureGrace{1000};
/// How much longer than its grace the keeper may take.
constexpr milliseconds kKeeperLimit{1000};
constexpr milliseconds kTick{200};
constexpr milliseconds kForEver{-1};

/// Null-terminated array of pointers into `words`, as exec wants it.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

class Job {
 public:
  Job(const JobPlan& plan, const Signals& signals)
      : plan_(plan),
        signals_(signals),
        older_children_(children_of(::getpid())),
        watchdog_(plan.options.watchdog) {}

  int run() {
    if (prepare() != Status::kOk || start_keeper() != Status::kOk ||
        watch_everything() != Status::kOk) {
      keeper_ended_ = true;
      end_descendants(older_children_, kKeeperLimit);
      return kStatusLauncher;
    }
    while (!keeper_ended_) {
      loop_.turn(time_to_next_deadline());
      check_deadlines();
    }
    return wind_up();
  }

 private:
  // --- start ---------------------------------------------------------------

  Status prepare() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (const Status status = loop_.open(); status != Status::kOk) {
      return status;
    }
    const Options& options = plan_.options;
    protocol::HostPlan host;
    host.procs = options.procs;
    host.local_procs = options.procs;
    host.starter_bytes = options.settings.number(SettingId::kStarterMemory);
    host.module_bytes = options.settings.number(SettingId::kModuleMemory);
    if (const Status status = bootstrap_.open(host); status != Status::kOk) {
      return status;
    }
    auto streams = open_streams(plan_);
    if (!streams.ok()) return streams.status();
    streams_ = std::move(*streams);
    return Status::kOk;
  }

  Status start_keeper() {
    // Shared: a shim tells its parent there why it failed.
    const std::size_t bytes = plan_.ranks.size() * sizeof(SpawnFailure);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      log_error("mmap of {} bytes: {}", bytes, errno_text(errno));
      return Status::kSystem;
    }
    auto* failures = static_cast<SpawnFailure*>(memory);
    const std::vector<char*> environment = pointers_to(plan_.environment);
    std::vector<std::vector<char*>> words;
    std::vector<SpawnRequest> requests;
    for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      words.push_back(pointers_to(plan_.ranks[rank].words));
      requests.push_back(request_for(rank, words.back(), environment));
      requests.back().failure = new (&failures[rank]) SpawnFailure{};
    }
    const Status status = keeper_.start(requests);
    ::munmap(memory, bytes);
    bootstrap_.close_rank_ends();
    for (RankStreams& one : streams_)
      one.rank_ends = {};
    return status;
  }

  SpawnRequest request_for(std::size_t rank,
                           const std::vector<char*>& words,
                           const std::vector<char*>& environment) const {
    const RankPlan& one = plan_.ranks[rank];
    SpawnRequest request;
    request.path = one.path.c_str();
    request.words = words.data();
    request.environment = environment.data();
    if (!plan_.options.directory.empty()) {
      request.directory = plan_.options.directory.c_str();
    }
    for (std::size_t i = 0; i < 3; ++i) {
      request.standard[i] = streams_[rank].rank_ends[i].get();
    }
    request.bootstrap = bootstrap_.rank_ends()[rank].get();
    request.cpus = one.cpus.mask.data();
    request.cpu_bytes = one.cpus.mask.size() * sizeof(unsigned long);
    request.inherited = &signals_.inherited();
    return request;
  }

  Status watch_everything() {
    started_ = Clock::now();
    Status status =
        loop_.watch(keeper_.fd(), EPOLLIN, [this] { hear_keeper(); });
    if (status == Status::kOk) {
      status = loop_.watch(signals_.fd(), EPOLLIN, [this] { take_signals(); });
    }
    if (status == Status::kOk) {
      status = bootstrap_.serve(
          loop_, [this](Verdict verdict) { fail(std::move(verdict)); });
    }
    return status == Status::kOk ? watch_streams() : status;
  }

  Status watch_streams() {
    const bool tagged = plan_.options.tag;
    const LineMode mode = plan_.ranks.size() == 1 && !tagged
                              ? LineMode::kPassThrough
                              : LineMode::kLines;
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      RankStreams& one = streams_[rank];
      const std::string tag = tagged ? fmt::format("[{}] ", rank) : "";
      for (auto& [pipe, stream] : {std::pair<UniqueFd*, Output::Stream>{
                                       &one.output, Output::Stream::kOut},
                                   std::pair<UniqueFd*, Output::Stream>{
                                       &one.error, Output::Stream::kErr}}) {
        if (!*pipe) continue;
        const Status status =
            output_.add(std::move(*pipe), stream, LineAssembler(mode, tag));
        if (status != Status::kOk) return status;
      }
    }
    if (streams_[0].input) {
      input_.emplace(loop_, STDIN_FILENO, std::move(streams_[0].input));
      input_->start();
    }
    return Status::kOk;
  }

  // --- events --------------------------------------------------------------

  void hear_keeper() {
    KeeperMessage message;
    for (;;) {
      switch (keeper_.next(message)) {
        case KeeperLink::News::kNothing: return;
        case KeeperLink::News::kGone: lose_keeper(); return;
        case KeeperLink::News::kMessage: take_news(message); break;
      }
    }
  }

  void take_news(const KeeperMessage& message) {
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
        fail({Cause::kNotStarted,
              message.rank,
              0,
              kStatusLauncher,
              fmt::format("fork: {}", errno_text(static_cast<int>(value))),
              {}});
        break;
      case KeeperMessageType::kExited: take_exit(message); break;
      default: break;
    }
  }

  void take_exit(const KeeperMessage& message) {
    // Its last words, and everybody else's, were sent before this.
    bootstrap_.catch_up();
    Rollcall& rollcall = bootstrap_.rollcall();
    const auto step = static_cast<SpawnStep>(message.step);
    if (step != SpawnStep::kNone) {
      fail(failed_start(message.rank, step, message.error));
    }
    auto verdict =
        rollcall.on_exit(message.rank, static_cast<int>(message.value));
    if (verdict) fail(std::move(*verdict));
  }

  Verdict failed_start(std::uint32_t rank, SpawnStep step, int error) const {
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    const int status = step != SpawnStep::kExec ? kStatusLauncher
                       : is_missing             ? kStatusNotFound
                                                : kStatusCannotRun;
    const std::string& what = step == SpawnStep::kDirectory
                                  ? plan_.options.directory
                                  : plan_.ranks[rank].path;
    return {Cause::kNotStarted,
            rank,
            bootstrap_pid(rank),
            status,
            fmt::format("{}: {}", what, errno_text(error)),
            {}};
  }

  std::uint32_t bootstrap_pid(std::uint32_t rank) const {
    return const_cast<BootstrapServer&>(bootstrap_).rollcall().pid(rank);
  }

  void take_signals() {
    while (const int signal = signals_.next()) {
      if (is_request_to_end(signal)) {
        interrupt(signal);
        continue;
      }
      keeper_.order(KeeperMessageType::kSignal, signal);
      if (signal == SIGTSTP) {
        // Now the shell gets its prompt; "fg" wakes us, then the ranks.
        ::kill(::getpid(), SIGSTOP);
      }
      if (signal == SIGCONT && input_ && input_->is_paused()) input_->start();
    }
  }

  void interrupt(int signal) {
    if (++interrupts_ > 1) {
      // Whoever asks twice does not want to wait.
      keeper_.order(KeeperMessageType::kKill);
      force_at_ = std::min(force_at_.value_or(Clock::time_point::max()),
                           Clock::now() + kKeeperLimit);
      give_up_output_at_ = Clock::now();
    }
    fail({Cause::kInterrupted, kNoRank, 0, signal, {}, {}});
  }

  // --- the end -------------------------------------------------------------

  /// The first failure ends the job; later ones follow from it.
  void fail(Verdict verdict) {
    if (verdict_) return;
    verdict_ = std::move(verdict);
    waits_ = collect_waits(bootstrap_.segment(), bootstrap_.rollcall());
    const bool is_asked_for = verdict_->cause == Cause::kInterrupted ||
                              verdict_->cause == Cause::kTimeout;
    const milliseconds grace =
        is_asked_for ? plan_.options.grace
                     : std::min(plan_.options.grace, kFailureGrace);
    if (is_asked_for) give_up_output_at_ = Clock::now() + grace + kKeeperLimit;
    bootstrap_.announce_ending(describe_end(*verdict_, plan_.host, waits_));
    keeper_.order(KeeperMessageType::kEnd, grace.count());
    const auto force_at = Clock::now() + grace + kKeeperLimit;
    force_at_ = std::min(force_at_.value_or(force_at), force_at);
  }

  void lose_keeper() {
    loop_.forget(keeper_.fd());
    const int status = keeper_.collect();
    keeper_ended_ = true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    fail({Cause::kKeeperLost,
          kNoRank,
          static_cast<std::uint32_t>(keeper_.pid()),
          status,
          {},
          {}});
  }

  void check_deadlines() {
    const Options& options = plan_.options;
    const auto now = Clock::now();
    if (force_at_ && now >= *force_at_ && !keeper_ended_) {
      // Something keeps the keeper from its work: somebody stopped it.
      force_at_ = now + kKeeperLimit;
      end_descendants(older_children_, kKeeperLimit);
      keeper_ended_ = true;
      loop_.forget(keeper_.fd());
      return;
    }
    if (verdict_) return;
    if (options.timeout.count() > 0 && now - started_ >= options.timeout) {
      fail({Cause::kTimeout, kNoRank, 0, options.timeout.count(), {}, {}});
    }
    check_meeting(now);
    if (watchdog_.is_stuck(bootstrap_.segment(), bootstrap_.rollcall())) {
      fail({Cause::kWatchdog, kNoRank, 0, options.watchdog.count(), {}, {}});
    }
    if (input_ && input_->is_paused()) input_->start();
  }

  void check_meeting(Clock::time_point now) {
    const Rollcall& rollcall = bootstrap_.rollcall();
    if (!rollcall.is_meeting()) {
      meeting_since_.reset();
      return;
    }
    if (!meeting_since_) meeting_since_ = now;
    const milliseconds limit = plan_.options.init_timeout;
    if (limit.count() > 0 && now - *meeting_since_ >= limit) {
      fail({Cause::kInitTimeout,
            kNoRank,
            0,
            limit.count(),
            {},
            rollcall.missing_in_init()});
    }
  }

  milliseconds time_to_next_deadline() const {
    const Options& options = plan_.options;
    auto next = Clock::time_point::max();
    if (force_at_) next = *force_at_;
    if (!verdict_) {
      if (options.timeout.count() > 0) {
        next = std::min(next, started_ + options.timeout);
      }
      if (meeting_since_ && options.init_timeout.count() > 0) {
        next = std::min(next, *meeting_since_ + options.init_timeout);
      }
      if (options.watchdog.count() > 0 || (input_ && input_->is_paused())) {
        next = std::min(next, Clock::now() + kTick);
      }
    }
    if (next == Clock::time_point::max()) return kForEver;
    return std::max(std::chrono::ceil<milliseconds>(next - Clock::now()),
                    milliseconds(0));
  }

  int wind_up() {
    input_.reset();
    // After the keeper's own death its children are ours.
    end_descendants(older_children_, kKeeperLimit);
    output_.finish_reading();
    const bool has_readers =
        !verdict_ || verdict_->cause != Cause::kOutputClosed;
    if (verdict_ && has_readers) {
      output_.say(summarize(*verdict_, plan_.host, waits_));
    }
    while (!output_.is_flushed() && Clock::now() < give_up_output_at_) {
      const bool has_limit = give_up_output_at_ != Clock::time_point::max();
      loop_.turn(has_limit ? kTick : kForEver);
    }
    return verdict_ ? exit_status(*verdict_) : 0;
  }

  void lose_output(int error) {
    if (error == EPIPE) {
      fail({Cause::kOutputClosed, kNoRank, 0, 0, {}, {}});
    } else {
      fail({Cause::kOutputFailed,
            kNoRank,
            0,
            0,
            fmt::format("writing standard output: {}", errno_text(error)),
            {}});
    }
  }

  const JobPlan& plan_;
  const Signals& signals_;
  /// Of who became acprun by exec; not ours to end.
  const std::vector<pid_t> older_children_;
  EventLoop loop_;
  BootstrapServer bootstrap_;
  KeeperLink keeper_;
  std::vector<RankStreams> streams_;
  Output output_{loop_, STDOUT_FILENO, STDERR_FILENO, [this](int error) {
                   lose_output(error);
                 }};
  std::optional<Input> input_;
  Watchdog watchdog_;

  Clock::time_point started_;
  std::optional<Clock::time_point> meeting_since_;
  std::optional<Clock::time_point> force_at_;
  Clock::time_point give_up_output_at_ = Clock::time_point::max();
  std::optional<Verdict> verdict_;
  std::vector<RankWait> waits_;
  int interrupts_ = 0;
  bool keeper_ended_ = false;
};

}  // namespace

int run_job(const JobPlan& plan, const Signals& signals) {
  return Job(plan, signals).run();
}

}  // namespace acp::launcher
