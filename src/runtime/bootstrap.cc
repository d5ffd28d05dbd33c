// Finds the launcher by its variables in the environment. Called by acp_init
// before any other thread of the library runs: it changes the environment.
#include "runtime/bootstrap.h"

#include <fcntl.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "base/log.h"
#include "runtime/standard_output.h"

namespace acp::runtime {

namespace {

/// Variables in which other launchers give the number of processes.
/// SLURM_NTASKS is left out: the shell of an allocation has it, too, and is one
/// process.
constexpr std::array<const char*, 4> kSizeVariables = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
    "MPI_LOCALNRANKS"};

int number_of(std::string_view text) {
  int number = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

}  // namespace

/// acprun comes first: a job of acprun may run inside another launcher's.
Result<std::unique_ptr<Bootstrap>> find_bootstrap(const Settings& settings) {
  if (const char* text = std::getenv(protocol::kBootstrapFdVariable)) {
    const int fd = number_of(text);
    if (fd < 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      log_error(
          "{}={}: no open socket; start the program with acprun, or unset it",
          protocol::kBootstrapFdVariable, text);
      return Status::kProtocol;
    }
    // A program that this process starts is not a rank of the job.
    ::unsetenv(protocol::kBootstrapFdVariable);
    buffer_output_by_line(settings);
    return connect_to_acprun(UniqueFd(fd));
  }
  for (const char* variable : kSizeVariables) {
    const char* text = std::getenv(variable);
    if (text != nullptr && number_of(text) > 1) {
      log_error(
          "{}={}: another launcher started several processes; this build "
          "knows acprun only, start the job with: acprun -np {} PROGRAM",
          variable, text, text);
      return Status::kUnsupported;
    }
  }
  return be_singleton(settings);
}

}  // namespace acp::runtime
