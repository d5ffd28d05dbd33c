// Tests how macprun reads the variables of MPI launchers, and the command line
// of a seat.
#include "launcher/mpi_rank.h"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/seat.h"

namespace acp::launcher {

namespace {

using Variables = std::map<std::string, std::string>;

std::optional<MpiRank> find(const Variables& variables) {
  return find_mpi_rank([&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("mpi rank: the variables of each launcher", "[macprun]") {
  const Variables all[] = {
      {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "5"}},
      {{"PMI_RANK", "3"}, {"PMI_SIZE", "5"}},
      {{"PMIX_RANK", "3"}, {"SLURM_STEP_NUM_TASKS", "5"}},
      {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "5"}},
  };
  for (const Variables& variables : all) {
    const auto found = find(variables);
    REQUIRE(found);
    CHECK(found->rank == 3);
    CHECK(found->size == 5);
  }
}

TEST_CASE("mpi rank: an inner launcher comes before the job's", "[macprun]") {
  const auto found = find({{"PMI_RANK", "1"},
                           {"PMI_SIZE", "2"},
                           {"SLURM_PROCID", "0"},
                           {"SLURM_STEP_NUM_TASKS", "1"}});
  REQUIRE(found);
  CHECK(found->rank == 1);
  CHECK(found->size == 2);
}

TEST_CASE("mpi rank: nothing, or no numbers", "[macprun]") {
  CHECK_FALSE(find({}));
  CHECK_FALSE(find({{"PMI_RANK", ""}}));
  CHECK_FALSE(find({{"OMPI_COMM_WORLD_RANK", "-1"}}));
  CHECK_FALSE(find({{"SLURM_PROCID", "1x"}}));
  const auto found = find({{"PMIX_RANK", "2"}});
  REQUIRE(found);
  CHECK(found->size == 0);
}

TEST_CASE("mpi rank: what an inner job must not inherit", "[macprun]") {
  CHECK(is_of_one_mpi_job("OMPI_COMM_WORLD_RANK=1"));
  CHECK(is_of_one_mpi_job("PMI_FD=7"));
  CHECK(is_of_one_mpi_job("PMIX_SERVER_URI2=x"));
  CHECK(is_of_one_mpi_job("SLURM_PROCID=0"));
  CHECK_FALSE(is_of_one_mpi_job("OMPI_MCA_btl=self,tcp"));
  CHECK_FALSE(is_of_one_mpi_job("PMIX_MCA_gds=hash"));
  CHECK_FALSE(is_of_one_mpi_job("SLURM_JOB_ID=5"));
  CHECK_FALSE(is_of_one_mpi_job("PATH=/PMI_"));
}

// The orders have a word with blanks and an empty one, which a command line
// must keep. Each command line that ends before the program has to be refused.
TEST_CASE("seat: its command line gives back its orders", "[macprun]") {
  const SeatOrders orders{"0123abcd",
                          2,
                          3,
                          60'000,
                          "line 4, mpirun",
                          "here:2,there:1",
                          "A,B",
                          "/bin/acprun",
                          {"mpirun", "--mca", "btl", "self"},
                          {"./prog", "-n", ""}};
  const auto words = words_of_seat(orders);
  const auto parsed = parse_seat(words);
  REQUIRE(parsed);
  CHECK(words_of_seat(*parsed) == words);
  CHECK(launch_words(*parsed) ==
        std::vector<std::string>{"mpirun", "--mca", "btl", "self", "-n", "3",
                                 "/bin/acprun", "--join", "0123abcd", "2", "3",
                                 "./prog", "-n", ""});
  for (std::size_t size = 0; size + 3 < words.size(); ++size) {
    CHECK_FALSE(parse_seat(std::span(words).first(size)));
  }
}

}  // namespace acp::launcher
