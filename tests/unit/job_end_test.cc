// The actions that end a rank, and the choice of a provider.
#include "runtime/job_end.h"

#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "runtime/launcher_choice.h"

namespace acp::runtime {

TEST_CASE("job_end: a lost rank leaves the launcher the first half second",
          "[job_end]") {
  const TimePoint start{};
  EndSchedule schedule(EndCause::kRankLost, start);
  CHECK(schedule.next() == EndAction::kAbortJob);
  CHECK(schedule.due() == start + EndSchedule::kPause);
  schedule.take(schedule.due());
  CHECK(schedule.next() == EndAction::kTerminate);
  CHECK(schedule.due() == start + 2 * EndSchedule::kPause);
  schedule.take(schedule.due());
  CHECK(schedule.next() == EndAction::kKill);
  CHECK(schedule.due() ==
        start + 2 * EndSchedule::kPause + EndSchedule::kGrace);
}

TEST_CASE("job_end: after an order only the launcher's pause passes",
          "[job_end]") {
  const EndSchedule schedule(EndCause::kOrdered, TimePoint{});
  CHECK(schedule.next() == EndAction::kTerminate);
  CHECK(schedule.due() == TimePoint{} + EndSchedule::kPause);
}

TEST_CASE("job_end: without a launcher there is nothing to wait for",
          "[job_end]") {
  const EndSchedule schedule(EndCause::kLauncherLost, TimePoint{});
  CHECK(schedule.next() == EndAction::kTerminate);
  CHECK(schedule.due() == TimePoint{});
}

namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

ProviderChoice choose(const Variables& variables,
                      Provider wanted = Provider::kAuto) {
  return choose_provider(wanted, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("launcher_choice: acprun comes before the launcher around it",
          "[launcher_choice]") {
  CHECK(choose({{"ACP_BOOTSTRAP_FD", "3"}, {"PMI_FD", "5"}}).provider ==
        Provider::kAcprun);
}

TEST_CASE("launcher_choice: PMI-1 is Hydra's, PMI-2 is Slurm's",
          "[launcher_choice]") {
  CHECK(choose({{"PMI_FD", "5"}, {"PMI_SIZE", "2"}}).provider ==
        Provider::kPmi1);
  CHECK(choose({{"PMI_FD", "5"}, {"SLURM_STEP_ID", "0"}}).provider ==
        Provider::kPmi2);
  CHECK(choose({{"PMI_FD", "5"}}, Provider::kPmi2).provider == Provider::kPmi2);
}

TEST_CASE("launcher_choice: PMIx comes before PMI", "[launcher_choice]") {
  CHECK(choose({{"PMIX_NAMESPACE", "1"}, {"PMIX_RANK", "0"}, {"PMI_FD", "5"}})
            .provider == Provider::kPmix);
  CHECK(choose({{"PMIX_NAMESPACE", "1"}, {"PMI_FD", "5"}}).provider ==
        Provider::kPmi1);
}

TEST_CASE("launcher_choice: several tasks and no interface are refused",
          "[launcher_choice]") {
  const auto refusal = choose({{"SLURM_STEP_NUM_TASKS", "4"}}).refusal;
  CHECK(refusal.find("srun --mpi=pmi2") != std::string::npos);
  CHECK(refusal.find("acprun -np 4") != std::string::npos);
  CHECK_FALSE(choose({{"OMPI_COMM_WORLD_SIZE", "2"}}).refusal.empty());
  CHECK_FALSE(choose({{"PMI_SIZE", "2"}, {"PMI_PORT", "h:1"}}).refusal.empty());
}

TEST_CASE("launcher_choice: one process is a job of its own",
          "[launcher_choice]") {
  for (const Variables& variables :
       {Variables{}, Variables{{"SLURM_NTASKS", "8"}},
        Variables{{"SLURM_STEP_NUM_TASKS", "1"}},
        Variables{{"PMI_SIZE", "many"}}}) {
    const ProviderChoice choice = choose(variables);
    CHECK(choice.provider == Provider::kSingle);
    CHECK(choice.refusal.empty());
  }
  CHECK(choose({{"SLURM_STEP_NUM_TASKS", "4"}}, Provider::kSingle)
            .refusal.empty());
}

}  // namespace acp::runtime
