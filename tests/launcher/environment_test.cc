// The descriptors and variables that a rank finds when it starts.
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"

using namespace running;

TEST_CASE("launcher environment: a rank inherits its socket and nothing else",
          "[launcher]") {
  const Outcome outcome =
      run({"-np", "2", PROBE, "fds", "env:ACP_BOOTSTRAP_FD"});
  CHECK(count_of(outcome.out, "fds 0 1 2 3\n") == 2);
  CHECK(count_of(outcome.out, "ACP_BOOTSTRAP_FD=3\n") == 2);
}

TEST_CASE("launcher environment: settings travel as variables", "[launcher]") {
  Setup setup;
  setup.environment = {"OTHER=inherited", "ACP_NET=auto"};
  const Outcome outcome =
      run({"-np", "1", "--acp-envnet=udp", "-startermemsize", "4096", PROBE,
           "env:ACP_NET", "env:ACP_STARTER_MEMORY", "env:MINE", "env:OTHER",
           "--acp-envent=shm"},
          setup);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "ACP_NET=shm\n"));
  CHECK(contains(outcome.out, "ACP_STARTER_MEMORY=4096\n"));
  CHECK(contains(outcome.out, "MINE=(unset)\n"));
  CHECK(contains(outcome.out, "OTHER=inherited\n"));
}

TEST_CASE("launcher environment: gfortran's output comes by lines",
          "[launcher]") {
  const char* asked = "env:GFORTRAN_UNBUFFERED_PRECONNECTED";
  Setup setup;
  CHECK(contains(run({"-np", "1", PROBE, asked}, setup).out,
                 "GFORTRAN_UNBUFFERED_PRECONNECTED=y\n"));
  setup.environment = {"GFORTRAN_UNBUFFERED_PRECONNECTED=n"};
  CHECK(contains(run({"-np", "1", PROBE, asked}, setup).out,
                 "GFORTRAN_UNBUFFERED_PRECONNECTED=n\n"));
  setup.environment = {"ACP_STDOUT=program"};
  CHECK(contains(run({"-np", "1", PROBE, asked}, setup).out,
                 "GFORTRAN_UNBUFFERED_PRECONNECTED=(unset)\n"));
}

TEST_CASE("launcher environment: each rank is told its place", "[launcher]") {
  Setup setup;
  setup.environment = {"ACP_RANK=77"};  // from an outer acprun
  const Outcome outcome =
      run({"-np", "3", PROBE, "env:ACP_RANK", "env:ACP_PROCS",
           "env:ACP_LOCAL_RANK", "env:ACP_LOCAL_PROCS"},
          setup);
  CHECK(outcome.err.empty());
  for (const char* rank : {"0", "1", "2"}) {
    CHECK(count_of(outcome.out, std::string("ACP_RANK=") + rank + "\n") == 1);
    CHECK(count_of(outcome.out, std::string("ACP_LOCAL_RANK=") + rank + "\n") ==
          1);
  }
  CHECK(count_of(outcome.out, "ACP_PROCS=3\n") == 3);
  CHECK(count_of(outcome.out, "ACP_LOCAL_PROCS=3\n") == 3);
}

// A dry run shows that the allocation is used. --host then runs on this host
// without it.
TEST_CASE("launcher environment: --host comes before an allocation",
          "[launcher]") {
  const Scratch scratch;
  Setup setup;
  const std::vector<std::string> variables = {
      "SLURM_JOB_NODELIST=n[1-2]",
      "PBS_NODEFILE=" + scratch.file("pbs", "n1\nn1\nn2\n"),
      "PE_HOSTFILE=" + scratch.file("sge", "n1 2 q\nn2 2 q\n")};
  setup.environment = {
      variables[GENERATE(range(std::size_t{0}, std::size_t{3}))]};
  INFO(setup.environment[0]);
  const Outcome planned = run({"-np", "4", "--dry-run", "echo", "x"}, setup);
  CHECK(planned.status == 0);
  CHECK(contains(planned.out, "host n1"));
  CHECK(contains(planned.out, "host n2"));
  const Outcome here =
      run({"-np", "2", "--host", "localhost", "echo", "x"}, setup);
  CHECK(here.status == 0);
  CHECK(here.out == "x\nx\n");
  CHECK(here.err.empty());
}

TEST_CASE("launcher environment: an allocation of this host is no news",
          "[launcher]") {
  const Scratch scratch;
  Setup setup;
  setup.environment = {"SLURM_NNODES=1", "SLURM_JOB_NODELIST=my-node",
                       "PBS_NODEFILE=" + scratch.file("pbs", "a\na\n\n"),
                       "PE_HOSTFILE=/nonexistent"};
  CHECK(run({"-np", "2", "echo", "x"}, setup).err.empty());
}

TEST_CASE("launcher environment: --env and --wdir", "[launcher]") {
  const Scratch scratch;
  const Outcome outcome = run({"-np", "2", "--env", "MINE=a b=c", "--wdir",
                               scratch.path(), PROBE, "env:MINE", "cwd"});
  CHECK(count_of(outcome.out, "MINE=a b=c\n") == 2);
  const auto real = std::filesystem::canonical(scratch.path()).string();
  CHECK(count_of(outcome.out, real + "\n") == 2);
}

TEST_CASE("launcher environment: more ranks than cores run unbound",
          "[launcher]") {
  const Outcome outcome = run({"-np", "600", "--bind", "core",
                               "--report-bindings", "--dry-run", PROBE});
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "unbound") == 600);
}

TEST_CASE("launcher environment: --wrap goes before the program",
          "[launcher]") {
  const Outcome outcome = run({"-np", "3", "--wrap", "env WRAPPED='yes sir'",
                               "--wrap-ranks", "0,2", PROBE, "env:WRAPPED"});
  CHECK(count_of(outcome.out, "WRAPPED=yes sir\n") == 2);
  CHECK(count_of(outcome.out, "WRAPPED=(unset)\n") == 1);
}

TEST_CASE("launcher environment: --dry-run prints the plan and starts nothing",
          "[launcher]") {
  const Scratch scratch;
  const Outcome outcome = run({"-np", "2", "--dry-run", "--acp-envnet=udp",
                               "touch", scratch.path() + "/made"});
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "rank 0: "));
  CHECK(contains(outcome.out, "rank 1: "));
  CHECK(contains(outcome.out, "ACP_NET=udp"));
  CHECK(contains(outcome.out, "/touch"));
  CHECK(scratch.is_empty());
}

TEST_CASE("launcher environment: a program of the working directory",
          "[launcher]") {
  const Scratch scratch;
  const std::string file = scratch.file("my_program", "#!/bin/sh\necho mine\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  Setup setup;
  setup.directory = scratch.path();
  // Specification 3.3 names it without "./".
  CHECK(run({"-np", "1", "my_program"}, setup).out == "mine\n");
}

TEST_CASE("launcher environment: a node file gives the number of ranks",
          "[launcher]") {
  const Scratch scratch;
  const std::string nodes = scratch.file(
      "nodes", "# ours\nlocalhost:2\n127.0.0.1 slots=1 # one more\n");
  CHECK(count_of(run({"--acp-nodefile=" + nodes, "echo", "x"}).out, "x") == 3);
  CHECK(count_of(run({"-np", "2", "-machinefile", nodes, "echo", "x"}).out,
                 "x") == 2);
  CHECK(count_of(run({"-np", "5", "-nodefile", nodes, "--oversubscribe", "echo",
                      "x"})
                     .out,
                 "x") == 5);
}

TEST_CASE("launcher environment: a job inside of a job", "[launcher]") {
  const Outcome outcome = run({"-np", "2", ACPRUN, "-np", "2", PROBE, "hello",
                               "init", "say:in", "finalize", "finalized"});
  CHECK(outcome.status == 0);
  CHECK(count_of(outcome.out, "in\n") == 4);
}
