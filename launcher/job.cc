// The event loop of one job, which launcher_main.cc runs. It starts the ranks
// of this host and the agents of the others. It reacts to messages, signals and
// deadlines, and decides with the first failure how the job ends. It never
// waits for a rank outside of the loop.
#include "launcher/job.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "launcher/agent_links.h"
#include "launcher/descendants.h"
#include "launcher/host_network.h"
#include "launcher/host_part.h"
#include "launcher/input.h"
#include "launcher/output.h"
#include "launcher/program.h"
#include "launcher/program_name.h"
#include "launcher/rank_hosts.h"
#include "launcher/rank_set.h"
#include "launcher/remote_streams.h"
#include "launcher/route.h"
#include "launcher/summary.h"
#include "launcher/table_pieces.h"
#include "launcher/time_limits.h"
#include "launcher/traffic_table.h"
#include "protocol/published_table.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using protocol::BootstrapMessage;
using protocol::BootstrapType;
using std::chrono::milliseconds;

/// Time between SIGTERM and SIGKILL when the job has failed by itself. A failed
/// job has to be over within 2 s, all steps together.
constexpr milliseconds kFailureGrace{1000};
/// Time beyond the grace period after which acprun does the keeper's work.
constexpr milliseconds kKeeperLimit{1000};
/// Time beyond that after which acprun gives up an agent.
constexpr milliseconds kAgentLimit{1000};
/// Time between two looks whether the terminal belongs to acprun again.
constexpr milliseconds kTerminalTick{500};
/// Bytes of one message with a piece of the program that --preload copies.
constexpr std::size_t kProgramPiece = 1 << 20;
/// Time for the other ranks of a job in unlike calls to come to theirs, so that
/// the summary names the calls. They usually come within a millisecond.
constexpr milliseconds kUnlikeLimit{200};
constexpr milliseconds kForEver{-1};

Verdict without_rank(Cause cause, std::int64_t value, std::uint32_t pid = 0) {
  return {cause, kNoRank, pid, value, {}, {}};
}

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};

// clang 14 does not deduce aggregates by itself.
template <typename... Cases>
Match(Cases...) -> Match<Cases...>;

/// Used by one thread, which alone reads and writes all fields.
///
/// Invariants:
///  1. verdict_ is set once, by fail(); later failures follow from it. Before
///     that a verdict on unlike calls may wait in unlike_, for kUnlikeLimit.
///  2. While verdict_ is set, force_at_ is finite, so the loop always ends.
///  3. A host is in gone_ when none of its ranks runs any more. The loop ends
///     when all hosts are; wind_up() then delivers what is left of the output.
class Job {
 public:
  Job(const JobPlan& plan, const Signals& signals)
      : plan_(plan),
        signals_(signals),
        older_children_(children_of(::getpid())),
        rollcall_(plan.options.procs),
        hosts_(plan.hosts),
        traffic_(plan.options.procs, plan.hosts) {
    for (const HostRanks& host : plan.hosts) {
      if (host.is_local) own_number_ = host.number;
    }
  }

  int run() {
    if (start() != Status::kOk) {
      end_descendants(older_children_, kKeeperLimit, own_keeper());
      return kStatusLauncher;
    }
    while (gone_.size() < plan_.hosts.size()) {
      loop_.turn(time_to_next_deadline());
      links_.check();
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
    Status status = loop_.open();
    if (status == Status::kOk) {
      status = loop_.watch(signals_.fd(), EPOLLIN, [this] { take_signals(); });
    }
    if (status == Status::kOk && plan_.has_other_hosts()) {
      status = start_agents(*identity);
    }
    if (status == Status::kOk && plan_.local) status = start_here(*identity);
    limits_.emplace(plan_.options);
    return status == Status::kOk ? open_input() : status;
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

  /// Agents start while this host's ranks do.
  Status start_agents(const protocol::JobIdentity& identity) {
    HostOrders orders = plan_.orders;
    orders.identity = identity;
    std::vector<HostRanks> others;
    std::ranges::copy_if(plan_.hosts, std::back_inserter(others),
                         [](const HostRanks& one) { return !one.is_local; });
    links_.open(std::move(orders), others);
    if (plan_.options.preload) {
      const Status status = send_program();
      if (status != Status::kOk) return status;
    }
    links_.send({HostMessageType::kStart, kEveryHost});
    links_.check();
    return Status::kOk;
  }

  /// The agents get the file in pieces, which bounds a message. A relative name
  /// counts from the directory of the job, as it does for the ranks of this
  /// host.
  Status send_program() {
    auto found = find_program(plan_.options.command.front(),
                              plan_.options.directory, path_variable());
    const auto* name = std::get_if<std::string>(&found);
    std::ifstream file;
    if (name != nullptr) {
      file.open(
          name->starts_with('/') ? *name : plan_.orders.directory + "/" + *name,
          std::ios::binary);
    }
    if (name == nullptr || !file) {
      log_error("--preload: {} cannot be read", plan_.options.command.front());
      return Status::kSystem;
    }
    std::string piece(kProgramPiece, '\0');
    while (file.read(piece.data(), kProgramPiece) || file.gcount() > 0) {
      links_.send({HostMessageType::kProgram, kEveryHost, 0, 0, 0,
                   piece.substr(0, static_cast<std::size_t>(file.gcount()))});
    }
    return Status::kOk;
  }

  std::string path_variable() const {
    for (const std::string& entry : plan_.orders.environment) {
      if (entry.starts_with("PATH=")) return entry.substr(5);
    }
    return "";
  }

  /// Standard input goes into a pipe: that of the rank, or one whose other end
  /// is sent to the rank's host.
  Status open_input() {
    if (!plan_.options.reads_stdin) return Status::kOk;
    UniqueFd pipe = part_ ? part_->take_input() : UniqueFd();
    if (!pipe) {
      std::array<int, 2> ends{};
      if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        log_error("pipe: {}", errno_text(errno));
        return Status::kSystem;
      }
      pipe.reset(ends[1]);
      sender_.emplace(loop_, UniqueFd(ends[0]), [this](std::string bytes) {
        links_.send(
            {HostMessageType::kInput, hosts_.of(0), 0, 0, 0, std::move(bytes)});
      });
    }
    input_.emplace(loop_, STDIN_FILENO, std::move(pipe));
    input_->start();
    return Status::kOk;
  }

  // --- orders --------------------------------------------------------------

  /// Gives an order to one host, or to every host.
  void order(const HostMessage& message) {
    const bool is_for_all = message.host == kEveryHost;
    if (part_ && (is_for_all || message.host == own_number_)) {
      part_->take(message);
    }
    if (is_for_all || message.host != own_number_ || !part_) {
      links_.send(message);
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
    if (report.host >= plan_.hosts.size() ||
        (is_about_rank(report.type) && report.rank >= rollcall_.size())) {
      return;
    }
    switch (report.type) {
      case HostMessageType::kStarted: take_start(report); break;
      case HostMessageType::kNotStarted: take_failed_start(report); break;
      case HostMessageType::kExited:
        fail_if(rollcall_.on_exit(report.rank, static_cast<int>(report.value)));
        break;
      case HostMessageType::kRankMessage: take_rank_message(report); break;
      case HostMessageType::kBadMessage:
        fail({Cause::kProtocol,
              report.rank,
              rollcall_.pid(report.rank),
              0,
              "sent bytes over ACP_BOOTSTRAP_FD that make no sense",
              {}});
        break;
      case HostMessageType::kPublished: take_table(report); break;
      case HostMessageType::kAddress: pass_on_card(report); break;
      case HostMessageType::kLooks: take_looks(report); break;
      case HostMessageType::kOutput: take_output(report); break;
      case HostMessageType::kSay: output_.say(report.text); break;
      case HostMessageType::kInputTaken:
        if (sender_) sender_->note_taken(report.value);
        break;
      case HostMessageType::kInputClosed:
        if (sender_) sender_->close();
        break;
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
    rollcall_.set_pid(report.rank, static_cast<std::uint32_t>(report.value));
    if (!plan_.options.verbose) return;
    const std::string where =
        plan_.has_other_hosts() ? " on " + host_name_of(report.host) : "";
    output_.say(fmt::format("{}: rank {} is pid {}{}, {}\n", program_name(),
                            report.rank, report.value, where, report.text));
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

  /// Absences and requests for address cards are passed on between hosts, even
  /// after the verdict: ranks that end in order still need both.
  void take_rank_message(HostMessage& report) {
    const auto type = static_cast<BootstrapType>(report.value);
    if (type == BootstrapType::kAbsent) {
      take_absence(report.rank, static_cast<std::uint64_t>(report.more));
      return;
    }
    if (type == BootstrapType::kWantAddress && is_rank(report.more)) {
      const auto wanted = static_cast<std::uint32_t>(report.more);
      order({HostMessageType::kWantAddress,
             hosts_.of(wanted),
             wanted,
             report.rank,
             0,
             {}});
      return;
    }
    if (verdict_) return;
    const BootstrapMessage message{
        type, static_cast<std::uint64_t>(report.more), std::move(report.text)};
    answer(report.rank, rollcall_.on_message(report.rank, message));
  }

  /// The last tables go out before the Go of their phase: a rank that has read
  /// Go may look an address up at once.
  void answer(std::uint32_t rank, Answer answer) {
    std::visit(
        Match{
            [](Nothing) {},
            [&](SayWelcome) {
              order(
                  {HostMessageType::kWelcome, hosts_.of(rank), rank, 0, 0, {}});
            },
            [&](SayGo go) {
              absences_.clear_resetting();
              if (go.phase == protocol::Phase::kNetwork) {
                tell_lost_hosts();
              }
              tables_.send_rest();
              order_all(HostMessageType::kGo,
                        static_cast<std::int64_t>(go.phase));
            },
            [&](Verdict& verdict) {
              if (verdict.is_unlike) {
                await_others(std::move(verdict));
              } else {
                fail(std::move(verdict));
              }
            }},
        answer);
  }

  /// Ranks that arrive meanwhile give further verdicts on unlike calls.
  /// check_deadlines() ends the wait.
  void await_others(Verdict verdict) {
    if (unlike_) return;
    unlike_ = std::move(verdict);
    fail_unlike_at_ = Clock::now() + kUnlikeLimit;
  }

  void take_network(const HostMessage& report) {
    if (auto network = decode_host_network(report.text)) {
      networks_.note(report.host, std::move(*network));
    }
  }

  /// Ranks open sockets after Go(kNetwork). On a host that knows no address of
  /// the others they would take loopback. They get the reason: only then does
  /// opening fail, and programs that need no such socket run. Every host has
  /// reported its network before its ranks arrived.
  void tell_lost_hosts() {
    for (HostNetworks::LostHost& one : networks_.without_route()) {
      order({HostMessageType::kNoRoute, one.host, 0, 0, 0, std::move(one.why)});
    }
  }

  /// Hosts are told of an absence that changes their word: in the usual job the
  /// absence of the first rank.
  void take_absence(std::uint32_t rank, std::uint64_t word) {
    if (word == 0) return;
    const auto absence = protocol::Absence::of(word);
    if (absences_.enter(absence)) {
      order_all(HostMessageType::kAbsent, static_cast<std::int64_t>(word));
    }
    if (!verdict_) answer(rank, rollcall_.on_absence(rank, absence));
  }

  bool is_rank(std::int64_t value) const {
    return value >= 0 && value < std::int64_t{rollcall_.size()};
  }

  void pass_on_card(HostMessage& report) {
    if (!is_rank(report.value)) return;
    report.host = hosts_.of(static_cast<std::uint32_t>(report.value));
    order(report);
  }

  /// A host sends its table before the arrival of its last rank, so the tables
  /// are complete when every rank has arrived.
  void take_table(const HostMessage& report) {
    if (!protocol::is_table(report.text, rollcall_.size(),
                            plan_.orders.sizes.card_bytes)) {
      fail({Cause::kHostLost,
            kNoRank,
            0,
            0,
            fmt::format("host {}: its agent sent a table that makes no sense",
                        host_name_of(report.host)),
            {}});
      return;
    }
    tables_.add(report.text);
  }

  void take_output(const HostMessage& report) {
    output_.write(static_cast<Output::Stream>(report.rank), report.text);
    owed_.emplace_back(report.host,
                       static_cast<std::int64_t>(report.text.size()));
  }

  /// While acprun's reader is slow, agents get no credit, and read no more from
  /// their ranks.
  void return_credits() {
    if (owed_.empty() || output_.is_congested()) return;
    for (const auto& [host, bytes] : owed_) {
      links_.send({HostMessageType::kCredit, host, 0, bytes, 0, {}});
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
        end_descendants(links_.pids_and(older_children_), kKeeperLimit,
                        own_keeper());
      }
    }
    if (is_here) gone_.insert(report.host);
  }

  pid_t own_keeper() const { return part_ ? part_->keeper_pid() : 0; }

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
      passed_on_.insert(signal);
      order_all(HostMessageType::kSignal, signal);
      if (signal == SIGTSTP) {
        links_.send({HostMessageType::kPause, kEveryHost});
        // acprun stops, and the shell shows its prompt. After "fg" acprun gets
        // SIGCONT and passes it on.
        ::kill(::getpid(), SIGSTOP);
      }
      if (signal == SIGCONT && input_ && input_->is_paused()) input_->start();
    }
  }

  void interrupt(int signal) {
    if (!verdict_ && signal == SIGINT) {
      output_.say(fmt::format(
          "{}: asks the ranks to end within {:g} s; ^C again kills them now\n",
          program_name(),
          std::chrono::duration<double>(plan_.options.grace).count()));
    }
    fail(without_rank(Cause::kInterrupted, signal));
    if (++interrupts_ > 1) {
      // A user who asks twice does not want to wait.
      order_all(HostMessageType::kKill);
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

  // --- looks ---------------------------------------------------------------

  /// Asks every host for a look at its ranks. take_looks() gets the answers.
  void ask_for_looks() {
    ++look_round_;
    looks_.clear();
    looked_.clear();
    links_.send({HostMessageType::kLook, kEveryHost, 0, look_round_, 0, {}});
    if (part_) {
      looks_ = part_->look();
      looked_.insert(own_number_);
    }
    see_looks();
  }

  void take_looks(const HostMessage& report) {
    auto looks = decode_looks(report.text, rollcall_.size());
    if (!looks) return;
    traffic_.note(*looks, hosts_);
    if (verdict_) {
      std::ranges::move(*looks, std::back_inserter(looks_));
      return;
    }
    if (report.value != look_round_) return;
    std::ranges::move(*looks, std::back_inserter(looks_));
    looked_.insert(report.host);
    see_looks();
  }

  /// The watchdog judges only looks of all hosts.
  void see_looks() {
    if (!verdict_ && looked_.size() == plan_.hosts.size()) {
      std::ranges::sort(looks_, {}, &RankLook::launch_rank);
      fail_if(limits_->see(looks_, rollcall_));
    }
  }

  // --- the end -------------------------------------------------------------

  void fail_if(std::optional<Verdict> verdict) {
    if (verdict) fail(std::move(*verdict));
  }

  /// The first failure ends the job; later ones follow from it. Agents answer
  /// the order to end with looks, for the summary.
  void fail(Verdict verdict) {
    if (verdict_) return;
    if (unlike_) verdict = *unlike_;
    if (verdict.cause == Cause::kSignaled &&
        passed_on_.count(static_cast<int>(verdict.value)) != 0) {
      verdict = without_rank(Cause::kInterrupted, verdict.value);
    }
    if (verdict.rank != kNoRank) {
      verdict.host = hosts_.of(verdict.rank);
      const CommandGroup& group = group_of(plan_.orders.groups, verdict.rank);
      verdict.group = group.name;
      verdict.is_foreign = group.is_foreign;
    }
    if (verdict.cause == Cause::kWatchdog && !verdict.ranks.empty()) {
      verdict.host = hosts_.of(verdict.ranks.front());
    }
    verdict_ = std::move(verdict);
    rollcall_at_end_ = rollcall_;
    looks_ = part_ ? part_->look() : std::vector<RankLook>{};
    const bool is_asked_for = verdict_->cause == Cause::kInterrupted ||
                              verdict_->cause == Cause::kTimeout;
    const milliseconds grace =
        is_asked_for ? plan_.options.grace
                     : std::min(plan_.options.grace, kFailureGrace);
    order_all(HostMessageType::kEnd, grace.count(),
              describe_end(*verdict_, where_it_failed(), waits()));
    force_at_ = Clock::now() + grace + kKeeperLimit;
    if (plan_.has_other_hosts()) force_at_ += kAgentLimit;
    if (is_asked_for) give_up_output_at_ = force_at_;
  }

  std::vector<RankWait> waits() const {
    return collect_waits(looks_, *rollcall_at_end_);
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
    if (verdict_->rank != kNoRank || verdict_->cause == Cause::kKeeperLost) {
      return shown_name_of(verdict_->host);
    }
    if (is_limit(verdict_->cause) && plan_.hosts.size() > 1) {
      return verdict_->pid == 0 ? "" : shown_name_of(verdict_->host);
    }
    return plan_.host;
  }

  void check_deadlines() {
    if (verdict_) {
      // A keeper or an agent does not do its work, for example because it was
      // stopped.
      if (Clock::now() >= force_at_) give_up_hosts();
      return;
    }
    if (unlike_ &&
        (rollcall_.have_all_met() || Clock::now() >= fail_unlike_at_)) {
      fail(*unlike_);
      return;
    }
    fail_if(limits_->check(rollcall_));
    if (!verdict_ && limits_->is_look_due()) ask_for_looks();
    if (input_ && input_->is_paused()) input_->start();
  }

  void give_up_hosts() {
    if (part_) part_->give_up_keeper();  // wind_up() kills the keeper, too.
    links_.kill();
    for (const HostRanks& host : plan_.hosts)
      gone_.insert(host.number);
  }

  milliseconds time_to_next_deadline() const {
    auto next =
        verdict_ ? force_at_ : std::min(limits_->next(), fail_unlike_at_);
    next = std::min(next, links_.next());
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
    sender_.reset();
    await_agents();
    links_.kill();
    // A keeper that died has left its children to acprun, a subreaper.
    end_descendants(older_children_, kKeeperLimit, own_keeper());
    output_.finish_reading();
    if (part_) traffic_.note(part_->look(), hosts_);
    if (plan_.options.stats) output_.say(traffic_table(traffic_.rows()));
    if (verdict_ && verdict_->cause != Cause::kOutputClosed) {
      const bool has_line = !plan_.options.stats && has_losses(traffic_.rows());
      output_.say(summarize(*verdict_, where_it_failed(), waits(),
                            has_line ? traffic_line(traffic_.rows()) : "",
                            words_of_failed()));
    }
    while (!output_.is_flushed() && Clock::now() < give_up_output_at_) {
      const bool has_limit = give_up_output_at_ != Clock::time_point::max();
      loop_.turn(has_limit ? kTerminalTick : kForEver);
    }
    return verdict_ ? exit_status(*verdict_) : 0;
  }

  /// Agents send output without the number of its rank.
  RankWords words_of_failed() const {
    if (!plan_.options.output_dir.empty()) return RankWords::kInFiles;
    const bool is_read_here = part_ && verdict_->host == own_number_;
    return is_read_here && !output_.has_text_of(verdict_->rank)
               ? RankWords::kNone
               : RankWords::kAbove;
  }

  /// Every host is done; the agents end by themselves, from the leaves of the
  /// tree to its root.
  void await_agents() {
    const auto deadline = Clock::now() + kAgentLimit;
    while (!links_.are_over() && Clock::now() < deadline) {
      loop_.turn(milliseconds(5));
      links_.check();
    }
  }

  const JobPlan& plan_;
  const Signals& signals_;
  /// Children of the process that became acprun by exec; they are spared.
  const std::vector<pid_t> older_children_;
  EventLoop loop_;
  Rollcall rollcall_;
  const RankHosts hosts_;
  std::uint32_t own_number_ = kEveryHost;  ///< This host's, if it has ranks.
  Output output_{loop_, STDOUT_FILENO, STDERR_FILENO, [this](int error) {
                   lose_output(error);
                 }};
  std::optional<HostPart> part_;  ///< The part on this host, if it has ranks.
  AgentLinks links_{loop_, [this](HostMessage message) {
                      take_report(std::move(message));
                    }};
  std::optional<InputSender> sender_;  ///< Where rank 0 is on another host.
  std::optional<Input> input_;
  std::optional<TimeLimits> limits_;  ///< Since the start of the ranks.

  /// The hosts that have come to the phase under way have sent these.
  TablePieces tables_{[this](std::string piece) {
    order_all(HostMessageType::kTable, 0, std::move(piece));
  }};
  /// HostHeader::absences, as all hosts have been told.
  protocol::Absences absences_{};
  /// Output of hosts for which they have got no credit yet.
  std::vector<std::pair<std::uint32_t, std::int64_t>> owed_;
  HostNetworks networks_;           ///< Hosts that have reported theirs.
  std::vector<RankLook> looks_;     ///< Looks of this round, or at the end.
  std::set<std::uint32_t> looked_;  ///< Hosts whose looks are there.
  std::int64_t look_round_ = 0;
  JobTraffic traffic_;  ///< The newest look of a host decides.

  std::set<std::uint32_t> gone_;  ///< Hosts on which no rank is left.
  std::set<int> passed_on_;       ///< Signals that acprun sent to the ranks.
  std::optional<Verdict> verdict_;
  std::optional<Verdict> unlike_;  ///< Becomes verdict_ at fail_unlike_at_.
  Clock::time_point fail_unlike_at_ = Clock::time_point::max();
  std::optional<Rollcall> rollcall_at_end_;  ///< At the time of the verdict.
  /// Time to do the keeper's work; set by fail().
  Clock::time_point force_at_ = Clock::time_point::max();
  /// Time to give up a slow reader of the output; only where the user asked for
  /// the end.
  Clock::time_point give_up_output_at_ = Clock::time_point::max();
  int interrupts_ = 0;  ///< Requests to end by signal.
};

}  // namespace

int run_job(const JobPlan& plan, const Signals& signals) {
  return Job(plan, signals).run();
}

}  // namespace acp::launcher
