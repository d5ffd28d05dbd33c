/* HMPI for programs that are written for it: ownership passing, the
 * communicators of a host, and the names with HMPI_ for those of MPI. A program
 * that knows only mpi.h needs none of this; hmpirun makes it faster as it is.
 *
 * Build with hmpicc or hmpic++, which use the MPI library of the machine, or
 * link libhmpi_openmpi or libhmpi_mpich in front of it. docs/hmpi.md describes
 * the rules, docs/tutorial/hmpi.md a program.
 */
#ifndef HMPI_H
#define HMPI_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function that does not look behind its pointer, for the warnings of GCC. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define HMPI_READS_NOTHING __attribute__((access(none, 1)))
#else
#define HMPI_READS_NOTHING
#endif

/* ---- Names ------------------------------------------------------------- */

/* HMPI's objects are those of MPI. */
typedef MPI_Comm HMPI_Comm;
typedef MPI_Request HMPI_Request;
typedef MPI_Status HMPI_Status;

#define HMPI_COMM_WORLD MPI_COMM_WORLD
#define HMPI_COMM_SELF MPI_COMM_SELF
#define HMPI_COMM_NULL MPI_COMM_NULL
#define HMPI_REQUEST_NULL MPI_REQUEST_NULL
#define HMPI_STATUS_IGNORE MPI_STATUS_IGNORE
#define HMPI_STATUSES_IGNORE MPI_STATUSES_IGNORE
#define HMPI_ANY_SOURCE MPI_ANY_SOURCE
#define HMPI_ANY_TAG MPI_ANY_TAG
#define HMPI_PROC_NULL MPI_PROC_NULL
#define HMPI_UNDEFINED MPI_UNDEFINED
#define HMPI_SUCCESS MPI_SUCCESS

#define HMPI_Abort MPI_Abort
#define HMPI_Comm_rank MPI_Comm_rank
#define HMPI_Comm_size MPI_Comm_size
#define HMPI_Comm_create MPI_Comm_create
#define HMPI_Comm_dup MPI_Comm_dup
#define HMPI_Comm_free MPI_Comm_free
#define HMPI_Comm_split MPI_Comm_split
#define HMPI_Comm_split_type MPI_Comm_split_type
#define HMPI_Comm_group MPI_Comm_group
#define HMPI_Comm_compare MPI_Comm_compare
#define HMPI_Comm_set_errhandler MPI_Comm_set_errhandler
#define HMPI_Send MPI_Send
#define HMPI_Ssend MPI_Ssend
#define HMPI_Bsend MPI_Bsend
#define HMPI_Rsend MPI_Rsend
#define HMPI_Recv MPI_Recv
#define HMPI_Isend MPI_Isend
#define HMPI_Issend MPI_Issend
#define HMPI_Ibsend MPI_Ibsend
#define HMPI_Irsend MPI_Irsend
#define HMPI_Irecv MPI_Irecv
#define HMPI_Send_init MPI_Send_init
#define HMPI_Recv_init MPI_Recv_init
#define HMPI_Start MPI_Start
#define HMPI_Startall MPI_Startall
#define HMPI_Request_free MPI_Request_free
#define HMPI_Sendrecv MPI_Sendrecv
#define HMPI_Sendrecv_replace MPI_Sendrecv_replace
#define HMPI_Probe MPI_Probe
#define HMPI_Iprobe MPI_Iprobe
#define HMPI_Mprobe MPI_Mprobe
#define HMPI_Improbe MPI_Improbe
#define HMPI_Mrecv MPI_Mrecv
#define HMPI_Imrecv MPI_Imrecv
#define HMPI_Test MPI_Test
#define HMPI_Testall MPI_Testall
#define HMPI_Testany MPI_Testany
#define HMPI_Testsome MPI_Testsome
#define HMPI_Wait MPI_Wait
#define HMPI_Waitall MPI_Waitall
#define HMPI_Waitany MPI_Waitany
#define HMPI_Waitsome MPI_Waitsome
#define HMPI_Cancel MPI_Cancel
#define HMPI_Test_cancelled MPI_Test_cancelled
#define HMPI_Get_count MPI_Get_count
#define HMPI_Get_elements MPI_Get_elements
#define HMPI_Barrier MPI_Barrier
#define HMPI_Bcast MPI_Bcast
#define HMPI_Gather MPI_Gather
#define HMPI_Gatherv MPI_Gatherv
#define HMPI_Scatter MPI_Scatter
#define HMPI_Scatterv MPI_Scatterv
#define HMPI_Allgather MPI_Allgather
#define HMPI_Allgatherv MPI_Allgatherv
#define HMPI_Alltoall MPI_Alltoall
#define HMPI_Alltoallv MPI_Alltoallv
#define HMPI_Alltoallw MPI_Alltoallw
#define HMPI_Reduce MPI_Reduce
#define HMPI_Allreduce MPI_Allreduce
#define HMPI_Reduce_scatter MPI_Reduce_scatter
#define HMPI_Reduce_scatter_block MPI_Reduce_scatter_block
#define HMPI_Scan MPI_Scan
#define HMPI_Exscan MPI_Exscan
#define HMPI_Cart_create MPI_Cart_create
#define HMPI_Cart_coords MPI_Cart_coords
#define HMPI_Cart_get MPI_Cart_get
#define HMPI_Cart_rank MPI_Cart_rank
#define HMPI_Cart_shift MPI_Cart_shift
#define HMPI_Cart_sub MPI_Cart_sub
#define HMPI_Dims_create MPI_Dims_create
#define HMPI_Alloc_mem MPI_Alloc_mem
#define HMPI_Free_mem MPI_Free_mem
#define HMPI_Wtime MPI_Wtime
#define HMPI_Wtick MPI_Wtick
#define HMPI_Initialized MPI_Initialized
#define HMPI_Finalized MPI_Finalized
#define HMPI_Get_processor_name MPI_Get_processor_name
#define HMPI_Type_size MPI_Type_size
#define HMPI_Type_commit MPI_Type_commit
#define HMPI_Type_free MPI_Type_free
#define HMPI_Type_contiguous MPI_Type_contiguous
#define HMPI_Type_vector MPI_Type_vector
#define HMPI_Op_create MPI_Op_create
#define HMPI_Op_free MPI_Op_free
#define HMPI_Error_string MPI_Error_string

/* A program that includes hmpi.h begins and ends by these, under either name.
 */
int HMPI_Init(int* argc, char*** argv);
int HMPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int HMPI_Finalize(void);
#ifndef HMPI_NO_RENAMES
#define MPI_Init HMPI_Init
#define MPI_Init_thread HMPI_Init_thread
#define MPI_Finalize HMPI_Finalize
#endif

/* ---- Hosts ------------------------------------------------------------- */

/* The processes of this host, in the order of their ranks in MPI_COMM_WORLD.
 * MPI_COMM_NULL before HMPI_Init and after HMPI_Finalize. */
extern MPI_Comm HMPI_COMM_NODE;

/* The processes of all hosts that have the rank of this one in HMPI_COMM_NODE,
 * in the order of their ranks in MPI_COMM_WORLD. */
extern MPI_Comm HMPI_COMM_NETWORK;

/** The rank in HMPI_COMM_NODE of a process.
 *
 * @param comm       a communicator
 * @param rank       0 to its size - 1
 * @param node_rank  receives the rank; MPI_UNDEFINED: it is on another host
 * @return MPI_SUCCESS, or an error of MPI
 */
int HMPI_Comm_node_rank(MPI_Comm comm, int rank, int* node_rank);

/** Whether an address is of memory that all processes of the host can read: of
 * OPI_Alloc, of MPI_Alloc_mem, or a block of malloc from 64 KiB on
 * (HMPI_HEAP_FROM). Thread-safe.
 *
 * @return 1 it is; 0 it is not, or HMPI does not carry this job's messages
 */
int IS_SM_BUF(const void* address) HMPI_READS_NOTHING;
#define IS_SM_BUF(address) (IS_SM_BUF)(address)

/* ---- Ownership passing -------------------------------------------------- *
 *
 * A buffer has one owner, who may read, write, give and free it. OPI_Give
 * passes it to another process. Inside a host nothing is copied: the address
 * travels, and is the same in both processes. Pointers inside of the buffer
 * into other given memory mean the same there, too. Between hosts the data are
 * sent, and the giver's buffer is free again.
 *
 * A give meets a take, or a receive, by MPI's rules of matching, and a take
 * meets a give or a send. Memory may be given that OPI_Alloc, MPI_Alloc_mem or
 * malloc (from 64 KiB on) has returned, and any part of it; parts are passed,
 * and whole blocks can be freed. Of other memory the receiver gets a copy.
 *
 * Functions return MPI_SUCCESS, or an error of MPI after the error handler of
 * the communicator was called, and one line that says what was wrong.
 * Thread-safe with MPI_THREAD_MULTIPLE; OPI_Alloc and OPI_Free always. */

/** Takes a buffer from the pool of this process, or makes one. Its bytes have
 * any value, and begin on a cache line.
 *
 * @param buffer  receives its address
 * @param bytes   how many; 0 is allowed
 * @return MPI_SUCCESS; MPI_ERR_NO_MEM: the heap is full (HMPI_HEAP_SIZE);
 *   MPI_ERR_ARG: @p buffer is NULL
 */
int OPI_Alloc(void** buffer, size_t bytes);

/** Ends a buffer, whoever has allocated it. It stays in the pool of this
 * process (HMPI_POOL says how much of them), so that data lie near the
 * processor that used them last. Also frees what MPI_Alloc_mem and malloc gave,
 * where IS_SM_BUF says 1.
 *
 * @param buffer  the buffer, NULL afterwards; of NULL nothing is done
 * @return MPI_SUCCESS; MPI_ERR_BUFFER: no buffer begins there, or it was given
 *   or freed before
 */
int OPI_Free(void** buffer);

/** Begins to give a buffer. It is not the caller's any more when this returns;
 * the request is complete when the message is on its way. HMPI_DEBUG=on
 * protects its pages from then on.
 *
 * @param buffer   the buffer, NULL afterwards
 * @param count    elements, 0 or more
 * @param type     their type. With one that has gaps the receiver gets a copy
 * @param rank     the new owner, or MPI_PROC_NULL, which frees it
 * @param tag      the message's tag
 * @param comm     a communicator
 * @param request  receives a request, for MPI_Wait, MPI_Test and their kind
 * @return MPI_SUCCESS; MPI_ERR_BUFFER: NULL, or given or freed before; and the
 *   errors of MPI_Isend
 */
int OPI_Give(void** buffer,
             int count,
             MPI_Datatype type,
             int rank,
             int tag,
             MPI_Comm comm,
             MPI_Request* request);

/** Begins to take a buffer. Its address is written when the request is
 * complete, and NULL before that. The caller frees it by OPI_Free, or gives it
 * on.
 *
 * @param buffer   receives the address of the buffer
 * @param count    elements at most, as MPI_Irecv
 * @param type     their type
 * @param rank     the giver or sender, or MPI_ANY_SOURCE
 * @param tag      the tag, or MPI_ANY_TAG
 * @param comm     a communicator
 * @param request  receives a request
 * @return MPI_SUCCESS; MPI_ERR_BUFFER: @p buffer is NULL; MPI_ERR_NO_MEM; and
 * the errors of MPI_Irecv
 */
int OPI_Take(void** buffer,
             int count,
             MPI_Datatype type,
             int rank,
             int tag,
             MPI_Comm comm,
             MPI_Request* request);

/* In C99, OPI_Give and OPI_Take always have a request: OPI_Give_blocking and
 * OPI_Take_blocking, below, have none. */

/* OPI_Igive is OPI_Give, and OPI_Itake is OPI_Take: these names say that they
 * do not wait. */
int OPI_Igive(void** buffer,
              int count,
              MPI_Datatype type,
              int rank,
              int tag,
              MPI_Comm comm,
              MPI_Request* request);
int OPI_Itake(void** buffer,
              int count,
              MPI_Datatype type,
              int rank,
              int tag,
              MPI_Comm comm,
              MPI_Request* request);

/* The forms that wait, as MPI_Send and MPI_Recv do. */
int OPI_Give_blocking(void** buffer,
                      int count,
                      MPI_Datatype type,
                      int rank,
                      int tag,
                      MPI_Comm comm);
int OPI_Take_blocking(void** buffer,
                      int count,
                      MPI_Datatype type,
                      int rank,
                      int tag,
                      MPI_Comm comm,
                      MPI_Status* status);

#ifdef __cplusplus
}

/* OPI_Give without a request and OPI_Take with a status wait. */
inline int OPI_Give(void** buffer,
                    int count,
                    MPI_Datatype type,
                    int rank,
                    int tag,
                    MPI_Comm comm) {
  return OPI_Give_blocking(buffer, count, type, rank, tag, comm);
}

inline int OPI_Take(void** buffer,
                    int count,
                    MPI_Datatype type,
                    int rank,
                    int tag,
                    MPI_Comm comm,
                    MPI_Status* status) {
  return OPI_Take_blocking(buffer, count, type, rank, tag, comm, status);
}
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* C11 has both forms as well. */
#define HMPI_GIVE_6(b, c, t, r, g, m) OPI_Give_blocking(b, c, t, r, g, m)
#define HMPI_GIVE_7(b, c, t, r, g, m, q) (OPI_Give)(b, c, t, r, g, m, q)
#define HMPI_PICK_GIVE(a1, a2, a3, a4, a5, a6, a7, form, ...) form
#define OPI_Give(...) \
  HMPI_PICK_GIVE(__VA_ARGS__, HMPI_GIVE_7, HMPI_GIVE_6, 0)(__VA_ARGS__)
#define OPI_Take(b, c, t, r, g, m, last) \
  _Generic((last), MPI_Status *          \
           : OPI_Take_blocking, default  \
           : (OPI_Take))(b, c, t, r, g, m, last)
#endif

#endif /* HMPI_H */
