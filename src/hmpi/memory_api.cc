// MPI_Alloc_mem and MPI_Free_mem: memory that all processes of the host can
// read, as long as this process's heap has room.
#include "hmpi/api.h"
#include "hmpi/buffer_pool.h"
#include "hmpi/host_memory.h"

namespace hmpi {

namespace {

bool is_at_work() {
  return !g_host_memory.is_closed();
}

}  // namespace

/// A size below 0 is the MPI below's to refuse, and a hint on the alignment or
/// kind of memory its to follow.
HMPI_FUNCTION(Alloc_mem, (MPI_Aint size, MPI_Info info, void* address)) {
  if (is_at_work() && size >= 0 && info == MPI_INFO_NULL) {
    if (void* block = g_host_memory.take(static_cast<std::size_t>(size))) {
      *static_cast<void**>(address) = block;
      return MPI_SUCCESS;
    }
  }
  return below.Alloc_mem(size, info, address);
}

HMPI_FUNCTION(Free_mem, (void* address)) {
  Block* block = g_host_memory.block_at(address);
  if (block == nullptr) {
    return below.Free_mem(address);
  }
  if (block->is_given != 0 ||
      block->use.load(std::memory_order_relaxed) == Block::Use::kPooled) {
    below.Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_BASE);
    return MPI_ERR_BASE;
  }
  g_buffers.give_back(*block);
  return MPI_SUCCESS;
}

}  // namespace hmpi
