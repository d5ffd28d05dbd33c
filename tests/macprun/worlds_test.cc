// Jobs of macprun with the MPI libraries of this machine. They have two and
// three worlds, of one library or of two, beside a program of ACP alone.
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"
#include "tests/macprun/jobs.h"

using namespace running;
using jobs::Line;

namespace {

struct Mpi {
  std::string launcher;
  std::string program;
};

using Pair = std::pair<Mpi, Mpi>;

/// Each library twice, and one of each, as far as they are here.
std::vector<Pair> pairs_of_mpi() {
  std::vector<Mpi> all;
#ifdef WORLDS_OPENMPI
  all.push_back({"mpirun.openmpi", WORLDS_OPENMPI});
#endif
#ifdef WORLDS_MPICH
  all.push_back({"mpiexec.hydra", WORLDS_MPICH});
#endif
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i; j < all.size(); ++j)
      pairs.emplace_back(all[i], all[j]);
  }
  return pairs;
}

/// Catch2 has no way of skipping a test; CTest reads this line.
bool is_skipped(const std::vector<Pair>& pairs) {
  if (pairs.empty()) WARN("skipped: neither mpicc.openmpi nor mpicc.mpich");
  return pairs.empty();
}

/// 1 rank of acprun, 2 and 3 processes of MPI: appendix A of the specification.
std::vector<Line> six(const Pair& pair, const std::string& words) {
  return {{"acprun", 1, WORLDS " " + words},
          {pair.first.launcher, 2, pair.first.program + " " + words},
          {pair.second.launcher, 3, pair.second.program + " " + words}};
}

Outcome run_six(const Pair& pair,
                const std::string& words,
                std::vector<std::string> options = {},
                std::vector<std::string> variables = {}) {
  const Scratch scratch;
  options.push_back(scratch.file("input", jobs::text_of(six(pair, words))));
  Setup setup;
  setup.environment = jobs::environment();
  setup.environment.insert(setup.environment.end(), variables.begin(),
                           variables.end());
  Running job(options, setup);
  Outcome outcome = job.finish();
  CHECK(job.is_all_gone());
  return outcome;
}

}  // namespace

TEST_CASE("macprun worlds: each MPI, and both, exchange with all",
          "[macprun]") {
  const auto pairs = pairs_of_mpi();
  if (is_skipped(pairs)) return;
  const auto [way, net] = GENERATE(
      values<std::pair<const char*, const char*>>({{"exchange", "auto"},
                                                   {"exchange", "udp"},
                                                   {"acp-first", "auto"},
                                                   {"blocked", "auto"}}));
  for (const Pair& pair : pairs) {
    const Outcome outcome =
        run_six(pair, way, {}, {std::string("ACP_NET=") + net});
    INFO(pair.first.launcher << ", " << pair.second.launcher << ", " << way
                             << "\n"
                             << outcome.err << outcome.out);
    CHECK(outcome.status == 0);
    CHECK(count_of(outcome.out, "world is well\n") == 3);
  }
}

TEST_CASE("macprun worlds: traffic of ACP and MPI at the same time",
          "[macprun]") {
  const auto pairs = pairs_of_mpi();
  if (is_skipped(pairs)) return;
  const char* const text = std::getenv("ACP_TEST_SCALE");
  const double scale = text == nullptr ? 0.1 : std::strtod(text, nullptr);
  const std::string rounds =
      std::to_string(static_cast<int>(10'000 * scale) + 100);
  for (const Pair& pair : pairs) {
    const Outcome outcome = run_six(pair, "together " + rounds);
    INFO(pair.first.launcher << ", " << pair.second.launcher << "\n"
                             << outcome.err << outcome.out);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("macprun worlds: deaths in each world", "[macprun]") {
  const auto pairs = pairs_of_mpi();
  if (is_skipped(pairs)) return;
  using Row = std::pair<std::string, int>;
  const auto [how, status] = GENERATE(values<Row>({{"before-init", 7},
                                                   {"between", 7},
                                                   {"exit", 7},
                                                   {"signal", 137},
                                                   {"mpi-abort", 9},
                                                   {"late", 7}}));
  const std::string victim = GENERATE("2", "4");
  const Pair& pair = pairs.back();
  const Outcome outcome = run_six(pair, "die " + victim + " " + how);
  INFO(how << " of " << victim << "\n" << outcome.err);
  CHECK(outcome.status == status);
  CHECK(contains(outcome.err, "rank " + victim + " (line "));
}

TEST_CASE("macprun worlds: a process that leaves out both finalizes",
          "[macprun]") {
  const auto pairs = pairs_of_mpi();
  if (is_skipped(pairs)) return;
  // Rank 1 is the first of its world: its seat waits for mpirun.
  const std::string victim = GENERATE("1", "2", "3");
  for (const Pair& pair : pairs) {
    const Outcome outcome = run_six(pair, "die " + victim + " quit");
    INFO(pair.first.launcher << ", " << pair.second.launcher << "\n"
                             << outcome.err);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.err, "rank " + victim + " (line "));
    CHECK(contains(outcome.err, "exited with status 0 without acp_finalize"));
  }
}

#ifdef WORLDS_OPENMPI
TEST_CASE("macprun worlds: a process that leaves out MPI_Finalize",
          "[macprun]") {
  const Mpi mpi{"mpirun.openmpi", WORLDS_OPENMPI};
  const std::string victim = GENERATE("1", "2");
  Outcome outcome = run_six({mpi, mpi}, "die " + victim + " forget");
  INFO(outcome.err);
  // mpirun ends the other process, which waits in MPI_Finalize.
  CHECK(outcome.status == 143);
  CHECK(contains(outcome.err, "left out MPI_Finalize"));
}

TEST_CASE("macprun worlds: all processes leave out MPI_Finalize", "[macprun]") {
  const Mpi mpi{"mpirun.openmpi", WORLDS_OPENMPI};
  const Scratch scratch;
  Setup setup;
  setup.environment = jobs::environment();
  const Outcome outcome = run(
      {scratch.file(
          "input",
          jobs::text_of({{"acprun", 1, WORLDS " die -1 forget"},
                         {mpi.launcher, 1, mpi.program + " die -1 forget"}}))},
      setup);
  INFO(outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, "macprun: line 3, mpirun.openmpi on "));
  CHECK(contains(outcome.err, "exited with status 1, after its processes"));
  CHECK(contains(outcome.err, "has to call MPI_Finalize"));
}
#endif

TEST_CASE("macprun worlds: a world that never calls acp_init", "[macprun]") {
  const auto pairs = pairs_of_mpi();
  if (is_skipped(pairs)) return;
  const Mpi& mpi = pairs.front().first;
  const Scratch scratch;
  Setup setup;
  setup.environment = jobs::environment();
  const Outcome outcome =
      run({scratch.file("input", jobs::text_of({{"acprun", 1, WORLDS},
                                                {mpi.launcher, 2,
                                                 mpi.program + " no-init"}}))},
          setup);
  INFO(outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, "(line 3, "));
  CHECK(contains(outcome.err, "acp_init"));
}

// The solver prints one number, and the analysis in the other world has to find
// it in each of its steps. That proves that the data passed between the two.
TEST_CASE("macprun worlds: the example of solver and analysis", "[macprun]") {
#if defined(FIELD_OPENMPI) && defined(FIELD_MPICH)
  const Scratch scratch;
  Setup setup;
  setup.environment = jobs::environment();
  const Outcome outcome = run(
      {scratch.file(
          "input",
          jobs::text_of(
              {{"mpirun.openmpi", 3, FIELD_OPENMPI "/field_solver_openmpi"},
               {"mpiexec.hydra", 2, FIELD_MPICH "/field_analysis_mpich"}}))},
      setup);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  const std::size_t solver = outcome.out.find("solver: heat ");
  REQUIRE(solver != std::string::npos);
  const std::string heat = outcome.out.substr(
      solver + 13, outcome.out.find('\n', solver) - solver - 13);
  CHECK(contains(outcome.out, "analysis: heat " + heat + " in all 5 steps\n"));
#else
  WARN("skipped: mpicc.openmpi and mpicc.mpich are not both here");
#endif
}
