/* ACP global memory management: specification 2.1, chapter 4.10. Makes memory
 * reachable for all ranks, and translates between pointers and global
 * addresses.
 *
 * Conventions, in addition to acp/infrastructure.h:
 *
 *  1. A global address names one byte of one rank. It is a plain number that
 *     may be stored, sent and compared; byte arithmetic on it works inside its
 *     region. ACP_GA_NULL is 0, which no byte has. Do not look into its
 *     fields: their widths depend on the number of ranks
 *     (docs/global_address.md, acp_info --ga).
 *  2. The low 6 bits of a global address equal the low 6 bits of the pointer it
 * stands for. So alignment up to 64 can be seen on it.
 *  3. A region is the memory of one acp_register_memory. It begins to be
 *     so when the call returns and ends when acp_unregister_memory returns;
 *     use of a dead key or of an address made with it fails with ACPX_BAD_KEY.
 *  4. The memory under a region stays the program's. It must stay allocated
 *     until acp_unregister_memory has returned. From then on no operation of
 *     any rank reads or changes it; one that was under way has either taken
 *     effect or fails with ACPX_BAD_KEY. The exception are calls that other
 *     threads of the owner are in meanwhile.
 *  5. A color chooses the network path that operations on the region take, 0
 *     .. acp_colors() - 1. It never changes results.
 *  6. Regions may overlap, and one range may be registered more than once.
 *  7. Starter memory exists on each rank from acp_init on, zeroed, aligned to
 *     64 bytes, 10,240 bytes or as set (ACP_STARTER_MEMORY,
 *     --acp-startermemsize); it is registered in color 0 by the library.
 *  8. acp_reset and acp_finalize end all regions.
 *  9. Nothing here blocks, except as acp_unregister_memory says, and any thread
 *     may call it.
 */
#ifndef ACP_GLOBAL_MEMORY_H
#define ACP_GLOBAL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Global address: a byte of a rank. */
typedef uint64_t acp_ga_t;

/** Address translation key: a region of the rank that registered it. */
typedef uint64_t acp_atkey_t;

/* No address and no key: the values that failing functions return. */
#define ACP_GA_NULL UINT64_C(0)
#define ACP_ATKEY_NULL UINT64_C(0)

/** Makes @p size bytes at @p addr reachable for all ranks. Specification
 * 4.10.2. Any memory that the process may read and write will do: heap, stack,
 * static, mapped files. Pages are not touched. Memory that is not mapped, or
 * not for reading and writing, is refused where /proc/self/maps shows it. The
 * region has to stay mapped and writable until acp_unregister_memory. An access
 * of a peer to a part that was unmapped or made read-only before fails with
 * ACPX_BAD_ADDRESS. Memory that was mapped there since belongs to the region.
 * The largest jobs have 254 keys a rank and 16 GiB - 64 bytes a region, small
 * ones thousands and terabytes.
 *
 * @code
 * static double field[1000];
 * acp_atkey_t key = acp_register_memory(field, sizeof field, 0);
 * acp_ga_t first = acp_query_ga(key, field);
 * if (first == ACP_GA_NULL) acp_abort("no region");
 * // Other ranks learn the address, for example by acpx_publish.
 * acp_unregister_memory(key);
 * @endcode
 *
 * @param addr   first byte, not NULL, any alignment
 * @param size   bytes, 1 or more
 * @param color  path for operations on it, 0 .. acp_colors() - 1
 * @return the region's key, or ACP_ATKEY_NULL: ACPX_INVALID_ARGUMENT (NULL, 0,
 *   the range wraps around the address space, or is not all readable and
 *   writable), ACPX_BAD_COLOR,
 *   ACPX_TOO_LARGE (the region does not fit the address's offset field),
 *   ACPX_NO_KEYS, ACPX_NO_MEMORY, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
acp_atkey_t acp_register_memory(void* addr, size_t size, int color);

/** Ends a region. Specification 4.10.3. Afterwards its key and every address
 * made with it are dead on all ranks, and the memory may go (convention 4).
 * Waits until no NIC and no rank of this host copies to or from the memory any
 * more. It waits at most as long as the copies that have begun.
 *
 * @param atkey  a key that acp_register_memory returned on this rank
 * @return 0, or -1: ACPX_BAD_KEY (never issued, of another rank, or
 *   unregistered already), ACPX_PEER_DEAD, ACPX_ABORTED (the key is dead,
 *   but the job is ending), ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acp_unregister_memory(acp_atkey_t atkey);

/** The global address of a byte of an own region. Specification 4.10.4.
 *
 * @param atkey  a live key of this rank
 * @param addr   pointer into the region; one past its end is outside
 * @return the address, or ACP_GA_NULL: ACPX_BAD_KEY, ACPX_BAD_ADDRESS (outside
 *   the region), ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
acp_ga_t acp_query_ga(acp_atkey_t atkey, void* addr);

/** The number of colors: independent paths of the network in use.
 * Specification 4.10.5. The number is equal on all ranks.
 *
 * @return 1 or more, or -1: ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acp_colors(void);

/** The rank that an address belongs to. Specification 4.10.6. Decodes the
 * number only; whether the region is alive is not looked at.
 *
 * @param ga  an address of any rank
 * @return 0 .. acp_procs() - 1, or -1: ACPX_BAD_ADDRESS (ACP_GA_NULL),
 *   ACPX_BAD_RANK (no such rank), ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acp_query_rank(acp_ga_t ga);

/** The color of an address. Specification 4.10.7. Decodes the number only.
 *
 * @param ga  an address of any rank
 * @return 0 .. acp_colors() - 1, or -1: ACPX_BAD_ADDRESS (ACP_GA_NULL),
 *   ACPX_BAD_RANK, ACPX_BAD_COLOR (no address of this job has them),
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acp_query_color(acp_ga_t ga);

/** The pointer behind an address of the calling rank. Specification 4.10.8.
 * For memory of other ranks on the same host see acpx_pointer.
 *
 * @param ga  an address of this rank, starter memory included
 * @return the pointer, or NULL: ACPX_BAD_ADDRESS (ACP_GA_NULL, or outside its
 *   region), ACPX_BAD_RANK (another rank's), ACPX_BAD_KEY,
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
void* acp_query_address(acp_ga_t ga);

/** Where a rank's starter memory begins, which serves for the first exchange of
 * addresses. Specification 4.10.9.
 *
 * @param rank  0 .. acp_procs() - 1
 * @return its address, or ACP_GA_NULL: ACPX_BAD_RANK, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
acp_ga_t acp_query_starter_ga(int rank);

#ifdef __cplusplus
}
#endif

#endif /* ACP_GLOBAL_MEMORY_H */
