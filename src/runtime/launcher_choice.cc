// Reads the variables of launchers. Called by find_bootstrap. It opens nothing.
#include "runtime/launcher_choice.h"

#include <fmt/core.h>

#include <charconv>

#include "protocol/bootstrap.h"

namespace acp::runtime {

namespace {

/// A variable in which a launcher gives the number of processes, and the way to
/// start a program of ACP with that launcher.
struct SizeVariable {
  const char* name;
  std::string_view remedy;
};

/// SLURM_NTASKS is left out: the shell of an allocation has it, too, and is one
/// process.
constexpr SizeVariable kSizeVariables[] = {
    {"SLURM_STEP_NUM_TASKS",
     "start the program with srun --mpi=pmi2 or --mpi=pmix"},
    {"OMPI_COMM_WORLD_SIZE", "mpirun gives its processes no PMIx"},
    {"PMI_SIZE", "the launcher gives no PMI_FD: leave out -pmi-port"},
    {"MPI_LOCALNRANKS", "the launcher gives no PMI_FD"},
};

int number_of(const char* text) {
  int number = -1;
  if (text != nullptr) {
    const std::string_view digits(text);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
      return -1;
    }
  }
  return number;
}

}  // namespace

/// Order: the user's choice, acprun, PMIx, PMI. acprun comes before the others,
/// because it may itself run inside an allocation whose variables are
/// inherited.
ProviderChoice choose_provider(
    Provider wanted, const std::function<const char*(const char*)>& lookup) {
  if (wanted != Provider::kAuto) {
    return {wanted, ""};
  }
  if (lookup(protocol::kBootstrapFdVariable) != nullptr) {
    return {Provider::kAcprun, ""};
  }
  // mpirun always sets the variables of PMIx, and srun sets them for --mpi=pmix
  // only.
  if (lookup("PMIX_NAMESPACE") != nullptr && lookup("PMIX_RANK") != nullptr) {
    return {Provider::kPmix, ""};
  }
  if (lookup("PMI_FD") != nullptr) {
    // Slurm speaks PMI-1 over this descriptor as well, but without an exit
    // status; Hydra speaks PMI-2 as well.
    return {
        lookup("SLURM_STEP_ID") != nullptr ? Provider::kPmi2 : Provider::kPmi1,
        ""};
  }
  for (const SizeVariable& variable : kSizeVariables) {
    const char* text = lookup(variable.name);
    if (number_of(text) > 1) {
      return {
          Provider::kSingle,
          fmt::format(
              "{}={}: another launcher started several processes, and none "
              "of the interfaces PMI-1, PMI-2 and PMIx is there: {}, or acprun "
              "-np {} PROGRAM; ACP_BOOTSTRAP=single makes each process a "
              "job of its own",
              variable.name, text, variable.remedy, text)};
    }
  }
  return {Provider::kSingle, ""};
}

}  // namespace acp::runtime
