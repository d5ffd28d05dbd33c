/* ACP infrastructure: specification 2.1, chapter 4.1. Start, end, ranks,
 * synchronisation, and how every function of the library reports a failure.
 *
 * The contract that all public functions share:
 *
 *  1. A function that fails returns the failure value named at its @return and
 *     sets acp_errno. A function that succeeds leaves acp_errno as it was.
 *     Outputs are written only on success.
 *  2. acp_errno is an int of the calling thread, 0 at first. A void function
 *     (acp_complete) can report only there: set it to 0 before the call.
 *  3. The function that finds the cause of a failure writes one line to stderr:
 *     rank, host, the values seen, a remedy. Callers need not print it again.
 *     Functions
 *     that only ask about an address (acp_query_rank, acp_query_color,
 *     acp_query_address, acpx_pointer) answer without a line. With the setting
 *     ACP_ERRORS=abort the job then ends with status 1, before acp_init too.
 *     acp_free of an address that is no block is an error of the call only with
 *     ACP_MALLOC_DEBUG=on (acp/malloc.h).
 *  4. Before acp_init every function fails with ACPX_NOT_INITIALIZED, after
 *     acp_finalize with ACPX_FINALIZED. Exceptions say so at the function.
 *  5. Every function may be called from any thread at any time, and by several
 *     threads at once, unless it says otherwise. None may be called from a
 *     signal handler. In a child made by fork() between acp_init and
 *     acp_finalize, acp_init included, every function fails with
 *     ACPX_NOT_INITIALIZED, and the parent's job goes on; starter memory, the
 *     heap and module memory stay mapped there, and are the parent's own.
 *  6. "Does not block" means: waits for no other rank. "Blocks" means: returns
 *     when other ranks have done their part, and makes progress meanwhile.
 *  7. "Collective" means: every rank calls it, in the same order as the other
 *     collective functions, from one thread at a time.
 *  8. Ranks count from 0 to acp_procs() - 1; sizes are bytes; times are
 *     milliseconds.
 *  9. When a rank of the job dies, the whole job ends: no call waits for the
 *     dead. A call may return ACPX_PEER_DEAD or ACPX_ABORTED before that.
 */
#ifndef ACP_INFRASTRUCTURE_H
#define ACP_INFRASTRUCTURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes in acp_errno. A failing function sets it; success leaves it alone.
 * acpx_strerror (acp/extension.h) has a sentence for each. */
enum {
  ACPX_OK = 0,                  /* Nothing has failed in this thread.        */
  ACPX_AGAIN = 1,               /* Full or not yet: progress, try again.     */
  ACPX_INVALID_ARGUMENT = 2,    /* A value outside its documented range.     */
  ACPX_NOT_INITIALIZED = 3,     /* Called before acp_init.                   */
  ACPX_ALREADY_INITIALIZED = 4, /* Called too late, after acp_init.          */
  ACPX_FINALIZED = 5,           /* Called after acp_finalize.                */
  ACPX_BAD_ADDRESS = 6,         /* Outside its region, or ACP_GA_NULL.       */
  ACPX_BAD_KEY = 7,             /* Not, or no longer, registered.            */
  ACPX_BAD_RANK = 8,            /* No such rank, or not the rank needed.     */
  ACPX_BAD_COLOR = 9,           /* Outside 0 .. acp_colors() - 1.            */
  ACPX_MISALIGNED = 10,         /* Not a multiple of the operand's size.     */
  ACPX_NO_MEMORY = 11,          /* Memory exhausted.                         */
  ACPX_NO_KEYS = 12,            /* All keys of this rank are in use.         */
  ACPX_TOO_LARGE = 13,          /* Above a documented limit.                 */
  ACPX_UNSUPPORTED = 14,        /* Not available here or not built in.       */
  ACPX_PEER_DEAD = 15,          /* The other rank is gone.                   */
  ACPX_ABORTED = 16,            /* The job is being ended.                   */
  ACPX_TIMED_OUT = 17,          /* A deadline passed.                        */
  ACPX_SYSTEM = 18,             /* A system call failed; see the log line.   */
  ACPX_PROTOCOL = 19,           /* Bytes that no peer of ours would send.    */
  ACPX_ORDER_FAILED = 20,       /* Ordered after an operation that failed.   */
  ACPX_BAD_OPTION = 21,         /* Unknown option, or value out of range.    */
  ACPX_CLOSED = 22              /* The other side has ended it.              */
};

/** Where the calling thread's error number lives. Never NULL. Works at any
 * time; does not block. Programs write acp_errno, which expands to it. */
int* acpx_errno_location(void);

/* The calling thread's error number, an int lvalue: read it after a failure,
 * set it to 0 before acp_complete. ACP_ERRNO is the specification's name. */
#define acp_errno (*acpx_errno_location())
#define ACP_ERRNO acp_errno

/** Joins the job. Specification 4.1.1.
 *
 * Returns when every rank of the job has come; then all ranks can reach each
 * other's starter memory, which is zero. Reads the settings (acp_info lists
 * them) from the environment and from the --acp-* words of the command line. It
 * removes these words from @p argc and @p argv. A word that starts with --acp-
 * and is no option, before a literal "--", is a failure. Runs the init
 * functions of the modules (acpx_add_module) in the order of their addition. A
 * program that no launcher started is rank 0 of 1.
 *
 * Starts a thread of the library, which blocks all signals but the signals of a
 * fault. So a signal for the process always goes to a thread of the program.
 *
 * Called once in the life of a process: not again after a success, and not
 * after acp_finalize. Collective; blocks. One thread, while no other thread
 * is inside the library.
 *
 * @code
 * if (acp_init(&argc, &argv) != 0) return 1; // a line has said why
 * printf("rank %d of %d\n", acp_rank(), acp_procs());
 * return acp_finalize();
 * @endcode
 *
 * @param argc  number of words in @p argv; NULL when there is nothing to read
 * @param argv  command line of main; NULL when there is nothing to read
 * @return 0, or -1: ACPX_ALREADY_INITIALIZED, ACPX_FINALIZED, ACPX_BAD_OPTION,
 *   ACPX_UNSUPPORTED (a network that is not built in or not usable here),
 *   ACPX_NO_MEMORY, ACPX_TIMED_OUT (ranks did not come), ACPX_PROTOCOL,
 *   ACPX_ABORTED, or ACPX_SYSTEM (also: a module's init failed)
 */
int acp_init(int* argc, char*** argv);

/** Leaves the job. Specification 4.1.2.
 *
 * Completes the operations of this rank, and waits for every rank. Then it runs
 * the modules' fini functions in the reverse order of their addition, and frees
 * everything that the library allocated. Keys, handles and starter memory are
 * invalid from here on. Memory that the program registered stays the program's.
 * No process joins the job again. A failure ends it, with a status of 1.
 *
 * Collective; blocks. One thread, while no other is inside the library.
 *
 * @return 0, or -1: ACPX_NOT_INITIALIZED, ACPX_FINALIZED, ACPX_PEER_DEAD,
 *   ACPX_ABORTED
 */
int acp_finalize(void);

/** Ends the whole job at once. Specification 4.1.3.
 *
 * Prints @p str, the text of this thread's acp_errno unless that is 0, rank and
 * host to stderr.
 * All ranks end without running further code. The exit status of the job is 1;
 * under srun and mpirun it is not 0. Does not return. Works at any time, in any
 * thread: before acp_init and after acp_finalize it ends its own process with
 * status 1, which ends the job.
 *
 * @param str  text about the error, for people; may be NULL
 */
void acp_abort(const char* str);

/** The number of ranks. Specification 4.1.4. Does not block.
 *
 * @return 1 or more, or -1: ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acp_procs(void);

/** The calling process's rank; acp_reset changes it. Specification 4.1.5.
 * Does not block.
 *
 * @return 0 .. acp_procs() - 1, or -1: ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
int acp_rank(void);

/** A barrier. Specification 4.1.6.
 *
 * Returns when every rank has called it. Everything that a rank had stored, and
 * the operations that it had completed (acp_complete), before its call are
 * visible to every rank afterwards. Operations still outstanding stay
 * outstanding: the barrier does not complete them.
 *
 * Collective; blocks.
 *
 * @return 0, or -1: ACPX_NOT_INITIALIZED, ACPX_FINALIZED, ACPX_PEER_DEAD,
 *   ACPX_ABORTED; ACPX_CLOSED (a rank is in acp_finalize or acp_reset and does
 *   not come to this call; a line says which)
 */
int acp_sync(void);

/** Gives every process a new rank. Specification 4.1.7.
 *
 * The proposals of all processes together must be a permutation of
 * 0 .. acp_procs() - 1. Completes all operations, runs the modules' fini
 * functions in reverse order, renumbers, makes all starter memory zero, and
 * runs the modules' init functions in order. Keys, handles, global addresses,
 * channels, data structures and workspaces of before are invalid: ask for them,
 * or create them, again. A number of before may be used again for a new object.
 *
 * When the proposals are no permutation the call fails on every rank and
 * changes nothing: the old numbering, keys and memory stay valid.
 *
 * Collective; blocks. One thread, while no other is inside the library.
 *
 * @param rank  rank of the calling process from now on, 0 .. acp_procs() - 1
 * @return 0, or -1: ACPX_BAD_RANK (here or at another process: out of range,
 *   or asked for twice), ACPX_NOT_INITIALIZED, ACPX_FINALIZED,
 *   ACPX_PEER_DEAD, ACPX_ABORTED, ACPX_SYSTEM (a module's init failed),
 *   ACPX_CLOSED (a rank is in acp_finalize or acp_sync instead; a line says
 *   which; the old numbering stays),
 *   ACPX_AGAIN (at once: the caller's last acpx_sync_timeout timed out, and no
 *   acp_sync has gone on with its barrier)
 */
int acp_reset(int rank);

#ifdef __cplusplus
}
#endif

#endif /* ACP_INFRASTRUCTURE_H */
