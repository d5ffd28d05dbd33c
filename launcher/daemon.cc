// The event loop of a daemon. launcher_main.cc runs it for `acprun --daemon`.
// It carries messages between acprun and the part of the job on its host, and
// passes on messages to and from daemons below it. When standard input closes,
// it ends the part of the job on its host. It may not block on acprun, which
// may be slow to read, and acprun alone decides how the job ends.
#include "launcher/daemon.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>

#include "base/host_facts.h"
#include "base/log.h"
#include "base/secret_memory.h"
#include "launcher/copied_program.h"
#include "launcher/daemon_connections.h"
#include "launcher/descendants.h"
#include "launcher/heartbeat.h"
#include "launcher/host_network.h"
#include "launcher/host_part.h"
#include "launcher/pipe.h"
#include "launcher/remote_streams.h"
#include "launcher/route.h"
#include "launcher/verdict.h"
#include "launcher/write_queue.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Used by one thread, which alone touches all fields.
class Daemon {
 public:
  explicit Daemon(const Signals& signals)
      : signals_(signals), older_children_(children_of(::getpid())) {}

  /// The daemon is a subreaper, so processes of a rank whose keeper dies become
  /// its children, and wind_up() finds them. Its descriptors do not block:
  /// acprun may be slow to read, and signals have to be served meanwhile.
  int run() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    set_nonblocking(STDIN_FILENO);
    set_nonblocking(STDOUT_FILENO);
    Status status = loop_.open();
    if (status == Status::kOk) {
      status = loop_.watch(STDIN_FILENO, EPOLLIN, [this] { on_readable(); });
    }
    if (status == Status::kOk) {
      status = loop_.watch(signals_.fd(), EPOLLIN, [this] { take_signals(); });
    }
    if (status != Status::kOk) return kStatusLauncher;
    queue_.push(std::make_shared<const std::string>(daemon_greeting()));
    flush();
    while (!has_given_up_ && !is_finished()) {
      loop_.turn(time_to_next_deadline());
      check();
    }
    return wind_up();
  }

 private:
  // --- acprun's side -------------------------------------------------------

  /// The secret comes first. It goes from the pipe to where it stays.
  void on_readable() {
    if (secret_bytes_ < sizeof(protocol::JobSecret)) {
      secret_bytes_ +=
          read_from_acprun(secret_->data() + secret_bytes_,
                           sizeof(protocol::JobSecret) - secret_bytes_);
      return;
    }
    std::array<char, 65536> buffer{};
    const std::size_t bytes = read_from_acprun(buffer.data(), buffer.size());
    reader_.feed({buffer.data(), bytes});
    while (auto message = reader_.next())
      take_order(*message);
    if (reader_.is_broken()) {
      log_error("acprun sent bytes that make no sense");
      give_up();
    }
  }

  /// Returns the number of bytes; 0: there are none, or this daemon ends.
  std::size_t read_from_acprun(void* at, std::size_t bytes) {
    const ssize_t n = ::read(STDIN_FILENO, at, bytes);
    if (n > 0) {
      heartbeat_.hear(Clock::now());
      return static_cast<std::size_t>(n);
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      if (n < 0) log_error("acprun's orders: {}", errno_text(errno));
      give_up();
    }
    return 0;
  }

  /// Ends the host's part of the job without an order. acprun, or the daemon
  /// above, is gone or sent damaged bytes, or a signal ends this daemon. The
  /// caller logs the cause, unless the connection to acprun has closed.
  void give_up() { has_given_up_ = true; }

  void send(const HostMessage& message) {
    queue_.push(
        std::make_shared<const std::string>(encode_host_message(message)));
    if (queue_.size() == 1) flush();
  }

  void send(HostMessageType type,
            std::int64_t value = 0,
            std::string text = {}) {
    send({type, host_, 0, value, 0, std::move(text)});
  }

  /// Writes until the pipe is full, and then waits for room in the event loop.
  void flush() {
    switch (queue_.write_to(STDOUT_FILENO)) {
      case WriteQueue::Outcome::kAllWritten: loop_.forget(STDOUT_FILENO); break;
      case WriteQueue::Outcome::kFull:
        if (loop_.watch(STDOUT_FILENO, EPOLLOUT, [this] { flush(); }) !=
            Status::kOk) {
          give_up();
        }
        break;
      case WriteQueue::Outcome::kBroken:
        give_up();
        queue_.clear();
        break;
    }
  }

  // --- orders --------------------------------------------------------------

  /// Orders for other hosts go down the tree before this host obeys: an end
  /// must reach the others even if it ends this daemon. kAlive is not passed
  /// on, because each connection has its own heartbeat. Before an end the looks
  /// are sent, because the ranks are gone after it.
  void take_order(const HostMessage& order) {
    if (order.type == HostMessageType::kOrders) {
      take_orders(order.text);
      return;
    }
    if (!orders_) return;
    if (order.host == kEveryHost || order.host != host_) {
      if (order.type != HostMessageType::kAlive) connections_.send(order);
    }
    if (order.host != kEveryHost && order.host != host_) return;
    switch (order.type) {
      case HostMessageType::kProgram: program_.append(order.text); break;
      case HostMessageType::kStart: start(); break;
      case HostMessageType::kCredit:
        output_room_ += order.value;
        if (output_) output_->flush_all();
        break;
      case HostMessageType::kInput:
        if (input_) input_->take(order.text);
        break;
      case HostMessageType::kLook: send_looks(order.value); break;
      case HostMessageType::kPause: heartbeat_.pause(); break;
      case HostMessageType::kEnd:
        send_looks(0);
        end(order);
        break;
      default:
        if (part_ && !is_part_done_) part_->take(order);
    }
  }

  void take_orders(std::string_view text) {
    orders_ = decode_orders(text);
    if (!orders_) {
      log_error("acprun's orders make no sense");
      give_up();
      return;
    }
    orders_->identity.secret = secret_;
    const HostRanks& own = orders_->hosts.front();
    host_ = own.number;
    set_log_prefix(fmt::format("acprun on {}", own.name));
    output_room_ = orders_->output_window;
    output_.emplace(loop_, make_sink(Output::Stream::kOut),
                    make_sink(Output::Stream::kErr));
    connections_.open(*orders_, std::span(orders_->hosts).subspan(1));
  }

  std::unique_ptr<OutputSink> make_sink(Output::Stream stream) {
    return std::make_unique<MessageSink>(
        output_room_, [this, stream](std::string lines) {
          send({HostMessageType::kOutput, host_,
                static_cast<std::uint32_t>(stream), 0, 0, std::move(lines)});
        });
  }

  /// The directory first: a program's name may be relative to it.
  void start() {
    if (part_ || is_part_done_) return;
    const std::string& directory = orders_->directory;
    if (::chdir(directory.c_str()) != 0) {
      fail(kStatusLauncher,
           fmt::format("directory {}: {}", directory, errno_text(errno)),
           "give a directory that every host has with --wdir");
      return;
    }
    std::string program;
    if (!orders_->program_name.empty()) {
      auto copied = program_.finish(orders_->program_name);
      if (!copied.ok()) {
        fail(kStatusLauncher, "the program could not be copied", "");
        return;
      }
      program = *copied;
    }
    auto prepared = prepare_host(*orders_, program);
    if (const auto* exit = std::get_if<EarlyExit>(&prepared)) {
      fail(exit->status, exit->text,
           "the program has to be there on every host; --preload copies it");
      return;
    }
    work_ = std::move(std::get<HostWork>(prepared));
    work_->copied_program = program;
    if (orders_->report_bindings) {
      send(HostMessageType::kSay, 0,
           describe_bindings(*work_, orders_->hosts.front().name));
    }
    protocol::HostPlan plan;
    plan.identity = orders_->identity;
    plan.sizes = orders_->sizes;
    const Route route = route_to(orders_->routes, orders_->hosts.front().name);
    plan.route_to = route.address;
    send(HostMessageType::kNetwork, 0,
         encode_host_network(describe_network(route)));
    part_.emplace(host_, *work_, loop_, *output_,
                  [this](const HostMessage& message) { take_report(message); });
    if (part_->start(std::move(plan), signals_.inherited()) != Status::kOk) {
      fail(kStatusLauncher, "its ranks could not be started, as it says above",
           "");
      return;
    }
    has_started_ = true;
    if (UniqueFd pipe = part_->take_input()) {
      input_.emplace(
          loop_, std::move(pipe),
          [this](std::int64_t bytes) {
            send(HostMessageType::kInputTaken, bytes);
          },
          [this] { send(HostMessageType::kInputClosed); });
    }
  }

  void fail(int status, std::string text, std::string advice) {
    send(HostMessageType::kHostFailed, status,
         encode_reason({std::move(text), std::move(advice)}));
    finish_part();
  }

  void send_looks(std::int64_t value) {
    send(HostMessageType::kLooks, value,
         encode_looks(part_ && has_started_ ? part_->look()
                                            : std::vector<RankLook>{}));
  }

  /// The counts are final: the ranks have ended.
  void send_counts() {
    send_looks(kLastLook);
    if (!part_ || !has_started_) return;
    for (const RankCounters& one : part_->counters())
      send(HostMessageType::kCounters, 0, encode_counters(one));
  }

  /// A host whose ranks have not started yet is done at once.
  void end(const HostMessage& order) {
    if (!part_ || is_part_done_) {
      finish_part();
      return;
    }
    part_->take(order);
    kill_at_ = std::min(
        kill_at_, Clock::now() + milliseconds(order.value) + kKeeperLimit);
  }

  // --- this host -----------------------------------------------------------

  void take_report(const HostMessage& message) {
    send(message);
    if (message.type == HostMessageType::kKeeperGone) finish_part();
  }

  /// Ends what is left of the tree, reads what the ranks wrote, and says Done
  /// when acprun has room for all of it.
  void finish_part() {
    if (is_part_done_) return;
    is_part_done_ = true;
    input_.reset();
    program_.remove();  // Before the keeper, which would do it, may be killed.
    if (part_) {
      end_descendants(connections_.pids_and(older_children_), kKillLimit,
                      own_keeper());
    }
    if (output_) output_->finish_reading();
  }

  pid_t own_keeper() const { return part_ ? part_->keeper_pid() : 0; }

  void take_signals() {
    while (const int signal = signals_.next()) {
      if (!is_request_to_end(signal) && signal != SIGHUP) continue;
      log_error("ended by {}", describe_signal(signal));
      give_up();
    }
  }

  /// Done is sent last: acprun reads no output and no looks of this host after
  /// it. The heartbeat goes on until acprun closes the connection.
  void check() {
    const auto now = Clock::now();
    connections_.check();
    if (is_part_running()) part_->keep_alive();
    if (now >= kill_at_ && part_ && !part_->is_gone()) {
      part_->give_up_keeper();
      send(HostMessageType::kKeeperGone);
      finish_part();
    }
    if (is_part_done_ && !has_said_done_ &&
        (!output_ || output_->is_flushed())) {
      has_said_done_ = true;
      if (orders_ && orders_->report_traffic) send_counts();
      send(HostMessageType::kDone);
    }
    if (heartbeat_.is_word_due(now)) send(HostMessageType::kAlive);
    if (heartbeat_.is_silent(now) && !has_given_up_) {
      log_error("nothing was heard from acprun for {} s",
                Heartbeat::kSilence.count());
      give_up();
    }
  }

  milliseconds time_to_next_deadline() const {
    auto next = std::min({heartbeat_.next(), connections_.next(), kill_at_});
    if (is_part_running()) next = std::min(next, part_->next_word());
    return std::max(std::chrono::ceil<milliseconds>(next - Clock::now()),
                    milliseconds(0));
  }

  bool is_part_running() const { return has_started_ && !is_part_done_; }

  bool is_finished() const {
    return has_said_done_ && connections_.are_over() && queue_.size() == 0;
  }

  int wind_up() {
    program_.remove();  // Before the keeper, which would do it, is killed.
    connections_.kill();
    input_.reset();
    end_descendants(older_children_, kKillLimit, own_keeper());
    return has_given_up_ ? kStatusLauncher : 0;
  }

  /// The keeper's time beyond the grace of the ranks, which it ends itself.
  /// After that the daemon gives it up, and wind_up() ends the ranks. Longer
  /// only delays the end of a job; shorter meets keepers on loaded hosts.
  static constexpr milliseconds kKeeperLimit{1000};

  const Signals& signals_;
  const std::vector<pid_t> older_children_;
  EventLoop loop_;
  std::shared_ptr<protocol::JobSecret> secret_ =
      make_shared_secret<protocol::JobSecret>();
  std::size_t secret_bytes_ = 0;  ///< Bytes of it that acprun has sent.
  HostMessageReader reader_;
  WriteQueue queue_;  ///< Messages for acprun.
  Heartbeat heartbeat_;
  std::optional<HostOrders> orders_;
  std::uint32_t host_ = 0;
  std::int64_t output_room_ = 0;  ///< Bytes that acprun has room for.
  CopiedProgram program_;
  std::optional<HostWork> work_;
  std::optional<Output> output_;
  std::optional<HostPart> part_;
  std::optional<RankInput> input_;
  DaemonConnections connections_{loop_, [this](const HostMessage& message) {
                                   send(message);
                                 }};
  /// Time to do the keeper's work, after kEnd.
  Clock::time_point kill_at_ = Clock::time_point::max();
  bool has_started_ = false;  ///< part_ has its segment and its keeper.
  bool is_part_done_ = false;
  bool has_said_done_ = false;
  bool has_given_up_ = false;  ///< Set by give_up().
};

}  // namespace

int run_daemon(const Signals& signals) {
  return Daemon(signals).run();
}

}  // namespace acp::launcher
