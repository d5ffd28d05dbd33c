// conformance: self-checking MPI programs in one binary, for 1 to 16 ranks. The
// cases are in the files conformance_*.cc.
//
//   conformance [--list] [--single] [--strict] [CASE...]
//
// A CASE is a name, or the start of one; without any, all cases run. The
// program asks for MPI_THREAD_MULTIPLE if a chosen case needs it. --single
// calls MPI_Init, and leaves such cases out. --strict makes the checks that
// known faults of Open MPI 4.1.4 or MPICH 4.0.2 fail. On success, rank 0 prints
// "passed: N checks". A failure names file, rank and values, and aborts.
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string_view>

#include "check.h"

namespace {

using mpi_check::Case;
using mpi_check::Threads;

struct Choice {
  std::vector<Case> cases;
  Threads threads = Threads::kOne;
};

/// Seconds for one case. A case that hangs ends the job and is named.
constexpr unsigned kCaseSeconds = 300;

void on_alarm(int) {
  static const char text[] = ": this case hangs\n";
  const char* name = mpi_check::running_case;
  (void)!write(STDERR_FILENO, name, std::strlen(name));
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(1);
}

bool is_chosen(const Case& one, const std::vector<std::string_view>& names) {
  if (names.empty()) return true;
  for (const std::string_view name : names) {
    if (std::string_view(one.name).substr(0, name.size()) == name) return true;
  }
  return false;
}

Choice choose(const std::vector<std::string_view>& names, Threads allowed) {
  Choice choice;
  for (const Case& one : mpi_check::all_cases()) {
    if (!is_chosen(one, names)) continue;
    if (one.threads == Threads::kSeveral) {
      if (allowed == Threads::kOne) continue;
      choice.threads = Threads::kSeveral;
    }
    choice.cases.push_back(one);
  }
  return choice;
}

/// The MPI below may have a higher level than the program asks for.
void begin(Threads threads) {
  const int wanted =
      threads == Threads::kOne ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  if (threads == Threads::kOne) {
    MPI_Init(nullptr, nullptr);
  } else {
    int given = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, wanted, &given);
    CHECK_EQUAL(given, wanted);
  }
  int level = -1;
  MPI_Query_thread(&level);
  CHECK_EQUAL(level, wanted);
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi_check::world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi_check::world_size);
}

/// A case must take all of its messages.
void run_case(const Case& one) {
  mpi_check::running_case = one.name;
  alarm(kCaseSeconds);
  const double start = MPI_Wtime();
  one.body();
  MPI_Barrier(MPI_COMM_WORLD);
  int is_left = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_left,
             MPI_STATUS_IGNORE);
  CHECK_EQUAL(is_left, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (mpi_check::world_rank == 0 && std::getenv("CONFORMANCE_TIMES")) {
    std::printf("%6.2f s  %s\n", MPI_Wtime() - start, one.name);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> names;
  Threads allowed = Threads::kSeveral;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--list") {
      for (const Case& one : mpi_check::all_cases())
        std::puts(one.name);
      return 0;
    }
    if (argument == "--single") {
      allowed = Threads::kOne;
    } else if (argument == "--strict") {
      mpi_check::is_strict = true;
    } else {
      names.push_back(argument);
    }
  }
  const Choice choice = choose(names, allowed);
  if (choice.cases.empty()) {
    std::fputs("conformance: no case has such a name; see --list\n", stderr);
    return 2;
  }
  std::signal(SIGALRM, on_alarm);
  begin(choice.threads);
  for (const Case& one : choice.cases)
    run_case(one);
  alarm(0);
  long all = 0;
  const long mine = mpi_check::checks_passed.load(std::memory_order_relaxed);
  MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (mpi_check::world_rank == 0) std::printf("passed: %ld checks\n", all);
  MPI_Finalize();
  return 0;
}
