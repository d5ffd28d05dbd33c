// The event loop of one job, which launcher_main.cc runs. It starts the ranks
// of this host and the daemons of the others. It reacts to messages, signals
// and deadlines, and decides with the first failure how the job ends. It never
// waits for a rank outside of the loop.
#include "launcher/job.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_facts.h"
#include "base/join_texts.h"
#include "base/log.h"
#include "base/printable.h"
#include "launcher/daemon_connections.h"
#include "launcher/descendants.h"
#include "launcher/host_network.h"
#include "launcher/host_part.h"
#include "launcher/job_bootstrap.h"
#include "launcher/job_input.h"
#include "launcher/job_verdict.h"
#include "launcher/look_round.h"
#include "launcher/output.h"
#include "launcher/own_stop.h"
#include "launcher/program_name.h"
#include "launcher/program_pieces.h"
#include "launcher/rank_errors.h"
#include "launcher/rank_hosts.h"
#include "launcher/rank_set.h"
#include "launcher/report_maker.h"
#include "launcher/route.h"
#include "launcher/summary.h"
#include "launcher/time_limits.h"
#include "launcher/traffic_table.h"
#include "launcher/view_maker.h"
#include "launcher/view_server.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The longest turn of the loop while a slow reader of the output has a limit.
constexpr milliseconds kOutputTick{500};
constexpr milliseconds kForEver{-1};
constexpr std::string_view kGoodEnd = "every rank has ended with status 0";

Verdict without_rank(Cause cause, std::int64_t value, std::uint32_t pid = 0) {
  return {cause, kNoRank, pid, value, {}, {}};
}

/// Used by one thread, which alone reads and writes all fields.
///
/// Invariants:
///  1. A host is in gone_ when none of its ranks runs any more. The loop ends
///     when all hosts are; wind_up() then delivers what is left of the output.
///  2. The verdict ends the loop: it becomes forced, and then all hosts count
///     as gone.
class Job {
 public:
  Job(const JobPlan& plan, const Signals& signals)
      : plan_(plan),
        signals_(signals),
        older_children_(children_of(::getpid())),
        hosts_(plan.hosts),
        bootstrap_(plan.options.procs,
                   plan.orders.sizes.card_bytes,
                   hosts_,
                   networks_,
                   [this](const HostMessage& message) { order(message); }),
        round_(plan.hosts.size()),
        traffic_(plan.options.procs, plan.hosts),
        report_(plan),
        view_maker_(join_texts(plan.options.command, " "),
                    plan.options.procs,
                    plan.hosts,
                    hosts_,
                    Clock::now()),
        verdict_(
            plan.options.grace,
            plan.has_other_hosts() ? JobHosts::kOthers : JobHosts::kOnlyThis) {
    for (const HostRanks& host : plan.hosts) {
      if (host.is_local) own_number_ = host.number;
    }
  }

  int run() {
    if (start() != Status::kOk) {
      end_descendants(older_children_, JobVerdict::kKeeperLimit, own_keeper());
      return kStatusLauncher;
    }
    while (gone_.size() < plan_.hosts.size()) {
      loop_.turn(time_to_next_deadline());
      own_stop_.note_turn(Clock::now());
      connections_.check();
      check_deadlines();
      return_credits();
    }
    return wind_up();
  }

 private:
  // --- start ---------------------------------------------------------------

  Status start() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const auto identity = protocol::make_job_identity();
    if (!identity.ok()) return identity.status();
    Status status = report_.open();
    if (status == Status::kOk) status = loop_.open();
    if (status == Status::kOk) {
      status = loop_.watch(signals_.fd(), EPOLLIN, [this] { take_signals(); });
    }
    if (status == Status::kOk && plan_.has_other_hosts()) {
      status = start_daemons(*identity);
    }
    if (status == Status::kOk && plan_.local) status = start_here(*identity);
    limits_.emplace(plan_.options);
    if (status != Status::kOk) return status;
    views_.open(protocol::view_folders());
    return open_input();
  }

  Status start_here(const protocol::JobIdentity& identity) {
    protocol::HostPlan host;
    host.identity = identity;
    host.sizes = plan_.orders.sizes;
    if (plan_.has_other_hosts()) {
      const Route route = route_to(plan_.orders.routes, plan_.host);
      host.route_to = route.address;
      networks_.note(own_number_, describe_network(route));
    }
    part_.emplace(
        own_number_, *plan_.local, loop_, output_,
        [this](HostMessage message) { take_report(std::move(message)); });
    return part_->start(std::move(host), signals_.inherited());
  }

  /// Daemons start while this host's ranks do.
  Status start_daemons(const protocol::JobIdentity& identity) {
    HostOrders orders = plan_.orders;
    orders.identity = identity;
    std::vector<HostRanks> others;
    std::ranges::copy_if(plan_.hosts, std::back_inserter(others),
                         [](const HostRanks& one) { return !one.is_local; });
    connections_.open(std::move(orders), others);
    if (plan_.options.preload) {
      const Status status = send_program(plan_, [this](std::string piece) {
        connections_.send(
            {HostMessageType::kProgram, kEveryHost, 0, 0, 0, std::move(piece)});
      });
      if (status != Status::kOk) return status;
    }
    connections_.send({HostMessageType::kStart, kEveryHost});
    connections_.check();
    return Status::kOk;
  }

  Status open_input() {
    if (!plan_.options.reads_stdin) return Status::kOk;
    return input_.open(part_ ? part_->take_input() : UniqueFd());
  }

  // --- orders --------------------------------------------------------------

  /// Gives an order to one host, or to every host.
  void order(const HostMessage& message) {
    const bool is_for_all = message.host == kEveryHost;
    if (part_ && (is_for_all || message.host == own_number_)) {
      part_->take(message);
    }
    if (is_for_all || message.host != own_number_ || !part_) {
      connections_.send(message);
    }
  }

  void order_all(HostMessageType type,
                 std::int64_t value = 0,
                 std::string text = {}) {
    order({type, kEveryHost, 0, value, 0, std::move(text)});
  }

  // --- events --------------------------------------------------------------

  /// Reports come from this host and from all others.
  void take_report(HostMessage report) {
    own_stop_.note_turn(Clock::now());
    if (report.host >= plan_.hosts.size() ||
        (is_about_rank(report.type) && report.rank >= plan_.options.procs)) {
      return;
    }
    switch (report.type) {
      case HostMessageType::kStarted: take_start(report); break;
      case HostMessageType::kNotStarted: take_failed_start(report); break;
      case HostMessageType::kExited:
        errors_.note(report.rank, report.more);
        fail_if(
            bootstrap_.take_exit(report.rank, static_cast<int>(report.value)));
        break;
      case HostMessageType::kRankMessage:
        fail_if(bootstrap_.take_rank_message(std::move(report)));
        break;
      case HostMessageType::kBadMessage:
        fail({Cause::kProtocol,
              report.rank,
              bootstrap_.rollcall().pid(report.rank),
              0,
              "sent bytes over ACP_BOOTSTRAP_FD that make no sense",
              {}});
        break;
      case HostMessageType::kPublished: take_table(report); break;
      case HostMessageType::kAddress:
        bootstrap_.pass_on_card(std::move(report));
        break;
      case HostMessageType::kLooks: take_looks(report); break;
      case HostMessageType::kCounters:
        report_.take_counters(report.text);
        break;
      case HostMessageType::kOutput: take_output(report); break;
      case HostMessageType::kSay: output_.say(report.text); break;
      case HostMessageType::kInputTaken: input_.note_taken(report.value); break;
      case HostMessageType::kInputClosed: input_.note_closed(); break;
      case HostMessageType::kKeeperGone: take_keeper_end(report); break;
      case HostMessageType::kHostFailed: take_failed_host(report); break;
      case HostMessageType::kHostLost: take_lost_host(report); break;
      case HostMessageType::kDone: gone_.insert(report.host); break;
      case HostMessageType::kNetwork: take_network(report); break;
      default: break;
    }
  }

  static bool is_about_rank(HostMessageType type) {
    return type == HostMessageType::kStarted ||
           type == HostMessageType::kNotStarted ||
           type == HostMessageType::kExited ||
           type == HostMessageType::kRankMessage ||
           type == HostMessageType::kBadMessage;
  }

  const std::string& host_name_of(std::uint32_t host) const {
    return plan_.hosts[host].name;
  }

  void take_start(const HostMessage& report) {
    bootstrap_.note_start(report.rank,
                          static_cast<std::uint32_t>(report.value));
    report_.note_start(report.rank, report.text);
    if (!plan_.options.verbose) return;
    const std::string where =
        plan_.has_other_hosts() ? " on " + host_name_of(report.host) : "";
    output_.say(fmt::format("{}: rank {} is pid {}{}, {}\n", program_name(),
                            report.rank, report.value, where,
                            printable(report.text)));
  }

  void take_failed_start(const HostMessage& report) {
    Reason reason = decode_reason(report.text);
    fail({Cause::kNotStarted,
          report.rank,
          static_cast<std::uint32_t>(report.more),
          report.value,
          std::move(reason.text),
          {},
          std::move(reason.advice)});
  }

  void take_network(const HostMessage& report) {
    if (auto network = decode_host_network(report.text)) {
      networks_.note(report.host, std::move(*network));
    }
  }

  void take_table(const HostMessage& report) {
    if (bootstrap_.take_table(report.text)) return;
    fail({Cause::kHostLost,
          kNoRank,
          0,
          0,
          fmt::format("host {}: its daemon sent a table that makes no sense",
                      host_name_of(report.host)),
          {}});
  }

  void take_output(const HostMessage& report) {
    output_.write(static_cast<Output::Stream>(report.rank), report.text);
    owed_.emplace_back(report.host,
                       static_cast<std::int64_t>(report.text.size()));
  }

  /// While acprun's reader is slow, daemons get no credit, and read no more
  /// from their ranks.
  void return_credits() {
    if (owed_.empty() || output_.is_congested()) return;
    for (const auto& [host, bytes] : owed_) {
      connections_.send({HostMessageType::kCredit, host, 0, bytes, 0, {}});
    }
    owed_.clear();
  }

  void take_keeper_end(const HostMessage& report) {
    const bool is_here = part_ && report.host == own_number_;
    const auto status = static_cast<int>(report.value);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      Verdict verdict = without_rank(Cause::kKeeperLost, status,
                                     static_cast<std::uint32_t>(report.more));
      verdict.host = report.host;
      verdict.ranks = plan_.hosts[report.host].ranks.list();
      fail(std::move(verdict));
      // A keeper that died has left its children to acprun, a subreaper.
      if (is_here) {
        end_descendants(connections_.pids_and(older_children_),
                        JobVerdict::kKeeperLimit, own_keeper());
      }
    }
    if (is_here) gone_.insert(report.host);
  }

  pid_t own_keeper() const { return part_ ? part_->keeper_pid() : 0; }

  /// In a job on one host nothing is lost when acprun is stopped: the ranks
  /// wait for it, at the latest in acp_finalize.
  bool is_watched_by_keeper() const {
    return part_ && !part_->is_gone() && plan_.has_other_hosts();
  }

  void take_failed_host(const HostMessage& report) {
    Reason reason = decode_reason(report.text);
    Verdict verdict = without_rank(Cause::kHostFailed, report.value);
    verdict.text = describe_host(report.host) + ": " + reason.text;
    verdict.advice = std::move(reason.advice);
    fail(std::move(verdict));
  }

  void take_lost_host(const HostMessage& report) {
    Reason reason = decode_reason(report.text);
    Verdict verdict = without_rank(Cause::kHostLost, 0);
    verdict.text = describe_host(report.host) + ": " + reason.text;
    verdict.advice = std::move(reason.advice);
    fail(std::move(verdict));
    gone_.insert(report.host);
  }

  void take_signals() {
    while (const int signal = signals_.next()) {
      if (is_request_to_end(signal)) {
        interrupt(signal);
        continue;
      }
      verdict_.note_passed_on(signal);
      order_all(HostMessageType::kSignal, signal);
      if (signal == SIGTSTP) {
        order_all(HostMessageType::kPause);
        // acprun stops, and the shell shows its prompt. After "fg" acprun gets
        // SIGCONT and passes it on.
        ::kill(::getpid(), SIGSTOP);
        own_stop_.forgive(Clock::now());
      }
      if (signal == SIGCONT) input_.resume();
    }
  }

  void interrupt(int signal) {
    if (!verdict_.is_set() && signal == SIGINT) {
      output_.say(fmt::format(
          "{}: asks the ranks to end within {:g} s; ^C again kills them now\n",
          program_name(),
          std::chrono::duration<double>(plan_.options.grace).count()));
    }
    fail(without_rank(Cause::kInterrupted, signal));
    if (verdict_.is_asked_again(Clock::now())) {
      order_all(HostMessageType::kKill);
    }
  }

  void lose_output(int error) {
    Verdict verdict = without_rank(
        error == EPIPE ? Cause::kOutputClosed : Cause::kOutputFailed, 0);
    verdict.text =
        fmt::format("writing standard output: {}", errno_text(error));
    fail(std::move(verdict));
  }

  // --- looks ---------------------------------------------------------------

  /// Asks every host for a look at its ranks. take_looks() gets the answers.
  void ask_for_looks() {
    const auto begin = Clock::now();
    const std::int64_t round = round_.begin();
    connections_.send({HostMessageType::kLook, kEveryHost, 0, round, 0, {}});
    if (part_) round_.take(own_number_, round, part_->look());
    views_.note_look(begin, Clock::now());
    see_looks();
  }

  void take_looks(const HostMessage& report) {
    auto looks = decode_looks(report.text, plan_.options.procs);
    if (!looks) return;
    traffic_.note(*looks, hosts_);
    if (verdict_.is_set()) {
      std::ranges::move(*looks, std::back_inserter(looks_at_end_));
      return;
    }
    round_.take(report.host, report.value, std::move(*looks));
    see_looks();
  }

  /// The watchdog judges only looks of all hosts.
  void see_looks() {
    if (verdict_.is_set() || !round_.is_complete()) return;
    answer_viewers();
    const Options& options = plan_.options;
    if (options.watchdog.count() > 0) {
      fail_if(limits_->see(round_.looks(), bootstrap_.rollcall()));
    } else if (options.hang_notice.count() > 0) {
      tell_of_hang(limits_->see(round_.looks(), bootstrap_.rollcall()));
    }
  }

  /// Once for each time that the job stands still.
  void tell_of_hang(const std::optional<Verdict>& hang) {
    if (hang && !is_hang_told_) {
      output_.say(describe_hang(
          *hang, collect_waits(round_.looks(), bootstrap_.rollcall())));
    }
    is_hang_told_ = hang.has_value();
  }

  void answer_viewers() {
    if (!views_.is_asked()) return;
    const auto begin = Clock::now();
    views_.answer(view_of(round_.looks()));
    views_.rest_after(begin, Clock::now());
  }

  protocol::JobView view_of(std::span<const RankLook> looks) {
    return view_maker_.ranks(looks, bootstrap_.rollcall(), Clock::now());
  }

  /// Viewers see the last state of the ranks beside the reason of the end.
  void show_end(std::span<const RankLook> looks, std::string end) {
    if (!views_.has_viewers()) return;
    protocol::JobView view = view_of(looks);
    view.end = std::move(end);
    views_.finish(view);
  }

  // --- the end -------------------------------------------------------------

  /// A verdict on unlike calls waits for the calls of other ranks.
  /// check_deadlines() ends the wait.
  void fail_if(std::optional<Verdict> verdict) {
    if (!verdict) return;
    if (verdict->is_unlike) {
      locate(*verdict);
      verdict_.hold(std::move(*verdict), Clock::now());
    } else {
      fail(std::move(*verdict));
    }
  }

  /// The first failure ends the job; later ones follow from it. Daemons answer
  /// the order to end with looks, for the summary.
  void fail(Verdict verdict) {
    if (auto stop = blame_own_stop(verdict)) verdict = std::move(*stop);
    locate(verdict);
    if (!verdict_.set(std::move(verdict), Clock::now())) return;
    bootstrap_.stop_judging();
    if (part_) looks_at_end_ = part_->look();
    const std::string end =
        describe_end(verdict_.get(), where_it_failed(), waits());
    order_all(HostMessageType::kEnd, verdict_.grace().count(), end);
    show_end(looks_at_end_, end);
  }

  /// Hosts that end, and ranks that keepers kill, when acprun was stopped for
  /// too long are no cause. Their ends are only known when acprun runs again.
  std::optional<Verdict> blame_own_stop(const Verdict& verdict) const {
    const bool may_follow =
        verdict.cause == Cause::kHostLost ||
        verdict.cause == Cause::kKeeperLost ||
        (verdict.cause == Cause::kSignaled && verdict.value == SIGKILL);
    const auto stop = own_stop_.cause_at(Clock::now());
    if (!plan_.has_other_hosts() || !may_follow || !stop) return std::nullopt;
    Verdict own = without_rank(Cause::kHostLost, 0);
    own.text = fmt::format(
        "acprun itself (pid {} on {}) was stopped, or hung, for {:.0f} s, and "
        "the other hosts ended their parts of the job",
        ::getpid(), host_name(), std::chrono::duration<double>(*stop).count());
    own.advice =
        "see what stopped it: a stop of more than 9 s ends a job on several "
        "hosts, unless it comes by Ctrl-Z (SIGTSTP), which stops the ranks too";
    return own;
  }

  /// Writes into a verdict the host of its rank, and the rank's group.
  void locate(Verdict& verdict) const {
    if (verdict.rank != kNoRank) {
      verdict.host = hosts_.of(verdict.rank);
      const CommandGroup& group = group_of(plan_.orders.groups, verdict.rank);
      verdict.group = group.name;
      verdict.is_foreign = group.is_foreign;
    }
    if (verdict.cause == Cause::kWatchdog && !verdict.ranks.empty()) {
      verdict.host = hosts_.of(verdict.ranks.front());
    }
  }

  std::vector<RankWait> waits() const {
    return collect_waits(looks_at_end_, bootstrap_.rollcall());
  }

  std::string shown_name_of(std::uint32_t host) const {
    return networks_.name_of(host, host_name_of(host));
  }

  /// "host b with ranks 2-3"
  std::string describe_host(std::uint32_t host) const {
    return fmt::format("host {} with {}", shown_name_of(host),
                       describe_ranks(plan_.hosts[host].ranks.list()));
  }

  /// The host of the process that the verdict names. A limit of time concerns
  /// all hosts of the job, so it has a host only where the job has one. The
  /// other causes are acprun's own.
  std::string where_it_failed() const {
    const Verdict& verdict = verdict_.get();
    if (verdict.rank != kNoRank || verdict.cause == Cause::kKeeperLost) {
      return shown_name_of(verdict.host);
    }
    if (is_limit(verdict.cause) && plan_.hosts.size() > 1) {
      return verdict.pid == 0 ? "" : shown_name_of(verdict.host);
    }
    return plan_.host;
  }

  void check_deadlines() {
    const auto now = Clock::now();
    if (is_watched_by_keeper()) part_->keep_alive();
    views_.check(now);
    if (verdict_.is_set()) {
      // A keeper or a daemon does not do its work, for example because it was
      // stopped.
      if (verdict_.is_forced(now)) give_up_hosts();
      return;
    }
    const Rollcall& rollcall = bootstrap_.rollcall();
    if (verdict_.held() &&
        (rollcall.have_all_met() || verdict_.is_hold_over(now))) {
      fail(*verdict_.held());
      return;
    }
    fail_if(limits_->check(rollcall));
    if (!verdict_.is_set() &&
        (limits_->is_look_due() || views_.is_look_due(now))) {
      ask_for_looks();
    } else if (views_.is_answer_overdue(now)) {
      answer_viewers();
    }
    input_.resume();
  }

  void give_up_hosts() {
    if (part_) part_->give_up_keeper();  // wind_up() kills the keeper, too.
    connections_.kill();
    for (const HostRanks& host : plan_.hosts)
      gone_.insert(host.number);
  }

  milliseconds time_to_next_deadline() const {
    auto next = std::min({verdict_.next(), connections_.next(), input_.next()});
    if (is_watched_by_keeper()) next = std::min(next, part_->next_word());
    if (plan_.has_other_hosts()) next = std::min(next, own_stop_.next());
    if (!verdict_.is_set()) {
      next = std::min({next, limits_->next(), views_.next()});
    }
    if (next == Clock::time_point::max()) return kForEver;
    return std::max(std::chrono::ceil<milliseconds>(next - Clock::now()),
                    milliseconds(0));
  }

  /// Ends what is left of the tree, then delivers what the ranks wrote, then
  /// prints the summary: it has to be the last lines.
  int wind_up() {
    input_.stop();
    if (!verdict_.is_set()) {
      show_end(part_ ? part_->look() : std::vector<RankLook>{},
               std::string(kGoodEnd));
    }
    await_daemons();
    connections_.kill();
    // A keeper that died has left its children to acprun, a subreaper.
    end_descendants(older_children_, JobVerdict::kKeeperLimit, own_keeper());
    output_.finish_reading();
    if (part_) traffic_.note(part_->look(), hosts_);
    report_counts();
    if (verdict_.is_set() && verdict_.get().cause != Cause::kOutputClosed) {
      const bool has_line = !plan_.options.stats && has_losses(traffic_.rows());
      output_.say(summarize(verdict_.get(), where_it_failed(), waits(),
                            has_line ? traffic_line(traffic_.rows()) : "",
                            words_of_failed()));
    } else if (!verdict_.is_set()) {
      output_.say(errors_.line(fails_by_errors()));
    }
    while (!output_.is_flushed() &&
           Clock::now() < verdict_.give_up_output_at()) {
      const bool has_limit =
          verdict_.give_up_output_at() != Clock::time_point::max();
      loop_.turn(has_limit ? kOutputTick : kForEver);
    }
    return status();
  }

  /// A job that goes well has the status that ACP_ERRORS wants for its errors.
  int status() const {
    return verdict_.is_set() ? exit_status(verdict_.get())
                             : errors_.status(fails_by_errors());
  }

  bool fails_by_errors() const {
    return plan_.options.settings.text(SettingId::kErrors) == "fail";
  }

  void report_counts() {
    if (!plan_.orders.report_traffic) return;
    if (part_) report_.note_counters(part_->counters());
    const bool has_failed = verdict_.is_set();
    const std::string tables = report_.finish(
        status(), has_failed
                      ? describe_end(verdict_.get(), where_it_failed(), waits())
                      : std::string(kGoodEnd));
    if (plan_.options.stats) {
      output_.say(tables + traffic_table(traffic_.rows()));
    }
  }

  /// Daemons send output without the number of its rank.
  RankWords words_of_failed() const {
    if (!plan_.options.output_dir.empty()) return RankWords::kInFiles;
    const bool is_read_here = part_ && verdict_.get().host == own_number_;
    return is_read_here && !output_.has_text_of(verdict_.get().rank)
               ? RankWords::kNone
               : RankWords::kAbove;
  }

  /// Every host is done; the daemons end by themselves, from the leaves of the
  /// tree to its root.
  void await_daemons() {
    const auto deadline = Clock::now() + JobVerdict::kDaemonLimit;
    while (!connections_.are_over() && Clock::now() < deadline) {
      loop_.turn(milliseconds(5));
      connections_.check();
    }
  }

  const JobPlan& plan_;
  const Signals& signals_;
  /// Children of the process that became acprun by exec; they are spared.
  const std::vector<pid_t> older_children_;
  EventLoop loop_;
  const RankHosts hosts_;
  HostNetworks networks_;  ///< Hosts that have reported theirs.
  JobBootstrap bootstrap_;
  std::uint32_t own_number_ = kEveryHost;  ///< This host's, if it has ranks.
  Output output_{loop_, STDOUT_FILENO, STDERR_FILENO, [this](int error) {
                   lose_output(error);
                 }};
  std::optional<HostPart> part_;  ///< The part on this host, if it has ranks.
  DaemonConnections connections_{loop_, [this](HostMessage message) {
                                   take_report(std::move(message));
                                 }};
  JobInput input_{loop_, [this](std::string bytes) {
                    connections_.send({HostMessageType::kInput, hosts_.of(0), 0,
                                       0, 0, std::move(bytes)});
                  }};
  std::optional<TimeLimits> limits_;  ///< Since the start of the ranks.

  /// Output of hosts for which they have got no credit yet.
  std::vector<std::pair<std::uint32_t, std::int64_t>> owed_;
  LookRound round_;                     ///< The watchdog and viewers get it.
  bool is_hang_told_ = false;           ///< Since the job stands still.
  std::vector<RankLook> looks_at_end_;  ///< Since the verdict.
  JobTraffic traffic_;                  ///< The newest look of a host decides.
  RankErrors errors_;                   ///< Errors of ranks that have exited.
  ReportMaker report_;                  ///< Keeps nothing without --stats.
  ViewMaker view_maker_;
  ViewServer views_{loop_, [this] {
                      return view_maker_.job(Clock::now());
                    }};

  std::set<std::uint32_t> gone_;  ///< Hosts on which no rank is left.
  JobVerdict verdict_;
  OwnStop own_stop_;
};

}  // namespace

int run_job(const JobPlan& plan, const Signals& signals) {
  return Job(plan, signals).run();
}

}  // namespace acp::launcher
