// macprun's main: options, the input file, plan, then the job. Users run it. It
// starts several MPI jobs and programs of ACP as one job (specification,
// appendix A). It decides nothing itself; docs/macprun.md explains the whole.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "launcher/launcher_main.h"
#include "launcher/macprun_options.h"
#include "launcher/macprun_plan.h"
#include "launcher/options.h"
#include "launcher/program_name.h"

using namespace acp::launcher;  // NOLINT: this file is the program

int main(int argc, char** argv) {
  set_program_name("macprun");
  tidy_descriptors();
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto lookup = [](const char* name) {
    return std::getenv(name);
  };
  auto parsed = parse_options(macprun_options(), words, lookup);
  if (const auto* exit = std::get_if<EarlyExit>(&parsed)) return leave(*exit);
  auto options = std::move(std::get<Options>(parsed));
  auto read = read_macprun_job(options, lookup);
  if (const auto* exit = std::get_if<EarlyExit>(&read)) return leave(*exit);
  const auto& job = std::get<MacprunJob>(read);
  const MakeGroups groups = groups_of(job, options);
  auto plan = make_plan(std::move(options), environ, lookup, groups);
  if (const auto* exit = std::get_if<EarlyExit>(&plan)) return leave(*exit);
  return run_plan(std::get<JobPlan>(plan));
}
