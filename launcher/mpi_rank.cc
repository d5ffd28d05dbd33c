// Reads what launchers of MPI programs tell their processes. The join command
// calls it in a process that mpirun, mpiexec or srun has started. The seat
// calls it for the environment of such a launcher. Pure.
#include "launcher/mpi_rank.h"

#include <array>

#include "launcher/words.h"

namespace acp::launcher {

namespace {

struct Variables {
  const char* rank;
  const char* size;
};

/// Open MPI sets PMIX_RANK as well. srun sets PMI_RANK for --mpi=pmi2 only, and
/// SLURM_PROCID and SLURM_STEP_NUM_TASKS always. An outer launcher's come last,
/// because an inner one sets its own.
constexpr std::array<Variables, 4> kVariables = {{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}};

}  // namespace

std::optional<MpiRank> find_mpi_rank(const Settings::Lookup& lookup) {
  for (const Variables& one : kVariables) {
    if (const auto rank = number_in(lookup(one.rank))) {
      return MpiRank{*rank, number_in(lookup(one.size)).value_or(0)};
    }
  }
  return std::nullopt;
}

/// Settings of the user, like OMPI_MCA_btl and PMIX_MCA_gds, are none.
bool is_of_one_mpi_job(std::string_view entry) noexcept {
  constexpr std::array<std::string_view, 5> kStarts = {
      "OMPI_COMM_WORLD_", "PMI_", "PMIX_", "MPI_LOCAL", "SLURM_PROCID="};
  if (entry.starts_with("PMIX_MCA_")) return false;
  for (const std::string_view start : kStarts) {
    if (entry.starts_with(start)) return true;
  }
  return false;
}

}  // namespace acp::launcher
