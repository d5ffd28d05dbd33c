// Whether this process also uses MPI. MPI and ACP then share one connection to
// the launcher, and only one of them may say that the process is done.
#pragma once

#include <cstdint>

namespace acp::runtime {

enum class MpiPresence : std::uint8_t {
  kAbsent,     ///< No MPI library is loaded.
  kNotYet,     ///< One is loaded, and MPI_Init has not been called.
  kRunning,    ///< Between MPI_Init and MPI_Finalize.
  kFinalized,  ///< After MPI_Finalize.
};

/// Asks the MPI library that the program has loaded. Any thread.
MpiPresence mpi_presence() noexcept;

/// Whether srun has started this process, and MPI runs in it. Then MPI has
/// greeted Slurm, which answers no second greeting on this connection.
bool is_slurm_beside_mpi() noexcept;

}  // namespace acp::runtime
