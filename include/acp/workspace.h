/* ACP workspaces: specification 2.1, chapters 2.2.7 and 4.8. Memory of all
 * ranks together, read and written at offsets, as a file is.
 *
 * Conventions, in addition to acp/infrastructure.h:
 *
 *  1. A workspace is divided into parts of equal size; part i is on rank
 *     (start + i) % acp_procs(). acp_setparams_ws chooses start and size.
 *     Without it: start 0, one part for each rank, a multiple of 64 bytes.
 *  2. Parts are blocks of the ranks' heaps (ACP_HEAP_SIZE). Bytes of a new
 *     workspace are undefined.
 *  3. Reads and writes of several ranks or threads may run at the same time;
 *     of two that overlap, each byte comes from one write, an aligned 8-byte
 *     word that one reads or writes by itself is seen whole. A write that has
 *     returned is seen by every read that begins after it.
 *  4. Reads and writes wait for the network, not for other ranks' programs.
 *     Not in a progress step.
 */
#ifndef ACP_WORKSPACE_H
#define ACP_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A workspace; a number in the shape of a pointer, the same on all ranks. */
typedef struct acp_wsditem acp_wsditem;
typedef acp_wsditem* acp_wsd_t;

/* No workspace: the value that acp_create_ws returns when it fails. */
#define ACP_WSD_NULL ((acp_wsd_t)-1)

/** Creates a workspace. Specification 4.8.2. Collective; blocks.
 *
 * @code
 * acp_wsd_t wsd = acp_create_ws((size_t)1 << 20); // every rank calls this
 * if (wsd == ACP_WSD_NULL) acp_abort("no workspace");
 * acp_write_ws(wsd, mine, 64, (size_t)acp_rank() * 64);
 * acp_sync();
 * acp_read_ws(wsd, mine, 64, 0); // what rank 0 has written
 * acp_destroy_ws(wsd);
 * @endcode
 *
 * @param size  bytes, 1 or more, the same on all ranks
 * @return the workspace, or ACP_WSD_NULL, on every rank: ACPX_INVALID_ARGUMENT
 *   (0; or ranks differ in size or in acp_setparams_ws), ACPX_NO_MEMORY (a heap
 *   has no room for its parts, all ranks ask for more than PTRDIFF_MAX, or 256
 *   workspaces exist), ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED, ACPX_PEER_DEAD, ACPX_ABORTED; ACPX_CLOSED (as acp_sync,
 *   and not on every rank)
 */
acp_wsd_t acp_create_ws(size_t size);

/** Ends a workspace and frees its memory. Specification 4.8.3. Waits for the
 * calls of all ranks, so that no rank still uses it. Collective; blocks.
 *
 * acp_errno: ACPX_INVALID_ARGUMENT (no workspace, or ranks differ: then nothing
 * is destroyed, and all ranks fail), ACPX_NOT_INITIALIZED, ACPX_FINALIZED,
 * ACPX_PEER_DEAD, ACPX_ABORTED; ACPX_CLOSED (as acp_sync, and not on every
 * rank).
 *
 * @param wsd  a workspace; all ranks give one value
 */
void acp_destroy_ws(acp_wsd_t wsd);

/** Copies bytes of a workspace to memory. Specification 4.8.4.
 *
 * @param wsd     a workspace
 * @param ga      where to; on any rank
 * @param size    bytes; 0 does nothing
 * @param offset  position of the first byte in the workspace; offset + size is
 *                at most the workspace's size
 * @return 0, or 1 and nothing was copied: ACPX_INVALID_ARGUMENT (no
 *   workspace), ACPX_BAD_ADDRESS (beyond the end); or 1: a code of acp_copy
 */
int acp_read_ws(acp_wsd_t wsd, acp_ga_t ga, size_t size, size_t offset);

/** How workspaces that are created from now on lie on the ranks.
 * Specification 4.8.5. Every rank gives the same values, or the next
 * acp_create_ws fails. Does not block.
 *
 * @param proc_start    rank of the first part, 0 .. acp_procs() - 1
 * @param size_default  bytes of a part, any number; 0: as convention 1
 * @return 0, or 1: ACPX_BAD_RANK, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acp_setparams_ws(size_t proc_start, size_t size_default);

/** Copies memory into a workspace. Specification 4.8.6. Like
 * acp_read_ws, in the other direction.
 *
 * @param wsd     a workspace
 * @param ga      where from; on any rank
 * @param size    bytes; 0 does nothing
 * @param offset  position of the first byte in the workspace
 * @return 0 or 1, with the codes of acp_read_ws
 */
int acp_write_ws(acp_wsd_t wsd, const acp_ga_t ga, size_t size, size_t offset);

#ifdef __cplusplus
}
#endif

#endif /* ACP_WORKSPACE_H */
