// The compiler wrappers of the build tree: the commands they call, by --showme
// and with a stand-in for the compiler. Run by acprun, because it collects
// output.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/launcher/running.h"

using namespace running;

namespace {

std::string wrapper(const std::string& name) {
  return std::string(WRAPPERS) + "/" + name;
}

std::string output_of(std::vector<std::string> words, const Setup& setup = {}) {
  words.insert(words.begin(), {"-np", "1"});
  const Outcome outcome = run(words, setup);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  return outcome.out;
}

}  // namespace

TEST_CASE("wrappers: each name has its compiler", "[launcher][wrappers]") {
  CHECK(output_of({wrapper("acpcc"), "-show", "x.c"}).starts_with("cc "));
  CHECK(output_of({wrapper("acpgcc"), "--showme", "x.c"}).starts_with("gcc "));
  CHECK(output_of({wrapper("acpc++"), "-show", "x.cc"}).starts_with("c++ "));
  CHECK(output_of({wrapper("acpcxx"), "-show", "x.cc"}).starts_with("c++ "));
}

TEST_CASE("wrappers: names with m have the compiler of an MPI library",
          "[launcher][wrappers]") {
  CHECK(output_of({wrapper("macpcc"), "-show", "x.c"}).starts_with("mpicc "));
  CHECK(output_of({wrapper("macpgcc"), "-show", "x.c"}).starts_with("mpicc "));
  CHECK(
      output_of({wrapper("macpc++"), "-show", "x.cc"}).starts_with("mpicxx "));
  CHECK(
      output_of({wrapper("macpcxx"), "-show", "x.cc"}).starts_with("mpicxx "));
  CHECK(contains(output_of({wrapper("macpcc"), "--showme:link"}), "-lacp"));
  const Scratch scratch;
  const std::string compiler = scratch.file("mine.mpich", "");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  Setup setup;
  setup.environment = {"ACP_MPICC=" + scratch.path() + "/mine"};
  CHECK(output_of({wrapper("macpcc"), "-mpi=mpich", "-show", "x.c"}, setup)
            .starts_with(compiler + " "));
}

TEST_CASE("wrappers: -mpi= that names no library here",
          "[launcher][wrappers]") {
  Setup setup;
  setup.environment = {"ACP_MPICC=/nonexistent/mpicc"};
  Outcome outcome =
      run({"-np", "1", wrapper("macpcc"), "-mpi=mpich", "x.c"}, setup);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, "mpicc.mpich is not installed"));
  outcome = run({"-np", "1", wrapper("macpcc"), "-mpi=other", "x.c"}, setup);
  CHECK(contains(outcome.err, "must be openmpi or mpich"));
  outcome = run({"-np", "1", wrapper("acpcc"), "-mpi=mpich", "x.c"});
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, "macpcc compiles with it"));
  outcome = run({"-np", "1", wrapper("macpcc"), "x.c"}, setup);
  CHECK(contains(outcome.err, "/nonexistent/mpicc is not installed"));
}

TEST_CASE("wrappers: the library comes last, and only when linking",
          "[launcher][wrappers]") {
  const std::string linked =
      output_of({wrapper("acpcc"), "-show", "x.c", "-lmine", "-o", "x"});
  CHECK(linked.find("-lmine") < linked.find("-lacp"));
  CHECK(linked.find("-I") < linked.find("x.c"));
  CHECK(contains(linked, "-Wl,-rpath,"));
  const std::string compiled =
      output_of({wrapper("acpcc"), "-show", "-c", "x.c"});
  CHECK_FALSE(contains(compiled, "-lacp"));
  CHECK(contains(compiled, "-I"));
}

TEST_CASE("wrappers: flags alone", "[launcher][wrappers]") {
  const std::string compile = output_of({wrapper("acpcc"), "--showme:compile"});
  CHECK(compile.starts_with("-I"));
  CHECK_FALSE(contains(compile, "-lacp"));
  const std::string link = output_of({wrapper("acpcc"), "--showme:link"});
  CHECK(link.starts_with("-L"));
  CHECK(contains(link, "-lacp"));
}

TEST_CASE("wrappers: --help is the compiler's, then that of the own options",
          "[launcher][wrappers]") {
  const std::string help = output_of({wrapper("acpcc"), "--help"});
  CHECK(help.find("acpcc calls cc (ACP_CC names another compiler)") >
        help.find("-o <file>"));
  CHECK(contains(help,
                 "\n  -ndev NET         The network of the program: auto "));
  CHECK_FALSE(contains(help, "-mpi="));
  CHECK(contains(output_of({wrapper("acpc++"), "--help"}),
                 "acpc++ calls c++ (ACP_CXX names another compiler)"));
  Setup mpi;
  mpi.environment = {"ACP_MPICC=true"};
  const std::string other = output_of({wrapper("macpcc"), "--help"}, mpi);
  CHECK(
      contains(other, "macpcc calls true (ACP_MPICC names another compiler)"));
  CHECK(contains(other, "\n  -mpi=LIBRARY "));
  CHECK(output_of({wrapper("acpcc"), "-show", "--help"}).starts_with("cc -I"));
}

// The word itself must not reach the compiler. A call that does not link, and a
// network that is not fixed, define nothing.
TEST_CASE("wrappers: -ndev tells the linker the program's network",
          "[launcher][wrappers]") {
  const std::string shown =
      output_of({wrapper("acpcc"), "-show", "-ndev", "UDP", "x.c"});
  CHECK_FALSE(contains(shown, "-ndev"));
  CHECK_FALSE(contains(shown, "UDP"));
  CHECK(contains(shown, " -Wl,--defsym=acpx_ndev_udp=1 "));
  CHECK(
      contains(output_of({wrapper("acpc++"), "--showme:link", "-ndev", "shm"}),
               "-Wl,--defsym=acpx_ndev_shm=1"));
  CHECK(
      contains(output_of({wrapper("acpcc"), "--showme:link", "-ndev", "verbs"}),
               "-Wl,--defsym=acpx_ndev_ib=1"));
  for (const char* word : {"IB", "INFINIBAND", "InfiniBand"}) {
    CHECK(
        contains(output_of({wrapper("acpcc"), "--showme:link", "-ndev", word}),
                 "-Wl,--defsym=acpx_ndev_ib=1"));
  }
  CHECK_FALSE(contains(
      output_of({wrapper("acpcc"), "-show", "-ndev", "udp", "-c", "x.c"}),
      "defsym"));
  CHECK_FALSE(
      contains(output_of({wrapper("acpcc"), "-show", "-ndev", "auto", "x.c"}),
               "defsym"));
}

TEST_CASE("wrappers: -ndev refuses a network that this build has not",
          "[launcher][wrappers]") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-ndev", "tofu", "x.c"},
        std::vector<std::string>{"x.c", "-ndev"}}) {
    std::vector<std::string> all{"-np", "1", wrapper("acpcc")};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run(all);
    INFO(outcome.err);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.err, "auto shm udp"));
  }
}

TEST_CASE("wrappers: -static links what libacp.a needs, or says why not",
          "[launcher][wrappers]") {
  const std::string shown =
      output_of({wrapper("acpcc"), "-show", "-static", "x.c"});
  CHECK(contains(shown, " -static "));
  CHECK(contains(shown, "-lacp -lfmt -lxxhash -lsodium "));
  CHECK_FALSE(contains(shown, "-rpath"));
  // A compiler whose linker finds everything, and one whose linker does not.
  Setup finds;
  finds.environment = {"ACP_CC=true"};
  CHECK(output_of({wrapper("acpcc"), "-static", "x.c"}, finds).empty());
  const Scratch scratch;
  Setup lacks;
  lacks.environment = {
      "ACP_CC=sh " +
      scratch.file("cc", "echo 'ld: cannot find -lfmt' >&2; exit 1")};
  const Outcome outcome =
      run({"-np", "1", wrapper("acpcc"), "-static", "x.c"}, lacks);
  INFO(outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err,
                 "acpcc: -static: this system's libraries cannot "
                 "be linked statically with ACP (ld: cannot find "
                 "-lfmt)."));
  CHECK(contains(outcome.err, "pkg-config --cflags --libs acp_static"));
}

TEST_CASE(
    "wrappers: ACP_CC and ACP_CXX replace the compiler, blanks "
    "are kept",
    "[launcher][wrappers]") {
  Setup setup;
  setup.environment = {"ACP_CC=printf <%s>", "ACP_CXX=printf {%s}"};
  CHECK(contains(output_of({wrapper("acpcc"), "-DX=a b", "x.c"}, setup),
                 "<-DX=a b><x.c>"));
  CHECK(
      contains(output_of({wrapper("acpcxx"), "-DX=a b"}, setup), "{-DX=a b}"));
}

#ifdef HAS_ACPFC
TEST_CASE("wrappers: acpfc adds modules and their library",
          "[launcher][wrappers]") {
  // An empty FC is as none: the environment of the test may have one.
  Setup plain;
  plain.environment = {"FC="};
  const std::string shown =
      output_of({wrapper("acpfc"), "-show", "-ndev", "udp", "x.f90"}, plain);
  CHECK(shown.starts_with("gfortran -I"));
  CHECK(contains(shown, " x.f90 -L"));
  CHECK(contains(shown, " -Wl,--defsym=acpx_ndev_udp=1 -lacp_fortran -lacp\n"));
  CHECK_FALSE(contains(
      output_of({wrapper("acpfc"), "-show", "-c", "x.f90"}, plain), "-lacp"));
  const std::string compile =
      output_of({wrapper("acpfc"), "--showme:compile"}, plain);
  CHECK(contains(shown, compile.substr(0, compile.size() - 1)));
  CHECK_FALSE(contains(output_of({wrapper("acpcc"), "-show", "x.c"}, plain),
                       "acp_fortran"));
}

TEST_CASE("wrappers: ACP_FC before FC; ACP_FC_MODULES are another compiler's",
          "[launcher][wrappers]") {
  Setup setup;
  setup.environment = {"FC=other"};
  CHECK(output_of({wrapper("acpfc"), "-show", "x.f90"}, setup)
            .starts_with("other "));
  setup.environment = {"FC=other", "ACP_FC=printf <%s>",
                       "ACP_FC_MODULES=/mine/modules"};
  const std::string linked = output_of({wrapper("acpfc"), "x.f90"}, setup);
  CHECK(linked.starts_with("<-I/mine/modules><x.f90><-L/mine/modules><-L"));
  CHECK(linked.ends_with("<-lacp_fortran><-lacp>"));
}
#endif

TEST_CASE("wrappers: a link to a wrapper keeps working",
          "[launcher][wrappers]") {
  const Scratch scratch;
  const std::string link = scratch.path() + "/acpc++";
  std::filesystem::create_symlink(wrapper("acpc++"), link);
  CHECK(output_of({link, "--showme:compile"}) ==
        output_of({wrapper("acpc++"), "--showme:compile"}));
}
