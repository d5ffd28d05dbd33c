// The number that a process has in its MPI job, before MPI_Init.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "settings/settings.h"

namespace acp::launcher {

/// Plain value.
struct MpiRank {
  std::uint32_t rank = 0;  ///< The rank in MPI_COMM_WORLD.
  std::uint32_t size = 0;  ///< The size of MPI_COMM_WORLD; 0: unknown.
};

/// Reads the variables of Open MPI, of PMI (MPICH, its relatives and srun), of
/// PMIx, and of a Slurm step, in this order. nullopt: no launcher of MPI
/// programs has started this process. `lookup` reads its environment.
std::optional<MpiRank> find_mpi_rank(const Settings::Lookup& lookup);

/// Whether the variable says something about one process of an MPI job, or
/// about one job. A launcher that inherits it from an outer job may take it for
/// its own. `entry` is "NAME=value".
bool is_of_one_mpi_job(std::string_view entry) noexcept;

}  // namespace acp::launcher
