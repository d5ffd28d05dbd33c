/* ACP malloc: specification 2.1, chapter 4.9. Global memory of any rank,
 * allocated and freed by any rank without the owner's help.
 *
 * Each rank has a heap, whose size is the setting ACP_HEAP_SIZE (acprun
 * --acp-heapsize). It is library memory: ranks of the owner's host reach it by
 * acpx_pointer. Conventions, in addition to acp/infrastructure.h:
 *
 *  1. A block may be freed by any rank. Operations on it
 *     have to be complete before.
 *  2. Blocks are aligned to 16 bytes, and to 64 when their size is a multiple
 *     of 64. Their bytes are not cleared.
 *  3. A rank keeps some free blocks of each heap that it uses at hand (the
 *     setting ACP_MALLOC_CACHE), for a heap and a size of block at most those
 *     of two spans: 32 KiB, up to 128 KiB for blocks of 8 KiB and more.
 *  4. With the setting ACP_MALLOC_DEBUG=on, acp_free reports addresses that
 *     are no block in use and blocks that were written beyond their end, and
 *     acp_finalize lists blocks that were never freed.
 *  5. acp_free works in a progress step, too, on every heap. acp_malloc is sure
 *     to work there only on heaps that acpx_pointer reaches, and only where
 *     acpx_atomics_agree returns 1. On other heaps it can fail with ACPX_AGAIN.
 */
#ifndef ACP_MALLOC_H
#define ACP_MALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Allocates @p size bytes of global memory on a rank. Specification 4.9.1.
 *
 * Does not wait for the rank's program or processor, only for the network.
 *
 * @code
 * acp_ga_t block = acp_malloc(4096, 3); // in the heap of rank 3
 * if (block == ACP_GA_NULL) acp_abort("no room");
 * acp_complete(acp_copy(block, mine, 4096, ACP_HANDLE_NULL));
 * acp_free(block); // here, or on another rank
 * @endcode
 *
 * @param size  bytes; 0 gives a block of its own, too
 * @param rank  0 .. acp_procs() - 1
 * @return the address of the first byte, or ACP_GA_NULL: ACPX_BAD_RANK,
 *   ACPX_TOO_LARGE (more than the heap has), ACPX_NO_MEMORY (not so many bytes
 *   free in a row), ACPX_AGAIN (convention 5), ACPX_PEER_DEAD, ACPX_ABORTED,
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
acp_ga_t acp_malloc(size_t size, int rank);

/** Frees a block of acp_malloc, from this rank or another. Specification
 * 4.9.2. Does not wait for the owner's program or processor.
 *
 * An address that is no block in use is ignored where that can be seen, and
 * counted: acp_finalize warns of it. A block that is freed twice is only sure
 * to be noticed with ACP_MALLOC_DEBUG=on.
 *
 * acp_errno: ACPX_NOT_INITIALIZED, ACPX_FINALIZED; ACPX_BAD_ADDRESS (with
 * ACP_MALLOC_DEBUG=on: no block in use; a line says why).
 *
 * @param ga  an address as acp_malloc returned it; ACP_GA_NULL does nothing
 */
void acp_free(acp_ga_t ga);

#ifdef __cplusplus
}
#endif

#endif /* ACP_MALLOC_H */
