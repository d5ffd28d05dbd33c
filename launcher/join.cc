// The process of the join command, which mpirun has started instead of the
// program. The command finds the seat by the process's number in the MPI job,
// and takes descriptors and variables. It is the program's parent until the
// program ends. The program inherits the descriptors of mpirun; only PMI's goes
// through this process. It may start no other program.
#include "launcher/join.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "base/host_facts.h"
#include "base/log.h"
#include "launcher/child.h"
#include "launcher/descendants.h"
#include "launcher/early_exit.h"
#include "launcher/mpi_rank.h"
#include "launcher/pmi_relay.h"
#include "launcher/program.h"
#include "launcher/seat_socket.h"
#include "launcher/words.h"
#include "protocol/bootstrap.h"

namespace acp::launcher {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Time for the seats of this host to be there: mpirun may reach a host before
/// acprun's daemon does.
constexpr milliseconds kSeatLimit{30'000};
constexpr milliseconds kSeatTick{10};
/// Time for acprun to learn of the end before mpirun does.
constexpr milliseconds kSeatEnd{2000};

/// The environment that mpirun has made, with the job's variables.
std::vector<std::string> environment_with(
    const std::vector<std::string>& variables, int bootstrap) {
  std::vector<std::string> all;
  for (char* const* entry = environ; *entry != nullptr; ++entry)
    all.emplace_back(*entry);
  const auto put = [&all](const std::string& variable) {
    std::erase_if(all, [&variable](const std::string& other) {
      return name_in(other) == name_in(variable);
    });
    all.push_back(variable);
  };
  for (const std::string& variable : variables)
    put(variable);
  put(fmt::format("{}={}", protocol::kBootstrapFdVariable, bootstrap));
  return all;
}

/// Used by the process's only thread.
class Join {
 public:
  explicit Join(UniqueFd seat) : seat_(std::move(seat)) {}

  /// Returns an exit status, or ends the process as the program ended.
  int run(const std::vector<std::string>& command) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int failed = start(command);
    if (failed != 0) return failed;
    for (;;) {
      pollfd events[4] = {{signals_.fd(), POLLIN, 0},
                          {seat_.get(), POLLIN, 0},
                          {pmi_.program_fd(), POLLIN, 0},
                          {pmi_.launcher_fd(), POLLIN, 0}};
      if (::poll(events, 4, -1) > 0) {
        if (events[1].revents != 0) take_message();
        if (events[2].revents != 0) pmi_.pass_on_from_program();
        if (events[3].revents != 0) pmi_.pass_on_from_launcher();
      }
      take_signals();
      if (status_) return finish();
    }
  }

 private:
  /// Takes the gift and starts the program. Returns 0, or an exit status, which
  /// the seat has been told if it is still there.
  int start(const std::vector<std::string>& command) {
    auto gift = receive_gift(seat_.get());
    if (!gift) {
      log_error("the seat is gone: macprun's job ends");
      return 1;
    }
    ChildPlan plan;
    bootstrap_ = std::move(gift->descriptors[3]);
    plan.environment = environment_with(gift->variables, bootstrap_.get());
    plan.kept = {bootstrap_.get()};
    const UniqueFd pmi = pmi_.put_between(plan.environment);
    if (pmi) plan.kept.push_back(pmi.get());
    for (std::size_t i = 0; i < 3; ++i)
      plan.standard[i] = gift->descriptors[i].get();
    auto found =
        find_program(command.front(), "", value_in(plan.environment, "PATH"));
    if (const auto* exit = std::get_if<EarlyExit>(&found)) {
      const int error = exit->status == kStatusNotFound ? ENOENT : EACCES;
      send_to_seat(seat_.get(), {SeatMessageType::kNoStart, error});
      await_seat();
      return exit->status;
    }
    plan.path = std::get<std::string>(found);
    plan.words = command;
    const StartedChild started = start_child(plan, signals_.mask_before());
    if (started.error != 0) {
      send_to_seat(seat_.get(), {SeatMessageType::kNoStart, started.error});
      await_seat();
      return kStatusCannotRun;
    }
    program_ = started.pid;
    return 0;
  }

  void take_message() {
    const auto message = receive_seat_message(seat_.get());
    if (message && message->type == SeatMessageType::kSignal) {
      ::kill(program_, message->value);
      return;
    }
    // The seat was killed: the job is over.
    end_descendants({}, kKillLimit, 0);
    status_ = SIGKILL;
    has_lost_seat_ = true;
  }

  /// mpirun's signals go on to the program.
  void take_signals() {
    while (const int signal = signals_.next()) {
      if (signal != SIGCHLD) {
        ::kill(program_, signal);
        continue;
      }
      int status = 0;
      pid_t pid = 0;
      while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == program_) status_ = status;
      }
    }
  }

  /// Processes that the program has left behind are killed at once, and not
  /// after the last rank as by the keeper: this process is their subreaper, and
  /// is about to end.
  int finish() {
    if (!has_lost_seat_) {
      signal_descendants(SIGTERM, {});
      end_descendants({}, kKillLimit, 0);
      tell_acprun();
      send_to_seat(seat_.get(), {SeatMessageType::kEnded, *status_});
      await_seat();
    }
    end_like(*status_);
  }

  /// The program has called MPI_Abort, for which the launcher will kill all
  /// processes of the MPI job. acprun reads this before it hears of a death.
  void tell_of_abort(int exit_status) {
    const auto message = protocol::encode_bootstrap(
        {protocol::BootstrapType::kAbort,
         static_cast<std::uint64_t>(exit_status),
         fmt::format("MPI_Abort with status {}", exit_status)});
    [[maybe_unused]] const ssize_t n =
        ::send(bootstrap_.get(), message.data(), message.size(), MSG_NOSIGNAL);
  }

  /// Waits until acprun knows how the program has ended, which it shows by
  /// closing the socket. mpirun learns of it afterwards, and may then kill the
  /// other processes.
  void tell_acprun() {
    const auto message =
        protocol::encode_bootstrap({protocol::BootstrapType::kEnded,
                                    static_cast<std::uint64_t>(*status_),
                                    {}});
    if (::send(bootstrap_.get(), message.data(), message.size(), MSG_NOSIGNAL) >
        0) {
      await(bootstrap_.get());
    }
  }

  /// Waits until the seat has ended. A failure of this rank is then known to
  /// acprun before mpirun ends the other processes for it. The seat that has
  /// started mpirun outlives a program that ended well.
  void await_seat() {
    if (status_ && *status_ == 0) return;
    await(seat_.get());
  }

  static void await(int socket) {
    pollfd event{socket, POLLIN, 0};
    while (::poll(&event, 1, kSeatEnd.count()) < 0 && errno == EINTR) {
    }
  }

  UniqueFd seat_;
  UniqueFd bootstrap_;  ///< The rank's; the program has it as well.
  SignalQueue signals_;
  PmiRelay pmi_{[this](int exit_status) {
    tell_of_abort(exit_status);
  }};
  pid_t program_ = -1;
  std::optional<int> status_;   ///< Wait status of the program, at its end.
  bool has_lost_seat_ = false;  ///< The seat ended first.
};

/// Waits until the seat listens. Empty, logged, after the limit. The system
/// does not tell when a process begins to listen at an abstract name. So the
/// command tries again and again. A signal of mpirun ends it meanwhile.
UniqueFd find_seat(const std::string& token,
                   std::uint32_t rank,
                   const MpiRank& process) {
  const auto deadline = Clock::now() + kSeatLimit;
  for (;;) {
    UniqueFd seat = connect_to_seat(token, rank);
    if (seat) return seat;
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kSeatTick);
  }
  log_error(
      "process {} of the MPI job is rank {}, for which {} has no seat: its "
      "launcher has put it on another host than macprun, or the job is over. "
      "Leave hosts and mapping to macprun's node file",
      process.rank, rank, host_name());
  return {};
}

}  // namespace

/// The checks come in the order in which a user can make mistakes. These are a
/// launcher without numbers, a count of the launcher's own, and a host of the
/// launcher's own.
int run_join(std::span<const std::string> words,
             const Settings::Lookup& lookup) {
  set_log_prefix("macprun");
  if (words.size() < 4) {
    log_error("--join is for macprun, which writes it");
    return kStatusLauncher;
  }
  const std::uint32_t first = number_in(words[1]).value_or(0);
  const std::uint32_t count = number_in(words[2]).value_or(0);
  const std::vector<std::string> command(words.begin() + 3, words.end());
  const auto process = find_mpi_rank(lookup);
  if (!process) {
    log_error(
        "{}: no variable says which process of the MPI job this is "
        "(OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK, SLURM_PROCID); is the "
        "launcher one of Open MPI, MPICH or Slurm?",
        command.front());
    return kStatusLauncher;
  }
  if (process->rank >= count ||
      (process->size != 0 && process->size != count)) {
    log_error(
        "{}: is process {} of {}, but macprun's file gives this MPI job {} "
        "processes; leave -n and -np to macprun",
        command.front(), process->rank, process->size, count);
    return kStatusLauncher;
  }
  UniqueFd seat = find_seat(words[0], first + process->rank, *process);
  if (!seat) return kStatusLauncher;
  return Join(std::move(seat)).run(command);
}

}  // namespace acp::launcher
