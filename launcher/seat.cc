// The process of a seat. The keeper has started it with the descriptors and the
// variables of a rank. It waits for the join command, gives it both, and may
// not end before the rank's program. The seat of the first rank is the parent
// of mpirun, so the keeper finds mpirun among its descendants.
#include "launcher/seat.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "base/file_size_signal.h"
#include "base/log.h"
#include "launcher/child.h"
#include "launcher/early_exit.h"
#include "launcher/mpi_rank.h"
#include "launcher/program.h"
#include "launcher/seat_socket.h"
#include "launcher/verdict.h"
#include "launcher/words.h"
#include "protocol/bootstrap.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Time for a better reason. A failure of one process makes mpirun fail, too,
/// and then the process is the reason.
constexpr milliseconds kAfterLauncher{1000};
/// mpirun kills its processes, the join commands among them, when one of them
/// calls MPI_Abort. Then the status of mpirun is the reason.
constexpr milliseconds kAfterJoin{3000};

/// Milliseconds between two tries to take a connection without a descriptor.
constexpr int kAcceptPause = 100;

/// An unnamed file with this text; its path works while this process lives.
std::string publish(const std::string& text, UniqueFd& file) {
  const NoFileSizeSignal no_signal;
  file.reset(::memfd_create("acp-hosts", MFD_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) !=
                   static_cast<ssize_t>(text.size())) {
    log_error("a list of hosts for the launcher: {}", errno_text(errno));
    return "";
  }
  return fmt::format("/proc/{}/fd/{}", ::getpid(), file.get());
}

/// Used by the process's only thread.
class Seat {
 public:
  Seat(const SeatOrders& orders, std::uint32_t rank, int bootstrap)
      : orders_(orders), rank_(rank), bootstrap_(bootstrap) {}

  /// Returns the exit status, where the seat does not end by a signal.
  int run() {
    auto listener = listen_at_seat(orders_.token, rank_);
    if (!listener.ok()) return kStatusLauncher;
    listener_ = std::move(*listener);
    if (orders_.limit_ms > 0) give_up_within(milliseconds(orders_.limit_ms));
    if (rank_ == orders_.first) {
      const int status = start_launcher();
      if (status != 0) return status;
    }
    for (;;) {
      wait_for_event();
      take_signals();
      if (is_over_ || Clock::now() >= give_up_at_) return finish();
    }
  }

 private:
  void wait_for_event() {
    const int socket = socket_ ? socket_.get() : listener_.get();
    pollfd events[2] = {{signals_.fd(), POLLIN, 0},
                        {is_ended_ ? -1 : socket, POLLIN, 0}};
    int timeout = -1;
    if (give_up_at_ != Clock::time_point::max()) {
      const auto left =
          std::chrono::ceil<milliseconds>(give_up_at_ - Clock::now());
      timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    if (::poll(events, 2, timeout) <= 0 || events[1].revents == 0) return;
    if (socket_) {
      take_message();
    } else {
      meet();
    }
  }

  /// Gives the rank away. The seat keeps standard error, for its own messages.
  void meet() {
    spare_.reset();
    UniqueFd socket = accept_at_seat(listener_.get());
    const int error = errno;
    spare_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!socket) {
      // Without a descriptor the listener would be readable all the time.
      if (error == EMFILE || error == ENFILE) ::poll(nullptr, 0, kAcceptPause);
      return;
    }
    if (!give(socket.get(),
              {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, bootstrap_.get()},
              variables())) {
      return;  // The process died on the way; mpirun reports that.
    }
    socket_ = std::move(socket);
    if (launcher_status_ == 0) give_up_at_ = Clock::time_point::max();
    listener_.reset();
    bootstrap_.reset();
    if (!spare_) spare_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::dup2(spare_.get(), STDIN_FILENO);
    ::dup2(spare_.get(), STDOUT_FILENO);
    spare_.reset();
  }

  /// The only message of the join command ends the wait for it. A status that
  /// shows a failure ends the seat at once, because the status explains why
  /// mpirun fails. After a success the seat of the first rank waits until the
  /// launcher has ended.
  void take_message() {
    const auto message = receive_seat_message(socket_.get());
    is_ended_ = true;
    if (!message) {
      is_lost_ = true;
      give_up_within(kAfterJoin);
      return;
    }
    if (message->type == SeatMessageType::kNoStart) {
      const int error = message->value;
      log_error("rank {}: {}: {}", rank_, orders_.command.front(),
                errno_text(error));
      const bool is_missing = error == ENOENT || error == ENOTDIR;
      status_ = W_EXITCODE(is_missing ? kStatusNotFound : kStatusCannotRun, 0);
    } else {
      status_ = message->value;
    }
    // The launcher still serves the other processes of its job.
    is_over_ = launcher_ <= 0 || status_ != 0;
  }

  void take_signals() {
    while (const int signal = signals_.next()) {
      if (signal == SIGCHLD) {
        reap();
      } else if (socket_ && !is_ended_) {
        send_to_seat(socket_.get(), {SeatMessageType::kSignal, signal});
      } else if (signal == SIGTERM) {
        is_over_ = true;
        status_ = SIGTERM;
      }
    }
  }

  void reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != launcher_) continue;
      launcher_ = 0;
      launcher_status_ = status;
      if (is_ended_) {
        is_over_ = true;
      } else if (status != 0 || !socket_) {
        give_up_within(kAfterLauncher);
      }
    }
  }

  void give_up_within(milliseconds limit) {
    give_up_at_ = std::min(give_up_at_, Clock::now() + limit);
  }

  /// A rank that has failed comes first, then a launcher that has. The join
  /// command waits for the seat's end, so acprun knows of a rank's failure
  /// before mpirun does.
  int finish() {
    const bool has_failed = status_ != 0;
    const bool is_launcher_bad = launcher_status_ != 0 || !socket_;
    if (!has_failed && is_launcher_bad) return report_launcher();
    if (is_lost_) {
      log_error("rank {}: the process that {} had started for it was killed",
                rank_, orders_.launcher.front());
      status_ = SIGKILL;  // A wait status: killed by this signal.
    }
    end_like(status_);
  }

  /// Only the process of the first rank has started the launcher. In the
  /// processes of the other ranks launcher_ is 0, and a wait that ends without
  /// a seat is a time-out there.
  int report_launcher() {
    const bool is_elsewhere = rank_ != orders_.first;
    if (launcher_ > 0 || is_elsewhere) {
      log_error(
          "{}: {} has not started rank {} within {:g} s; look whether it asks "
          "for a password or waits for free processors, or give a longer "
          "--init-timeout",
          orders_.name, orders_.launcher.front(), rank_,
          orders_.limit_ms / 1000.0);
      return kStatusTimeout;
    }
    if (launcher_status_ == 0) {
      log_error(
          "{}: {} ended without starting rank {}; check that the file's counts "
          "are what it starts",
          orders_.name, orders_.launcher.front(), rank_);
      return 1;
    }
    log_error("{}: {} {}", orders_.name, orders_.launcher.front(),
              describe_status(launcher_status_));
    end_like(launcher_status_);
  }

  // --- the launcher --------------------------------------------------------

  /// Returns 0, or an exit status.
  int start_launcher() {
    const char* const path = std::getenv("PATH");
    auto found =
        find_program(orders_.launcher.front(), "", path == nullptr ? "" : path);
    if (const auto* exit = std::get_if<EarlyExit>(&found)) {
      log_error("{}: {}; install that launcher here, or name its file",
                orders_.name, exit->text);
      return exit->status;
    }
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ChildPlan plan;
    plan.path = std::get<std::string>(found);
    plan.words = launch_words(orders_);
    plan.environment = launcher_environment();
    plan.standard = {null.get(), STDOUT_FILENO, STDERR_FILENO};
    plan.has_own_group = true;
    const StartedChild started = start_child(plan, signals_.mask_before());
    if (started.error != 0) {
      log_error("{}: {}: {}", orders_.name, plan.path,
                errno_text(started.error));
      return kStatusCannotRun;
    }
    launcher_ = started.pid;
    return 0;
  }

  /// The hosts of the ranks go to Open MPI and its successor, to Hydra, and,
  /// for srun, to Slurm. Options of the user take precedence over these
  /// variables.
  std::vector<std::string> launcher_environment() {
    std::vector<std::string> variables;
    for (char* const* entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (!is_of_one_mpi_job(text) && !is_of_one_rank(text)) {
        variables.emplace_back(text);
      }
    }
    std::string open_mpi;
    std::string tasks;
    std::string hydra;
    for (std::size_t at = 0; at < orders_.hosts.size();) {
      const std::size_t end =
          std::min(orders_.hosts.find(',', at), orders_.hosts.size());
      const std::string one = orders_.hosts.substr(at, end - at);
      const std::size_t colon = one.rfind(':');
      const std::string host = one.substr(0, colon);
      open_mpi += fmt::format("{} slots={}\n", host, one.substr(colon + 1));
      hydra += one + "\n";
      for (std::uint32_t n = number_in(one.substr(colon + 1)).value_or(0);
           n > 0; --n)
        tasks += host + "\n";
      at = end + 1;
    }
    const std::string of_open_mpi = publish(open_mpi, open_mpi_);
    variables.push_back("OMPI_MCA_orte_default_hostfile=" + of_open_mpi);
    variables.push_back("PRTE_MCA_prte_default_hostfile=" + of_open_mpi);
    variables.push_back("HYDRA_HOST_FILE=" + publish(hydra, hydra_));
    if (orders_.hosts.find(',') != std::string::npos) {
      variables.push_back("SLURM_HOSTFILE=" + publish(tasks, tasks_));
      variables.push_back("SLURM_DISTRIBUTION=arbitrary");
    }
    return variables;
  }

  static bool is_of_one_rank(std::string_view entry) {
    for (const std::string_view name :
         {protocol::kRankVariable, protocol::kProcsVariable,
          protocol::kLocalRankVariable, protocol::kLocalProcsVariable,
          protocol::kBootstrapFdVariable}) {
      if (entry.starts_with(name) && entry[name.size()] == '=') return true;
    }
    return false;
  }

  /// The job's variables of the program: ACP_, QMP_, and the names of --env.
  /// MPI makes the others.
  std::vector<std::string> variables() const {
    std::vector<std::string> chosen;
    const std::string named = "," + orders_.variables + ",";
    for (char* const* entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      const std::string name = text.substr(0, text.find('='));
      if (text.starts_with("ACP_") || text.starts_with("QMP_") ||
          text.starts_with("GFORTRAN_UNBUFFERED_PRECONNECTED=") ||
          named.find("," + name + ",") != std::string::npos) {
        chosen.push_back(text);
      }
    }
    return chosen;
  }

  const SeatOrders& orders_;
  const std::uint32_t rank_;
  UniqueFd bootstrap_;  ///< The rank's, until it is given away.
  SignalQueue signals_;
  UniqueFd listener_;  ///< Until the join command has come.
  /// Its descriptor is for that connection. It is /dev/null.
  UniqueFd spare_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  UniqueFd socket_;    ///< To the join command, from then on.
  UniqueFd open_mpi_;  ///< Files of hosts, in the forms of three launchers.
  UniqueFd hydra_;
  UniqueFd tasks_;
  pid_t launcher_ = 0;       ///< 0: none, or it has ended.
  int launcher_status_ = 0;  ///< Its wait status, when it has ended.
  bool is_ended_ = false;    ///< The rank's program has ended, or is lost.
  bool is_lost_ = false;     ///< The join command went without a word.
  bool is_over_ = false;     ///< The seat may end with status_.
  int status_ = 0;           ///< Wait status of the rank's program.
  Clock::time_point give_up_at_ = Clock::time_point::max();
};

}  // namespace

std::vector<std::string> words_of_seat(const SeatOrders& orders) {
  std::vector<std::string> words = {std::string(kSeatOption),
                                    orders.token,
                                    fmt::format("{}", orders.first),
                                    fmt::format("{}", orders.count),
                                    fmt::format("{}", orders.limit_ms),
                                    orders.name,
                                    orders.hosts,
                                    orders.variables,
                                    orders.acprun,
                                    fmt::format("{}", orders.launcher.size())};
  words.insert(words.end(), orders.launcher.begin(), orders.launcher.end());
  words.insert(words.end(), orders.command.begin(), orders.command.end());
  return words;
}

/// Reads what the function above writes. That is ten words in a fixed order,
/// then the words of the launcher, whose number is the tenth, then the words of
/// the program.
std::optional<SeatOrders> parse_seat(std::span<const std::string> words) {
  constexpr std::size_t kFixed = 10;
  if (words.size() < kFixed + 2 || words[0] != kSeatOption) return std::nullopt;
  SeatOrders orders;
  orders.token = words[1];
  orders.first = number_in(words[2]).value_or(0);
  orders.count = number_in(words[3]).value_or(0);
  orders.limit_ms = number_in(words[4]).value_or(0);
  orders.name = words[5];
  orders.hosts = words[6];
  orders.variables = words[7];
  orders.acprun = words[8];
  const std::size_t launcher = number_in(words[9]).value_or(0);
  if (launcher == 0 || launcher >= words.size() - kFixed) return std::nullopt;
  const auto begin = words.begin() + kFixed;
  const auto middle = begin + static_cast<std::ptrdiff_t>(launcher);
  orders.launcher.assign(begin, middle);
  orders.command.assign(middle, words.end());
  return orders;
}

std::vector<std::string> launch_words(const SeatOrders& orders) {
  std::vector<std::string> words = orders.launcher;
  for (const std::string& word :
       {std::string("-n"), fmt::format("{}", orders.count), orders.acprun,
        std::string(kJoinOption), orders.token, fmt::format("{}", orders.first),
        fmt::format("{}", orders.count)}) {
    words.push_back(word);
  }
  words.insert(words.end(), orders.command.begin(), orders.command.end());
  return words;
}

int run_seat(const SeatOrders& orders, const Settings::Lookup& lookup) {
  set_log_prefix("macprun");
  const char* const rank = lookup(protocol::kRankVariable);
  const char* const socket = lookup(protocol::kBootstrapFdVariable);
  if (rank == nullptr || socket == nullptr) {
    log_error("{} is for macprun, which starts it", kSeatOption);
    return kStatusLauncher;
  }
  ::prctl(PR_SET_NAME, "acprun-seat");
  const int bootstrap = static_cast<int>(number_in(socket).value_or(0));
  ::fcntl(bootstrap, F_SETFD, FD_CLOEXEC);
  return Seat(orders, number_in(rank).value_or(0), bootstrap).run();
}

}  // namespace acp::launcher
