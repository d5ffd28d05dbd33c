// Jobs of macprun whose other launcher is a script, so no MPI is needed. The
// tests are on what reaches the ranks, how jobs end, and files that are wrong.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"
#include "tests/macprun/jobs.h"

using namespace running;
using jobs::Line;

namespace {

/// Starts its processes as mpirun does, and ends with the worst of their
/// statuses. It ends when the job's process 0 has written to FAIL_WITH.
constexpr std::string_view kScript = R"(#!/bin/sh
while [ "$1" != -n ]; do
  case $1 in
    --fail) echo "mpirun: no such option"; exit 3 ;;
    --fewer) fewer=1 ;;
    --nothing) exit 0 ;;
    --hang) exec sleep 1000 ;;
  esac
  shift
done
count=$2
shift 2
started=$((count - ${fewer:-0}))
i=0
while [ $i -lt $started ]; do
  OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=$started "$@" &
  pids="$pids $!"
  i=$((i + 1))
done
status=0
for pid in $pids; do
  wait $pid || status=$?
done
exit $status
)";

/// A folder with the script and an input file.
class Folder {
 public:
  Folder() {
    mpirun_ = scratch_.file("mpirun", kScript);
    std::filesystem::permissions(mpirun_, std::filesystem::perms::owner_all);
  }

  const std::string& mpirun() const { return mpirun_; }

  std::string input(const std::vector<Line>& lines) const {
    return scratch_.file("input", jobs::text_of(lines));
  }

  std::string file(std::string_view text) const {
    return scratch_.file("input", text);
  }

  /// One rank of acprun and two processes of the script.
  std::string three(const std::string& words) const {
    return input(
        {{"acprun", 1, WORLDS " " + words}, {mpirun_, 2, WORLDS " " + words}});
  }

 private:
  Scratch scratch_;
  std::string mpirun_;
};

}  // namespace

TEST_CASE("macprun: every pair of ranks exchanges", "[macprun]") {
  const Folder folder;
  const Outcome outcome =
      run({"-np", "6",
           folder.input({{"acprun -smemsize 10240", 1, WORLDS},
                         {folder.mpirun(), 2, WORLDS},
                         {folder.mpirun() + " --option", 3, WORLDS}})});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "world is well\n") == 6);
  CHECK(outcome.err.empty());
}

TEST_CASE("macprun: --stats counts ranks of all launchers", "[macprun]") {
  const Folder folder;
  const Outcome outcome = run(
      {"-np", "3", "--stats",
       folder.input({{"acprun", 1, WORLDS}, {folder.mpirun(), 2, WORLDS}})});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  for (const char* row : {"macprun: 0 on ", "macprun: 1 on ", "macprun: 2 on ",
                          "macprun: acp_finalize "}) {
    CHECK(count_of(outcome.err, row) == 1);
  }
}

// Only the line of acprun has a variable of its own, which takes precedence
// there. Every rank prints its number, its variable and its directory.
TEST_CASE(
    "macprun: ranks count on from line to line, and get the job's "
    "variables and directory",
    "[macprun]") {
  const Folder folder;
  const Scratch directory;
  const Outcome outcome = run(
      {"--env", "WORLDS_VARIABLE=all", "--wdir", directory.path(), "--tag",
       folder.input({{folder.mpirun(), 2, WORLDS " where"},
                     {"acprun --env WORLDS_VARIABLE=own", 1, WORLDS " where"},
                     {folder.mpirun(), 1, WORLDS " where"}})});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string number = std::to_string(rank);
    CHECK(contains(outcome.out, "[" + number + "] rank " + number +
                                    " of 4, world rank 0 of 1, variable " +
                                    (rank == 2 ? "own" : "all") +
                                    ", directory " + directory.path() + "\n"));
  }
}

TEST_CASE("macprun: standard input goes to rank 0, also of a launcher",
          "[macprun]") {
  const Folder folder;
  Setup setup;
  setup.input = "a line\n";
  const Outcome outcome =
      run({folder.input({{folder.mpirun(), 2, "cat"}})}, setup);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "a line\n");
}

TEST_CASE("macprun: --dry-run prints each command", "[macprun]") {
  const Folder folder;
  const Outcome outcome =
      run({"--dry-run",
           folder.input({{"acprun", 1, WORLDS},
                         {folder.mpirun() + " -x A", 2, WORLDS " a"}})});
  INFO(outcome.out);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "command " WORLDS "\n"));
  CHECK(contains(outcome.out, folder.mpirun() + " -x A -n 2 "));
  CHECK(contains(outcome.out, " 1 2 " WORLDS " a\n"));
  CHECK(contains(outcome.out, "line 3, mpirun, command that of rank 1\n"));
}

// Each rank dies in each way. The line of the file tells which launcher had
// started it.
TEST_CASE("macprun: a death ends all, and the reason names line and rank",
          "[macprun]") {
  struct Row {
    const char* how;
    int status;
    const char* text;
  };

  const auto row =
      GENERATE(values<Row>({{"exit", 7, "exited with status 7"},
                            {"signal", 137, "was killed by signal 9"},
                            {"abort", 1, "the rank gives up"},
                            {"before-init", 7, "exited with status 7"},
                            {"late", 7, "exited with status 7"}}));
  const std::string victim = GENERATE("0", "1", "2");
  const Folder folder;
  Running job({folder.three("die " + victim + " " + row.how)});
  const Outcome outcome = job.finish();
  INFO(victim << " " << row.how << "\n" << outcome.err);
  CHECK(outcome.status == row.status);
  CHECK(contains(outcome.err, row.text));
  CHECK(contains(outcome.err, "rank " + victim + " (line " +
                                  (victim == "0" ? "2, acprun" : "3, mpirun") +
                                  ") on "));
  CHECK(job.is_all_gone());
}

TEST_CASE("macprun: what the launcher itself does wrong", "[macprun]") {
  struct Row {
    const char* option;
    int status;
    const char* text;
  };

  const auto row = GENERATE(
      values<Row>({{" --fail", 3, "mpirun exited with status 3"},
                   {" --nothing", 1, "mpirun ended without starting rank 1"},
                   {" --fewer", 125, "leave -n and -np to macprun"},
                   {" --hang", 124, "mpirun has not started rank "}}));
  const Folder folder;
  // Where no rank of ACP arrives in acp_init, the roll-call sets no limit.
  const bool hangs = std::string(row.option) == " --hang";
  Running job({"--init-timeout", hangs ? "5" : "60",
               folder.input({{"acprun", 1, hangs ? "sleep 1000" : WORLDS},
                             {folder.mpirun() + row.option, 2, WORLDS}})});
  const Outcome outcome = job.finish();
  INFO(row.option << "\n" << outcome.err);
  CHECK(outcome.status == row.status);
  CHECK(contains(outcome.err, row.text));
  CHECK(job.is_all_gone());
}

TEST_CASE("macprun: a launcher or a program that is not there", "[macprun]") {
  const Folder folder;
  Outcome outcome = run({folder.input({{"/nonexistent/mpirun", 1, WORLDS}})});
  CHECK(outcome.status == 127);
  CHECK(contains(outcome.err, "line 2, mpirun: "));
  outcome = run({folder.input({{folder.mpirun(), 2, "/nonexistent/prog"}})});
  INFO(outcome.err);
  CHECK(outcome.status == 127);
  CHECK(contains(outcome.err, "/nonexistent/prog"));
  outcome = run({folder.input({{"acprun --wdir /nonexistent", 1, WORLDS}})});
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "line 2, acprun: cannot work in /nonexistent"));
}

TEST_CASE("macprun: options of srun that only look like a count", "[macprun]") {
  const Folder folder;
  const Outcome outcome = run(
      {"--dry-run", folder.input({{"srun -c 2 -N 1 --nodelist=a", 2, "a"}})});
  INFO(outcome.err);
  CHECK(contains(outcome.out, "srun -c 2 -N 1 --nodelist=a -n 2 "));
}

// The job waits until all three ranks have started. A launcher or a seat is
// then found by its name among the processes of the job. No process may be left
// afterwards, although two would sleep for long.
TEST_CASE(
    "macprun: nothing is left when it, a keeper, a seat or a launcher is "
    "killed",
    "[macprun]") {
  const std::string which =
      GENERATE("macprun", "keeper", "mpirun", "acprun-seat");
  const Folder folder;
  Setup setup;
  setup.holds_input = true;
  Running job({folder.input({{"acprun", 1, "sh -c 'echo here; read line'"},
                             {folder.mpirun(), 2,
                              "sh -c 'echo here; exec sleep 1000'"}})},
              setup);
  REQUIRE(job.wait_for("here\n", 3));
  pid_t victim = job.pid();
  if (which == "keeper") victim = job.keeper();
  if (which == "mpirun" || which == "acprun-seat") {
    for (const pid_t pid : job.everybody()) {
      std::error_code error;
      const std::string folder_of = "/proc/" + std::to_string(pid);
      std::string name(32, '\0');
      if (FILE* const file = std::fopen((folder_of + "/comm").c_str(), "r")) {
        name.resize(std::fread(name.data(), 1, name.size(), file));
        std::fclose(file);
      }
      if (name == which + "\n") victim = pid;
    }
    REQUIRE(victim != job.pid());
  }
  ::kill(victim, SIGKILL);
  const Outcome outcome = job.finish();
  INFO(which << "\n" << outcome.err);
  CHECK(outcome.status != 0);
  CHECK(job.is_all_gone());
}

// macprun refuses the file before it starts a job, and names the line.
TEST_CASE("macprun: wrong files and options", "[macprun]") {
  struct Row {
    std::vector<std::string> options;
    std::string text;
    std::string message;
  };

  const auto row = GENERATE(values<Row>({
      {{}, "2\nacprun\nmpirun\n1\n", "input, line 4: the file ends here"},
      {{"-np", "4"},
       "2\nacprun\nacprun\n1\n2\na\nb\n",
       "its counts are 1 + 2 = 3 processes, but -np is 4; write -np 3"},
      {{}, "1\nrunmpi\n1\na\n", "line 2: 'runmpi'"},
      {{},
       "1\nmpirun -np 2\n2\na\n",
       "line 2: '-np': the number of processes stands in the file's third"},
      {{}, "1\nmpirun -n2\n2\na\n", "line 2: '-n2': the number"},
      {{}, "1\nmpirun --np=2\n2\na\n", "line 2: '--np=2': the number"},
      {{}, "1\nmpirun -c 2\n2\na\n", "line 2: '-c': the number"},
      {{}, "1\nsrun --ntasks=2\n2\na\n", "line 2: '--ntasks=2': the number"},
      {{}, "1\nacprun --timeout 5\n1\na\n", "line 2: '--timeout' is for the"},
      {{}, "1\nacprun -net udp\n1\na\n", "line 2: '-net' is for the"},
      {{}, "1\nacprun -smemsize abc\n1\na\n", "line 2: correct this value"},
      {{}, "1\nacprun ./prog\n1\na\n", "line 2: './prog'"},
      {{}, "1\nacprun --nosuch\n1\na\n", "line 2: "},
      {{"--wrap", "gdb"}, "1\nacprun\n1\na\n", "--wrap"},
  }));
  const Folder folder;
  auto words = row.options;
  words.push_back(folder.file(row.text));
  const Outcome outcome = run(words);
  INFO(outcome.err);
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, row.message));
}

TEST_CASE("macprun: no input file, and more than one", "[macprun]") {
  Outcome outcome = run({});
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "no input file given"));
  outcome = run({"/nonexistent/input"});
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "/nonexistent/input: No such file"));
  outcome = run({"/tmp"});
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "input file /tmp: Is a directory"));
  outcome = run({"/nonexistent/input", "more"});
  CHECK(outcome.status == 125);
  CHECK(contains(outcome.err, "'more' behind the input file"));
}
