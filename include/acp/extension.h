/* The additions of this implementation to ACP 2.1. Every name starts with
 * acpx_. The middle layer uses only these functions and acp.h, so a program can
 * build data structures of its own in the same way.
 *
 * Conventions, in addition to acp/infrastructure.h and acp/gma.h:
 *
 *  1. timeout_ms is in milliseconds: negative waits without end, 0 looks once
 *     and returns. A time-out is an answer, not a failure: acp_errno is left
 *     alone.
 *  2. A signal is a store or an atomic that wakes the rank it goes to, if that
 *     rank sleeps in acpx_wait_word or acpx_wait_until, or has progress steps.
 *     Plain copies and atomics wake no thread: a waiter notices them within
 *     about a millisecond, or within a sixteenth of the time that it has waited
 *     without an event, at most 50 milliseconds.
 *  3. Waiting functions make progress, run progress steps, and sleep when
 *     nothing happens. When the job ends while they wait they return -1.
 */
#ifndef ACP_EXTENSION_H
#define ACP_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

#include "acp/channel.h"
#include "acp/deque.h"
#include "acp/gma.h"
#include "acp/infrastructure.h"
#include "acp/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A sentence fragment for a code of acp_errno, in English. Works at any time.
 *
 * @param code  any int
 * @return never NULL; a text that says so for a number that is no code
 */
const char* acpx_strerror(int code);

/** The library's version, such as "0.1.0". Works at any time; never NULL. */
const char* acpx_version(void);

/* ---- Ordered chains ---------------------------------------------------- */

/* Steps of a chain. Other numbers are ACPX_INVALID_ARGUMENT. */
typedef enum {
  ACPX_PUT = 1,  /* size bytes from local to remote                    */
  ACPX_PUT8 = 2, /* the 8 bytes of operand to remote                   */
  ACPX_GET = 3,  /* size bytes from remote to local                    */
  ACPX_ADD8 = 4, /* the atomics: old value to local, unless local is 0 */
  ACPX_CAS8 = 5,
  ACPX_AND8 = 6,
  ACPX_OR8 = 7,
  ACPX_XOR8 = 8,
  ACPX_SWAP8 = 9
} acpx_opcode_t;

/* In acpx_op_t.flags of put8 and the atomics: once the step is done, wake the
 * threads that sleep on the remote rank. */
#define ACPX_SIGNAL UINT32_C(1)

/* In acpx_op_t.flags of any step: more operations to the same rank follow soon.
 * A transport may keep the chain, so that they travel together. It keeps the
 * chain until acpx_flush, a wait or an inquiry of any thread, or the end of
 * about 1 millisecond. An operation without such a flag ends that as well,
 * unless it is done in its call. Operations on memory of the same host are done
 * in the call.
 */
#define ACPX_MORE UINT32_C(2)

/* ACPX_MORE without the time limit: the caller promises a call of acpx_flush,
 * and the library does not wake its own thread to send the chain. */
#define ACPX_HOLD UINT32_C(4)

/* Steps of one chain at most. */
#define ACPX_MAX_STEPS 16

/* One step of a chain. */
typedef struct {
  acpx_opcode_t opcode;
  uint32_t flags;   /* ACPX_SIGNAL (put8, atomics), ACPX_MORE or _HOLD  */
  acp_ga_t remote;  /* on the peer: all steps on one rank and color     */
  acp_ga_t local;   /* mine: source of a put, destination of a get or   */
                    /* of the old value; 0 drops the old value          */
  size_t size;      /* bytes, for put and get; 0 does nothing           */
  uint64_t operand; /* value of put8, addend, mask, new value           */
  uint64_t compare; /* expected value of cas8                           */
} acpx_op_t;

/** Issues a chain: up to ACPX_MAX_STEPS operations on one peer, applied there
 * in the given order, one handle for all.
 *
 * The order of effects always holds: a step finds the effects of the steps
 * before it. A rank that sees the effect of a step sees the effects of all
 * steps before it. The chain as a whole is not atomic: other ranks may act
 * between two steps. The chain takes one flight over the network wherever the
 * transport allows it, and otherwise several, with an equal result. A step
 * cannot use the result of an earlier step.
 *
 * All steps are checked before any takes effect. An error that the caller can
 * see fails the call. An error that only the peer can see stops the chain at
 * that step. Earlier steps have taken effect, later steps do not, and the
 * handle fails.
 *
 * The peer may be the calling rank. Does not block except as convention 7 of
 * acp/gma.h says. @p ops is copied; the memory its steps name is the chain's
 * until the handle is complete.
 *
 * @code
 * // Adds 1, and reads the word behind the counter, in one flight.
 * acpx_op_t ops[2] = {
 *     {.opcode = ACPX_ADD8, .remote = counter, .local = mine, .operand = 1},
 *     {.opcode = ACPX_GET, .remote = counter + 8, .local = mine + 8, .size = 8}
 * };
 * acp_complete(acpx_post(ops, 2, ACP_HANDLE_NULL));
 * @endcode
 *
 * @param ops    the steps, front to back; remote and local of put8 and the
 *               atomics are 8-byte aligned (local of put8 is not used)
 * @param n      number of steps, 1 .. ACPX_MAX_STEPS
 * @param order  when to start, convention 4 of acp/gma.h
 * @return a handle, or ACP_HANDLE_NULL: ACPX_INVALID_ARGUMENT (NULL, n, an
 *   opcode, flags, remotes of different ranks or colors), ACPX_MISALIGNED,
 *   ACPX_BAD_RANK (no such rank, or a local that is not the caller's), and
 *   the codes of acp_copy and of the atomics
 */
acp_handle_t acpx_post(const acpx_op_t* ops, size_t n, acp_handle_t order);

/** Sends the chains that a transport keeps because of ACPX_MORE and ACPX_HOLD.
 *
 * A caller that cannot know which operation is the last uses it. Does not
 * block, and does nothing before acp_init and after acp_finalize. Thread-safe;
 * also in a progress step. */
void acpx_flush(void);

/** Copies @p size bytes to @p dst, then adds @p add to the 8 bytes at @p word
 * on the same rank. Then it wakes the threads that wait there. One handle.
 *
 * A rank that sees the new value of @p word sees the copied bytes. The addition
 * is atomic with all 8-byte atomics on @p word. One flight when @p src is on
 * the caller's rank. Does not block except as convention 7 of acp/gma.h says.
 *
 * @code
 * acpx_put_signal(theirs, mine, 64, counter, 1, ACP_HANDLE_NULL);
 * @endcode
 *
 * @param dst    first byte to write; any rank
 * @param src    first byte to read; any rank
 * @param size   bytes; 0 only signals, and dst and src are not looked at
 * @param word   8-byte aligned, on the rank of @p dst
 * @param add    addend, usually 1
 * @param order  when to start, convention 4 of acp/gma.h
 * @return a handle, or ACP_HANDLE_NULL: ACPX_MISALIGNED, ACPX_BAD_RANK (dst
 *   and word on different ranks, or no such rank), and the codes of acp_copy
 */
acp_handle_t acpx_put_signal(acp_ga_t dst,
                             acp_ga_t src,
                             size_t size,
                             acp_ga_t word,
                             uint64_t add,
                             acp_handle_t order);

/* ---- Waiting ----------------------------------------------------------- */

/** acp_complete with a time limit, and with an answer. A failure that it
 * reports is collected, as by acp_complete. Not in a progress step.
 *
 * @param handle      a handle or ACP_HANDLE_ALL, see acp_complete
 * @param timeout_ms  convention 1
 * @return 0 complete, and nothing failed that was not reported before; 1 not
 *   complete yet; -1 complete and failed, with the reason of the first failure
 *   in acp_errno, or ACPX_PEER_DEAD, ACPX_ABORTED, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
int acpx_complete_timeout(acp_handle_t handle, int timeout_ms);

/** acp_sync with a time limit. After 1 the barrier has begun and is not over.
 * The caller's next acp_sync or acpx_sync_timeout goes on with it, and is not a
 * second one. Until a call succeeds, call no other collective function;
 * acp_reset fails with ACPX_AGAIN then. Not in a progress step. Thread-safety
 * as acp_sync.
 *
 * @param timeout_ms  convention 1
 * @return 0 all ranks have called it; 1 not all until the time limit; -1:
 *   ACPX_PEER_DEAD, ACPX_ABORTED, ACPX_CLOSED (as acp_sync),
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acpx_sync_timeout(int timeout_ms);

/** acp_wait_ch with a time limit. A request whose time is over stays under way,
 * with its buffer, and has to be waited for again. Not in a progress step.
 *
 * @param request     from a function of acp/channel.h
 * @param timeout_ms  convention 1
 * @param size        receives what acp_wait_ch returns, on success only; may be
 *                    NULL
 * @return 0 complete, and the request is over; 1 not complete yet; -1: the
 *   codes of acp_wait_ch, and the request is over
 */
int acpx_wait_ch_timeout(acp_request_t request, int timeout_ms, size_t* size);

/** Waits until a word of the calling rank differs from @p unlike.
 *
 * Reads the word whole, with acquire. Everything that the writer of the new
 * value had stored before (the bytes of acpx_put_signal, earlier steps of a
 * chain) is visible when this returns. Returns at once when the word differs
 * already. Blocks up to the limit; not in a progress step. Several threads may
 * wait, on one word too.
 *
 * @code
 * uint64_t seen = 0; // signals that this rank has taken
 * if (acpx_wait_word(counter, seen, 10000, &seen) == 0) puts("it is there");
 * @endcode
 *
 * @param word        8-byte aligned, on the caller's rank
 * @param unlike      value to wait away from
 * @param timeout_ms  convention 1
 * @param value       receives the value seen, on success only; may be NULL
 * @return 0 the word differed; 1 it was equal until the time limit; -1:
 *   ACPX_MISALIGNED, ACPX_BAD_RANK (not the caller's), ACPX_BAD_ADDRESS,
 *   ACPX_BAD_KEY, ACPX_PEER_DEAD, ACPX_ABORTED, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
int acpx_wait_word(acp_ga_t word,
                   uint64_t unlike,
                   int timeout_ms,
                   uint64_t* value);

/** Waits until @p done returns nonzero.
 *
 * @p done is called in this thread, at least once, and again whenever its
 * result may have changed. That is after progress, after a signal, and at the
 * times that convention 2 names. It may be called after it has returned
 * nonzero, and keeps that answer. It must not wait. Blocks up to the limit; not
 * in a progress step.
 *
 * @param done        the condition; not NULL
 * @param arg         passed to @p done
 * @param timeout_ms  convention 1
 * @return 0 @p done returned nonzero; 1 it did not until the time limit; -1:
 *   ACPX_INVALID_ARGUMENT, ACPX_PEER_DEAD, ACPX_ABORTED,
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acpx_wait_until(int (*done)(void*), void* arg, int timeout_ms);

/* ---- Access to a peer's memory ------------------------------------------ */

/** Whether the owner's own CPU atomics (C11 atomics on acp_query_address) and
 * the library's atomics on that rank's memory are atomic with each other.
 * Fixed at acp_init, and equal for all callers and colors. Does not block.
 *
 * @param rank  0 .. acp_procs() - 1
 * @return 1 they are; 0 they are not; -1: ACPX_BAD_RANK, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
int acpx_atomics_agree(int rank);

/** Where the calling process can load and store a byte of any rank of its host
 * directly. It can do that with library memory (starter memory, modules'
 * memory) of every rank there, and with all memory of its own. Does not block.
 *
 * The pointer is valid until acp_reset or acp_finalize, or until the region is
 * unregistered. Direct accesses are ordered by the program's own C11 atomics
 * and by acp_sync.
 *
 * @param ga  an address of any rank
 * @return the pointer, or NULL: ACPX_UNSUPPORTED (on another host, or memory
 *   that its rank registered by itself), ACPX_BAD_ADDRESS, ACPX_BAD_RANK,
 *   ACPX_BAD_KEY, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
void* acpx_pointer(acp_ga_t ga);

/** Whether a pointer into library memory of any rank of this host means the
 * same in the process of @p rank as in the calling process. Where it does, a
 * linked structure can lie in library memory with plain pointers in it, and
 * both ranks follow them. The library maps this memory at one address in all
 * processes of a host. In a process that has something else at that address it
 * lies elsewhere, and the answer is 0 for that process. acpx_pointer translates
 * there. Fixed at acp_init for two processes. Does not block.
 *
 * @param rank  0 .. acp_procs() - 1
 * @return 1 it does, as for the caller's own rank; 0 it does not, or the rank's
 *   memory is not mapped here; -1: ACPX_BAD_RANK, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
int acpx_pointers_agree(int rank);

/* ---- The heap ---------------------------------------------------------- */

/** Returns the free blocks that this rank keeps at hand (convention 3 of
 * acp/malloc.h) to their heaps, so that other ranks can have them. When each
 * rank has freed everything and called this, each heap is one free piece again.
 *
 * @return 0, or -1: ACPX_AGAIN, ACPX_PEER_DEAD, ACPX_ABORTED,
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acpx_trim_malloc(void);

/* ---- Data structures ---------------------------------------------------- */

/** Takes bytes off the front of a deque and copies them, in one undivided
 * change: of several takers each gets bytes of its own. Two round trips when
 * @p ga is on the caller's rank. See acp/deque.h.
 *
 * @param deque  a deque
 * @param ga     where to; any rank. Not in the deque itself
 * @param size   bytes, all or none; 0 bytes can always be taken
 * @return 1 taken; 0 the deque has fewer; -1: ACPX_BAD_ADDRESS (@p ga), and
 *   the codes of acp/deque.h
 */
int acpx_take_front_deque(acp_deque_t deque, acp_ga_t ga, size_t size);

/** Takes the last @p size bytes off the end of a deque, in their order; like
 * acpx_take_front_deque.
 *
 * @param deque  a deque
 * @param ga     where to; any rank. Not in the deque itself
 * @param size   bytes, all or none
 * @return 1, 0 or -1, with the codes of acpx_take_front_deque
 */
int acpx_take_back_deque(acp_deque_t deque, acp_ga_t ga, size_t size);

/** Where the bytes of a range are. This implementation has them in one piece:
 * the second element is always empty. A program that uses both elements is
 * portable. One round trip.
 *
 * @param start  first byte
 * @param end    behind the last byte, of the same deque
 * @return the pieces; two empty ones: ACPX_INVALID_ARGUMENT (two deques, or
 *   backwards), ACPX_BAD_ADDRESS (not in the deque)
 */
acp_pair_t acpx_dereference_range_deque(acp_deque_it_t start,
                                        acp_deque_it_t end);

/** Inserts several pairs, up to 16 in flight at a time. Each pair gets the
 * result of acp_insert_map; pairs of one call with equal keys are in no order.
 * Large pairs, and pairs in memory of other ranks, go one by one.
 *
 * @param map      a map
 * @param pairs    @p n pairs
 * @param n        how many; 0 does nothing
 * @param results  receives for each 1 inserted, 0 the key was there, -1
 *                 failed; may be NULL
 * @return how many were inserted, at most INT_MAX; or -1 when one failed, with
 *   the reason of the last in acp_errno: ACPX_INVALID_ARGUMENT (NULL too),
 *   ACPX_NO_MEMORY (also when @p n is too large), and the codes of
 * acp_insert_map
 */
int acpx_insert_map_n(acp_map_t map,
                      const acp_pair_t* pairs,
                      size_t n,
                      int* results);

/** Looks several keys up, up to 16 in flight at a time.
 *
 * @param map    a map
 * @param keys   @p n keys
 * @param n      how many; 0 does nothing
 * @param pairs  receives where key and value are; empty elements for a key that
 *               is not there
 * @return how many were found, at most INT_MAX; or -1: as acpx_insert_map_n,
 *   and @p pairs is not written
 */
int acpx_find_map_n(acp_map_t map,
                    const acp_element_t* keys,
                    size_t n,
                    acp_pair_t* pairs);

/** Counts: adds to the 8-byte value under a key, which is inserted when it is
 * not there. One undivided operation; two round trips.
 *
 * @param map  a map
 * @param key  the key
 * @param add  addend; the value of a new key
 * @param old  receives the value before, 0 of a new key; may be NULL
 * @return 1 inserted; 0 added; -1: ACPX_INVALID_ARGUMENT (the value has not 8
 *   bytes), and the codes of acp_insert_map
 */
int acpx_upsert_add8_map(acp_map_t map,
                         acp_element_t key,
                         uint64_t add,
                         uint64_t* old);

/* ---- Published names ---------------------------------------------------- */

/* Bytes of a name without the zero at its end, and bytes of a value, at most.
 */
#define ACPX_MAX_NAME 255
#define ACPX_MAX_PUBLISHED 4096

/** Publishes a small value under a name, such as an address or the handle of a
 * structure, for acpx_lookup of every rank. Of several that publish one name,
 * one succeeds: the value of a name never changes until acpx_unpublish.
 *
 * Not collective: no other rank has to call anything. A hash of the name
 * chooses the rank that has it, its owner, whose program does not take part.
 * The first name of an owner takes 32 KiB of its heap. Names end with acp_reset
 * and acp_finalize. Thread-safe; waits for the network, and not in a progress
 * step.
 *
 * A rank that finds the name sees what the caller stored, and the operations
 * that it completed, before the call.
 *
 * @code
 * acp_vector_t results = {0};
 * if (acp_rank() == 0) {
 *   results = acp_create_vector(0, 0);
 *   acpx_publish("results", &results, sizeof results);
 * }
 * // Each rank waits until the name is there.
 * acpx_lookup("results", &results, sizeof results, NULL, -1);
 * @endcode
 *
 * @param name   1 to ACPX_MAX_NAME bytes, and a zero; any bytes
 * @param value  copied; NULL only when @p size is 0
 * @param size   bytes, 0 to ACPX_MAX_PUBLISHED
 * @return 0 published; 1 the name has a value already, which stays (acp_errno
 *   is left alone); -1: ACPX_INVALID_ARGUMENT (NULL, no name), ACPX_TOO_LARGE
 *   (name or value), ACPX_NO_MEMORY (the owner's heap is full, or 65,536
 *   structures are there), ACPX_NOT_INITIALIZED, ACPX_FINALIZED,
 *   ACPX_PEER_DEAD, ACPX_ABORTED
 */
int acpx_publish(const char* name, const void* value, size_t size);

/** Looks a published name up, and waits until it is there.
 *
 * A lookup that finds its name takes two round trips to the owner, and some
 * more at the first time or for a large value. One that waits looks again and
 * again, less often the longer it waits. So a name is found at most an eighth
 * of the time waited too late. After 10 s a line says which name it waits for.
 * Thread-safe; blocks up to the limit; not in a progress step.
 *
 * @param name        a name, see acpx_publish
 * @param value       receives the value, on success only; NULL only when @p
 *                    capacity is 0
 * @param capacity    bytes at @p value
 * @param size        receives the bytes of the value, on success only. NULL:
 *                    the value has to have @p capacity bytes
 * @param timeout_ms  convention 1
 * @return 0 found; 1 not published until the time limit; -1:
 *   ACPX_INVALID_ARGUMENT (NULL, no name, or another number of bytes),
 *   ACPX_TOO_LARGE (the name, or the value is longer than @p capacity), and
 *   the other codes of acpx_publish but ACPX_NO_MEMORY
 */
int acpx_lookup(const char* name,
                void* value,
                size_t capacity,
                size_t* size,
                int timeout_ms);

/** Removes a name. Any rank may do that, and the name may be published again.
 * Thread-safe; waits for the network, and not in a progress step.
 *
 * @param name  a name, see acpx_publish
 * @return 0 removed; 1 it was not published (acp_errno is left alone); -1: the
 *   codes of acpx_publish
 */
int acpx_unpublish(const char* name);

/* ---- For layers above -------------------------------------------------- */

/** Adds a progress step: a function that runs again and again in each thread
 * that makes progress, a waiting caller or the library's own thread.
 *
 * Steps run one at a time, never nested. A call that issues an operation never
 * runs them in the calling thread, not even while it waits for room in a full
 * window. A caller may hold a lock that a step takes. A step must not wait, and
 * must not call functions that block (acp_complete, the waits, acp_sync,
 * collective functions); it may issue operations and ask acp_inquire. A full
 * window is an answer there: ACP_HANDLE_NULL with ACPX_AGAIN, try again in the
 * next run. A step returns nonzero when it made progress, so that a waiting
 * thread does not go to sleep. It returns ACPX_STEP_BUSY when another thread is
 * using its data: then it runs again within about a millisecond.
 *
 * @param step  the function; not NULL
 * @param arg   passed to it; the pair (step, arg) is added once
 * @return 0, or -1: ACPX_INVALID_ARGUMENT (NULL, or added already),
 *   ACPX_NO_MEMORY, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acpx_add_progress(int (*step)(void*), void* arg);

/* A return value of a progress step, see acpx_add_progress. */
#define ACPX_STEP_BUSY 2

/** Has the progress steps run within about a millisecond, although nothing
 * arrives and the program may compute.
 *
 * A layer that leaves work to its step calls it. The steps run once or more
 * after the call began: in a thread that makes progress, or in the library's
 * own. Does not block, and does nothing before acp_init and after acp_finalize.
 * Thread-safe; also in a progress step. */
void acpx_hurry_progress(void);

/** Removes a progress step. When it returns the step is not running and will
 * not run again, with one exception. When the step removes itself, the run
 * under way is its last. Blocks until a run in another thread is over.
 *
 * @param step  the function that was given to acpx_add_progress
 * @param arg   the argument that was given with it
 * @return 0, or -1: ACPX_INVALID_ARGUMENT (no such pair),
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acpx_remove_progress(int (*step)(void*), void* arg);

/* A layer above that has memory on every rank, and functions that run at start,
 * reset and end. The struct is copied; name and arg must stay valid. */
typedef struct {
  const char* name;       /* the name in log lines; not NULL              */
  size_t bytes;           /* library memory per rank, zeroed; may be 0    */
  int (*init)(void* arg); /* in acp_init and acp_reset; 0, or it fails;   */
                          /* may be NULL                                  */
  int (*fini)(void* arg); /* in acp_finalize and acp_reset; 0, or warned  */
                          /* of; may be NULL                              */
  void* arg;
} acpx_module_t;

/** Adds a module. Before acp_init of the program only; every rank adds the same
 * modules with the same sizes in the same order.
 *
 * acp_init and acp_reset call init in the order of addition. Ranks, operations
 * and acp_sync work then, and the modules' memory is zero on all ranks.
 * acp_reset and acp_finalize call fini in reverse order, while operations and
 * acp_sync still work. A nonzero return of init makes the outer call fail. A
 * nonzero return of fini is logged as a warning, unless the job is ending badly
 * already. Not thread-safe: one thread, before acp_init. Does not block.
 *
 * @param module  not NULL; all modules together take at most ACP_MODULE_MEMORY
 *                bytes of a rank
 * @return the module's number, 0 or more, or -1: ACPX_INVALID_ARGUMENT,
 *   ACPX_ALREADY_INITIALIZED, ACPX_FINALIZED, ACPX_NO_MEMORY
 */
int acpx_add_module(const acpx_module_t* module);

/** Holds the job for a layer above ACP that needs it longer than the program,
 * or of which the program does not know. Begins the job, as acp_init does, if
 * the program has not. Collective in that case. Until acpx_release_job:
 *
 * - acp_init of the program succeeds once if the layer has begun the job, with
 *   the settings that are in force already. Modules may be added before it.
 * - acp_finalize of the program ends the program's modules, and meets the other
 *   ranks. The job goes on.
 * - acp_reset fails.
 *
 * Memory that acpx_pointer has given stays valid in this process until it ends,
 * also after acpx_release_job. In a child made by fork() it is a private copy:
 * what the child writes there no other process sees. The child may still see
 * what others write into pages that it has not written. Thread-safe. Blocks
 * until all ranks have joined.
 *
 * @return 0, or -1: ACPX_ALREADY_INITIALIZED (held already), ACPX_FINALIZED,
 *   and the codes of acp_init
 */
int acpx_hold_job(void);

/** Ends acpx_hold_job, and the job with it, as acp_finalize does, unless the
 * program is still between its acp_init and acp_finalize. Every rank that holds
 * the job calls it. Blocks as acp_finalize does.
 *
 * @return 0, or -1: ACPX_INVALID_ARGUMENT (no layer holds the job), and the
 * codes of acp_finalize
 */
int acpx_release_job(void);

/** Where a module's memory of a rank begins, aligned to 64 bytes. By it, a
 * layer finds its peers without the program's starter memory. Does not block.
 *
 * @param module  number that acpx_add_module returned
 * @param rank    0 .. acp_procs() - 1
 * @return its address (of a module of 0 bytes: one to do nothing with), or
 *   ACP_GA_NULL: ACPX_INVALID_ARGUMENT (no such module), ACPX_BAD_RANK,
 *   ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
acp_ga_t acpx_module_ga(int module, int rank);

/** The value of a setting, as acp_info lists them, in force in this job. Works
 * from the start of acp_init on, in modules' init functions too. Does not
 * block.
 *
 * @param name   as in the environment, such as "ACP_HEAP_SIZE"
 * @param value  receives a number or a number of bytes; of a setting with
 *               choices the position of the chosen value, from 0
 * @return 0, or -1: ACPX_INVALID_ARGUMENT (no such setting, or NULL),
 *   ACPX_UNSUPPORTED (the setting is a text), ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
int acpx_setting(const char* name, uint64_t* value);

/** Registers memory as acp_register_memory does, for a layer above ACP that has
 * another way when it is refused. A refusal writes no line, and ends no job
 * when the setting ACP_ERRORS is abort.
 *
 * @param addr   start of the region; see acp_register_memory for all three
 * @param size   bytes, at least 1
 * @param color  0 to acp_colors() - 1
 * @return the key, or ACP_ATKEY_NULL with acp_errno as acp_register_memory
 *   sets it
 */
acp_atkey_t acpx_try_register_memory(void* addr, size_t size, int color);

/** Ends a region as acp_unregister_memory does, without waiting. The first call
 * ends the key. Further calls ask whether the memory may go. Makes no progress
 * by itself, so a caller that has nothing else to do waits in
 * acpx_wait_until or calls acp_unregister_memory instead. Also in a progress
 * step.
 *
 * @param atkey  a key of this rank, the same in each call
 * @return 1 when nobody accesses the memory any more, and the key is forgotten;
 *   0 while accesses are under way, or peers have not forgotten how to reach
 *   the memory: call again; -1: ACPX_BAD_KEY (never issued, of another rank,
 *   or unregistered already), ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acpx_try_unregister_memory(acp_atkey_t atkey);

/** Tells a rank how its network reaches memory of the calling rank, which that
 * rank is about to access. It changes no result, only time: over RDMA the first
 * access to a region otherwise waits for a question and its answer, a round
 * trip. What the caller sends to the rank next, for example a signal, arrives
 * behind it. Where there is nothing to tell, this does nothing. That is so on
 * one host, over UDP, and before the first traffic between the two ranks. It is
 * also so when the rank has been told of the region.
 *
 * The call registers the memory with the device, up to 64 MiB of it; the rank
 * asks for the rest. acp_unregister_memory then waits for an answer of that
 * rank's library, as after an access. Does not block; also in a progress step.
 *
 * @param ga    first byte; on the calling rank
 * @param size  bytes
 * @param rank  0 to acp_procs() - 1
 * @return 0, or -1: ACPX_BAD_RANK (@p rank, or the memory of another rank),
 *   ACPX_BAD_ADDRESS, ACPX_BAD_KEY, ACPX_BAD_COLOR, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
int acpx_announce_memory(acp_ga_t ga, size_t size, int rank);

/** Names the function of a layer above ACP that the calling thread is in. When
 * a job ends badly, acprun's roll-call then shows the function that the program
 * called, say "waiting in QMP_wait". It does not show the function of ACP
 * inside of it. The outermost function counts: while a name is set, further
 * ones change nothing. Works at any time; does not block, and touches nothing
 * shared.
 *
 * @param function  a name that outlives the call of acpx_leave_call; the first
 *                  47 characters are shown. NULL names nothing
 * @return the name that was set before, or NULL, for acpx_leave_call
 */
const char* acpx_enter_call(const char* function);

/** Restores the name that was set before acpx_enter_call in this thread.
 *
 * @param before  name that acpx_enter_call returned
 */
void acpx_leave_call(const char* before);

/** Begins a call of a layer above ACP that cannot be undone half-way. ACP keeps
 * 1 MiB of address space in reserve for the moment in which the system refuses
 * memory. Until acpx_leave_reserve an allocation by operator new of this thread
 * that fails takes from the reserve. When that is used up as well, the job ends
 * with one line. Functions of ACP that the thread calls meanwhile do not fail
 * for want of the reserve. Calls nest. Works at any time; does not block.
 *
 * @return 0, or -1 with ACPX_NO_MEMORY: the system refuses to fill the reserve,
 *   and a call that may fail should now do so before it begins. Writes no line.
 *   The thread is inside in both cases.
 */
int acpx_enter_reserve(void);

/** Ends what the last acpx_enter_reserve of this thread has begun. */
void acpx_leave_reserve(void);

/** Adds to a count of the program's own. `acprun --stats` and `--report` show
 * the counts of all ranks by name. In a job that counts nothing (ACP_COUNTERS)
 * this does nothing. It takes a lock and compares names, 17 to 28 ns, so an
 * inner loop counts by itself and calls this at its end. Any thread; does not
 * block.
 *
 * @param name    name of the count; its first 47 characters are shown. A rank
 *                has up to 63 names; further ones share "other counts"
 * @param amount  added to the count, which begins with 0
 * @return 0, or -1: ACPX_INVALID_ARGUMENT (NULL or ""), ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
int acpx_count(const char* name, uint64_t amount);

/* How much a line matters; the setting ACP_LOG says which are shown. */
typedef enum {
  ACPX_LOG_ERROR = 0,
  ACPX_LOG_WARNING = 1,
  ACPX_LOG_INFO = 2,
  ACPX_LOG_DEBUG = 3,
  ACPX_LOG_TRACE = 4
} acpx_log_level_t;

/** Writes one line to stderr in the form of the library's own, with rank and
 * host, when @p level is shown. Works at any time; does not block.
 *
 * @param level  one of the above; any other number writes nothing
 * @param text   the event, the values seen, a remedy; no newline. NULL writes
 *               nothing
 */
void acpx_log(acpx_log_level_t level, const char* text);

#ifdef __cplusplus
}
#endif

#endif /* ACP_EXTENSION_H */
