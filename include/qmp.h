/* QMP: message passing for lattice codes. QMP 2.0, with the functions that
 * later versions added. docs/qmp.md says how it works.
 *
 * Conventions:
 *
 *  1. Nodes count from 0. Every node of the job calls QMP_init_msg_passing
 *     first. A function called before that, or after QMP_finalize_msg_passing,
 *     fails, unless its description says "at any time".
 *  2. Functions that return QMP_status_t return QMP_SUCCESS (0), or the code
 *     named at @return. Functions that return a pointer or handle return NULL;
 *     QMP_get_error_number(NULL) and QMP_get_error_string(NULL) then say why,
 *     for the calling thread. Each failure also prints one line on stderr.
 *  3. A function NAME works on the default communicator, QMP_comm_NAME on the
 *     one given. Such a pair is described once.
 *  4. "Collective" means: every node of the communicator calls it, in the same
 *     order as its other collective functions.
 *  5. All thread levels are supported. One handle, the collective functions of
 *     one communicator, and QMP_comm_split and QMP_comm_free of all of them are
 *     used by one thread at a time.
 *  6. Nothing blocks except QMP_wait, QMP_wait_all, the collective functions,
 *     QMP_init_msg_passing and QMP_finalize_msg_passing. A function that blocks
 *     makes progress on everything; the library does so too while the program
 *     computes.
 *  7. When a node dies the job ends: no call waits for a dead node.
 *  8. Message handles, message memory, memory of QMP_allocate_memory and
 *     communicators that were freed fail with QMP_INVALID_ARG, in every
 *     function and also when they are freed again. A part of a multiple is
 *     freed.
 */
#ifndef QMP_H
#define QMP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef int QMP_bool_t;
#define QMP_TRUE ((QMP_bool_t)1)
#define QMP_FALSE ((QMP_bool_t)0)

/* Status codes; QMP_error_string has a sentence for each. */
typedef enum QMP_status {
  QMP_SUCCESS = 0,
  QMP_ERROR = 0x1001,            /* a failure without a code of its own     */
  QMP_NOT_INITED = 0x1002,       /* before init, or after finalize          */
  QMP_RTENV_ERR = 0x1003,        /* the environment of the job is wrong     */
  QMP_CPUINFO_ERR = 0x1004,      /* not used                                */
  QMP_NODEINFO_ERR = 0x1005,     /* not used                                */
  QMP_NOMEM_ERR = 0x1006,        /* memory exhausted                        */
  QMP_MEMSIZE_ERR = 0x1007,      /* a size that cannot be                   */
  QMP_HOSTNAME_ERR = 0x1008,     /* not used                                */
  QMP_INITSVC_ERR = 0x1009,      /* the job could not be joined             */
  QMP_TOPOLOGY_EXISTS = 0x100a,  /* a logical topology is declared already  */
  QMP_CH_TIMEOUT = 0x100b,       /* not used                                */
  QMP_NOTSUPPORTED = 0x100c,     /* not available                           */
  QMP_SVC_BUSY = 0x100d,         /* not used                                */
  QMP_BAD_MESSAGE = 0x100e,      /* message too long, or calls that disagree */
  QMP_INVALID_ARG = 0x100f,      /* a value outside its documented range    */
  QMP_INVALID_TOPOLOGY = 0x1010, /* dimensions that do not fit the job      */
  QMP_NONEIGHBOR_INFO = 0x1011,  /* no logical topology is declared         */
  QMP_MEMSIZE_TOOBIG = 0x1012,   /* above a documented limit                */
  QMP_BAD_MEMORY = 0x1013,       /* message memory that cannot be used      */
  QMP_NO_PORTS = 0x1014,         /* not used                                */
  QMP_NODE_OUTRANGE = 0x1015,    /* no such node                            */
  QMP_CHDEF_ERR = 0x1016,        /* not used                                */
  QMP_MEMUSED_ERR = 0x1017,      /* not used                                */
  QMP_INVALID_OP = 0x1018,       /* not in this state                       */
  QMP_TIMEOUT = 0x1019,          /* a transfer did not end in time          */
  QMP_MAX_STATUS = 0x101a
} QMP_status_t;

/* Interconnect of the allocated machine. */
typedef enum QMP_ictype {
  QMP_SWITCH = 0,
  QMP_GRID = 1,
  QMP_MESH = 1,
  QMP_FATTREE = 2
} QMP_ictype_t;

/* How many threads call QMP: one; one of several; one at a time; several. */
typedef enum QMP_thread_level {
  QMP_THREAD_SINGLE,
  QMP_THREAD_FUNNELED,
  QMP_THREAD_SERIALIZED,
  QMP_THREAD_MULTIPLE
} QMP_thread_level_t;

/* Values of QMP_clear_to_send. */
typedef enum QMP_clear_to_send {
  QMP_CTS_DISABLED = -1,
  QMP_CTS_NOT_READY = 0,
  QMP_CTS_READY = 1
} QMP_clear_to_send_t;

/* Alignments and flags of QMP_allocate_aligned_memory. */
#define QMP_ALIGN_ANY 0
#define QMP_ALIGN_DEFAULT 64
#define QMP_MEM_NONCACHE 0x01
#define QMP_MEM_COMMS 0x02
#define QMP_MEM_FAST 0x04
#define QMP_MEM_DEFAULT (QMP_MEM_COMMS | QMP_MEM_FAST)

/** Memory that QMP allocated. */
typedef struct QMP_mem_struct QMP_mem_t;
/** The blocks of memory that make a message. */
typedef struct QMP_msgmem_struct* QMP_msgmem_t;
/** A communicator: nodes, numbered from 0, and their logical topology. */
typedef struct QMP_comm_struct* QMP_comm_t;
/** A declared send or receive, or several. */
typedef struct QMP_msghandle_struct* QMP_msghandle_t;

/** The function of QMP_binary_reduction: inout = inout op in, on whole buffers.
 */
typedef void (*QMP_binary_func)(void* inout, void* in);

/* A statement that keeps compilers from warning of an argument without use. */
#define _QMP_UNUSED_ARGUMENT(x) ((void)(x))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Begin and end ------------------------------------------------------- */

/** Joins the job. Collective over all its nodes; once in a process.
 *
 * Takes out of the command line: -qmp-geom n.. (the allocated machine is a grid
 * of these dimensions), -qmp-alloc-map n.. and -qmp-logic-map n.. (order of the
 * axes in node numbers, fastest first, of the allocated and of logical grids),
 * -qmp-job n.. (into how many jobs the machine is split, per dimension of the
 * grid, or in all). Values are the following words that begin with a digit.
 * QMP_GEOM in the environment stands for -qmp-geom where that is missing. It
 * also takes out the options of acp_init.
 *
 * exit(0) without QMP_finalize_msg_passing finalizes.
 *
 * @code
 * QMP_thread_level_t provided;
 * if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided) !=
 *     QMP_SUCCESS) {
 *   return 1; // a line has said why
 * }
 * QMP_printf("hello");
 * QMP_finalize_msg_passing();
 * return 0;
 * @endcode
 *
 * @param argc      may be NULL
 * @param argv      may be NULL
 * @param required  thread level that the program needs
 * @param provided  receives the level, equal to @p required; may be NULL
 * @return QMP_SUCCESS; QMP_INVALID_OP (a second time, also after finalize),
 * QMP_INVALID_ARG (an option or setting with a wrong value),
 * QMP_INVALID_TOPOLOGY (the geometry does not have as many nodes as the job),
 * QMP_INITSVC_ERR (acp_init failed), QMP_NOMEM_ERR
 */
QMP_status_t QMP_init_msg_passing(int* argc,
                                  char*** argv,
                                  QMP_thread_level_t required,
                                  QMP_thread_level_t* provided);

/** Whether QMP_init_msg_passing has succeeded and finalize was not called.
 * Works at any time. */
QMP_bool_t QMP_is_initialized(void);

/** Leaves the job; collective over all its nodes. Messages that were sent but
 * not received are dropped; all handles and memory of QMP are invalid. Does
 * nothing before init and when called again. */
void QMP_finalize_msg_passing(void);

/** Ends the whole job. Does not return; works at any time.
 *
 * @param error_code  the job's exit status, 1 .. 255; 0 ends it with status 1
 */
void QMP_abort(int error_code);

/** QMP_abort, with a message to stderr before.
 *
 * @param error_code  exit status, see QMP_abort
 * @param message     text that is printed; may be NULL
 */
void QMP_abort_string(int error_code, char* message);

/** The version this interface has, "2.5.4". Works at any time. */
const char* QMP_version_str(void);
/** The version as a number, 20504. Works at any time. */
int QMP_version_int(void);

/* ---- Communicators ------------------------------------------------------- */

/** The nodes that were allocated to this job: all, or a part by -qmp-job. NULL
 * before init. */
QMP_comm_t QMP_comm_get_allocated(void);
/** The nodes of this job. NULL before init. */
QMP_comm_t QMP_comm_get_job(void);
/** The communicator that functions without one use; at first that of the job.
 */
QMP_comm_t QMP_comm_get_default(void);

/** Replaces the communicators that the three functions above return, in this
 * process.
 *
 * @param comm  a communicator
 * @return QMP_SUCCESS; QMP_INVALID_ARG (NULL)
 */
QMP_status_t QMP_comm_set_allocated(QMP_comm_t comm);
QMP_status_t QMP_comm_set_job(QMP_comm_t comm);
QMP_status_t QMP_comm_set_default(QMP_comm_t comm);

/** Makes new communicators: one of all nodes that give the same color.
 * Collective over @p comm.
 *
 * @param comm     the nodes to divide
 * @param color    any int
 * @param key      node numbers follow (key, number in @p comm)
 * @param newcomm  receives the new one of this node; freed by QMP_comm_free
 * @return QMP_SUCCESS; QMP_INVALID_ARG, QMP_NOMEM_ERR, QMP_ERROR
 */
QMP_status_t QMP_comm_split(QMP_comm_t comm,
                            int color,
                            int key,
                            QMP_comm_t* newcomm);

/** Frees a communicator of QMP_comm_split. Collective over @p comm. Its handles
 * must not be active; they may only be freed afterwards. When it was the
 * default communicator, that of the job becomes the default.
 *
 * @param comm  a communicator of QMP_comm_split
 * @return QMP_SUCCESS; QMP_INVALID_ARG (NULL, or one that QMP made itself),
 *   QMP_INVALID_OP (a transfer on it is active here), QMP_ERROR (global
 *   operations on it fail, or the job ends: it stays until the end of the job)
 */
QMP_status_t QMP_comm_free(QMP_comm_t comm);

/** The number of colors in the split that made @p comm; 1 when QMP made it.
 *
 * @param comm  a communicator
 */
int QMP_comm_get_number_of_colors(QMP_comm_t comm);
/** Color and key of this node in that split; 0 when QMP made @p comm.
 *
 * @param comm  a communicator
 */
int QMP_comm_get_color(QMP_comm_t comm);
int QMP_comm_get_key(QMP_comm_t comm);

/* ---- The allocated machine ------------------------------------------------
 */

/** QMP_GRID with -qmp-geom, else QMP_SWITCH. */
QMP_ictype_t QMP_get_msg_passing_type(void);

/** The number of nodes; 0 before init.
 *
 * @param comm  a communicator
 */
int QMP_get_number_of_nodes(void);
int QMP_comm_get_number_of_nodes(QMP_comm_t comm);
/** This node's number; -1 before init.
 *
 * @param comm  a communicator
 */
int QMP_get_node_number(void);
int QMP_comm_get_node_number(QMP_comm_t comm);
/** Whether this is node 0.
 *
 * @param comm  a communicator
 */
QMP_bool_t QMP_is_primary_node(void);
QMP_bool_t QMP_comm_is_primary_node(QMP_comm_t comm);

/** Dimensions, sizes and this node's coordinates of the grid given by
 * -qmp-geom; 0 and NULL on a switch. The memory is QMP's. */
int QMP_get_allocated_number_of_dimensions(void);
const int* QMP_get_allocated_dimensions(void);
const int* QMP_get_allocated_coordinates(void);

/** Into how many jobs -qmp-job splits the machine, and which this is. */
int QMP_get_number_of_jobs(void);
int QMP_get_job_number(void);
/** The values of -qmp-job; 0 and NULL without. The memory is QMP's. */
int QMP_get_number_of_job_geometry_dimensions(void);
const int* QMP_get_job_geometry(void);

/** The node that does input and output for @p node: itself.
 *
 * @param node  0 to the number of nodes - 1
 */
int QMP_io_node(int node);
/** The node that does input and output for all nodes: 0. */
int QMP_master_io_node(void);

/* ---- The logical machine --------------------------------------------------
 */

/** Declares the nodes to be a torus. Once for a communicator; every node
 * declares the same.
 *
 * Node numbers stay. The node at coordinates c has number c[0] + dims[0] *
 * (c[1] + dims[1] * ...). The axes are in the order of the map where one is
 * given, or by -qmp-logic-map.
 *
 * @param comm    a communicator
 * @param dims    sizes, 1 or more; their product is the number of nodes
 * @param ndim    how many, 1 or more
 * @param map     a permutation of the axes, fastest first; axes that it leaves
 *                out follow in their order; may be NULL
 * @param mapdim  length of @p map
 * @return QMP_SUCCESS; QMP_TOPOLOGY_EXISTS, QMP_INVALID_ARG, QMP_NOT_INITED
 */
QMP_status_t QMP_declare_logical_topology(const int dims[], int ndim);
QMP_status_t QMP_comm_declare_logical_topology(QMP_comm_t comm,
                                               const int dims[],
                                               int ndim);
QMP_status_t QMP_declare_logical_topology_map(const int dims[],
                                              int ndim,
                                              const int map[],
                                              int mapdim);
QMP_status_t QMP_comm_declare_logical_topology_map(
    QMP_comm_t comm, const int dims[], int ndim, const int map[], int mapdim);

/** Whether a logical topology was declared, by one of the functions above or by
 * QMP_layout_grid.
 *
 * @param comm  a communicator
 */
QMP_bool_t QMP_logical_topology_is_declared(void);
QMP_bool_t QMP_comm_logical_topology_is_declared(QMP_comm_t comm);

/** Dimensions and sizes of the logical topology, and the coordinates of this
 * node. While none is declared they are those of the allocated machine. The
 * memory belongs to QMP.
 *
 * @param comm  a communicator
 */
int QMP_get_logical_number_of_dimensions(void);
int QMP_comm_get_logical_number_of_dimensions(QMP_comm_t comm);
const int* QMP_get_logical_dimensions(void);
const int* QMP_comm_get_logical_dimensions(QMP_comm_t comm);
const int* QMP_get_logical_coordinates(void);
const int* QMP_comm_get_logical_coordinates(QMP_comm_t comm);

/** Coordinates of any node, in memory that the caller frees with free().
 *
 * @param comm  a communicator
 * @param node  0 to the number of nodes of the communicator - 1
 * @return NULL: QMP_NODE_OUTRANGE, QMP_NONEIGHBOR_INFO, QMP_NOMEM_ERR
 */
int* QMP_get_logical_coordinates_from(int node);
int* QMP_comm_get_logical_coordinates_from(QMP_comm_t comm, int node);

/** Writes the coordinates of any node into memory of the caller; writes nothing
 * on a failure.
 *
 * @param comm    a communicator
 * @param coords  receives a coordinate for each dimension
 * @param node    0 to the number of nodes of the communicator - 1
 */
void QMP_get_logical_coordinates_from2(int coords[], int node);
void QMP_comm_get_logical_coordinates_from2(QMP_comm_t comm,
                                            int coords[],
                                            int node);

/** The node at coordinates; they wrap around.
 *
 * @param comm         a communicator
 * @param coordinates  a coordinate for each dimension, any int
 * @return -1: QMP_INVALID_ARG (NULL), QMP_NONEIGHBOR_INFO
 */
int QMP_get_node_number_from(const int coordinates[]);
int QMP_comm_get_node_number_from(QMP_comm_t comm, const int coordinates[]);

/* ---- The lattice ----------------------------------------------------------
 */

/** Divides a lattice among the nodes of the default communicator, equally.
 *
 * Uses the logical topology if one is declared, else the allocated grid if it
 * has as many dimensions. Else it declares one: the division in which a node
 * has the fewest sites on faces to other nodes. QMP_LAYOUT in the environment
 * chooses; docs/qmp.md says how, and which of equally good divisions is taken.
 *
 * @param dimensions  sizes of the lattice, 1 or more
 * @param ndims       how many, 1 or more
 * @return QMP_SUCCESS; QMP_INVALID_ARG, QMP_INVALID_TOPOLOGY (it cannot be
 *   divided, or a node would get more than INT_MAX sites: nothing is declared),
 *   QMP_NOT_INITED
 */
QMP_status_t QMP_layout_grid(const int dimensions[], int ndims);
/** A node's part of the lattice; NULL and 0 before QMP_layout_grid. */
const int* QMP_get_subgrid_dimensions(void);
int QMP_get_number_of_subgrid_sites(void);

/* ---- Memory ---------------------------------------------------------------
 */

/** Allocates memory that other nodes on the host reach directly.
 *
 * @param nbytes     bytes; 0 gives memory of no bytes
 * @param alignment  a power of two; QMP_ALIGN_ANY is the least useful one
 * @param flags      QMP_MEM_; hints
 * @return NULL: QMP_NOMEM_ERR, QMP_INVALID_ARG, QMP_NOT_INITED
 */
QMP_mem_t* QMP_allocate_memory(size_t nbytes);
QMP_mem_t* QMP_allocate_aligned_memory(size_t nbytes,
                                       size_t alignment,
                                       int flags);
/** The address of the memory; NULL for NULL.
 *
 * @param mem  memory of QMP_allocate_memory, or NULL
 */
void* QMP_get_memory_pointer(QMP_mem_t* mem);
/** Frees memory of QMP. NULL is fine. No started message may use the memory:
 * peers may still write there.
 *
 * @param mem  memory of QMP_allocate_memory, or NULL
 */
void QMP_free_memory(QMP_mem_t* mem);

/* ---- Message memory -------------------------------------------------------
 */

/* The message memories share the following. A message is the bytes of all
 * blocks, in the order in which they are named; there may be no blocks. The
 * memory itself stays that of the program. Nothing checks that it is mapped. A
 * message of memory that is not may end the job by SIGSEGV.
 *
 * @return the description, or NULL: QMP_INVALID_ARG, QMP_NOMEM_ERR,
 *   QMP_NOT_INITED
 */

/** Describes @p nbytes bytes at @p mem.
 *
 * @param mem     first byte; NULL only when @p nbytes is 0
 * @param nbytes  bytes, 0 or more
 */
QMP_msgmem_t QMP_declare_msgmem(const void* mem, size_t nbytes);

/** Describes @p nblocks blocks of @p blksize bytes, block i at base + i *
 * stride.
 *
 * @param base     first byte of block 0
 * @param blksize  bytes of a block
 * @param nblocks  blocks, 0 or more
 * @param stride   bytes from block to block; negative is fine
 */
QMP_msgmem_t QMP_declare_strided_msgmem(void* base,
                                        size_t blksize,
                                        int nblocks,
                                        ptrdiff_t stride);

/** Describes @p num strided memories, one after the other.
 *
 * @param base     the first byte of block 0 of each
 * @param blksize  bytes of a block of each
 * @param nblocks  blocks of each, 0 or more
 * @param stride   bytes from block to block of each
 * @param num      memories, the length of the four arrays
 */
QMP_msgmem_t QMP_declare_strided_array_msgmem(
    void* base[], size_t blksize[], int nblocks[], ptrdiff_t stride[], int num);

/** Describes @p count blocks, block i of blocklen[i] elements at element
 * index[i].
 *
 * @param base      where element 0 begins
 * @param blocklen  elements of each block, 0 or more
 * @param index     the first element of each block
 * @param elemsize  bytes of an element
 * @param count     blocks, the length of the two arrays
 */
QMP_msgmem_t QMP_declare_indexed_msgmem(
    void* base, int blocklen[], int index[], int elemsize, int count);

/** Frees the description; handles that use it go on. NULL is fine.
 *
 * @param m  a description, or NULL
 */
void QMP_free_msgmem(QMP_msgmem_t m);

/* ---- Messages -------------------------------------------------------------
 */

/* Declarations share the following. Sends and receives of one communicator,
 * pair of nodes and class meet in the order in which they are started, on each
 * side. A class is: to and from node numbers; or one axis and the sign in which
 * the message travels. A receive relative to (axis, -1) gets what its neighbour
 * there sends to (axis, +1). A message may be shorter than its receive.
 *
 * @param comm      a communicator
 * @param m         memory of the message
 * @param rem_node_rank  the other node, 0 to the number of nodes - 1
 * @param axis      axis of the logical topology, or of the allocated grid
 * @param dir       +1 or -1
 * @param priority  a hint, not used
 * @return a handle, or NULL: QMP_INVALID_ARG, QMP_NODE_OUTRANGE,
 *   QMP_NONEIGHBOR_INFO (no topology), QMP_NOMEM_ERR, QMP_NOT_INITED
 */

/** A receive from a neighbour. */
QMP_msghandle_t QMP_declare_receive_relative(QMP_msgmem_t m,
                                             int axis,
                                             int dir,
                                             int priority);
QMP_msghandle_t QMP_comm_declare_receive_relative(
    QMP_comm_t comm, QMP_msgmem_t m, int axis, int dir, int priority);
/** A send to a neighbour. */
QMP_msghandle_t QMP_declare_send_relative(QMP_msgmem_t m,
                                          int axis,
                                          int dir,
                                          int priority);
QMP_msghandle_t QMP_comm_declare_send_relative(
    QMP_comm_t comm, QMP_msgmem_t m, int axis, int dir, int priority);
/** A receive from a node, which may be this one. */
QMP_msghandle_t QMP_declare_receive_from(QMP_msgmem_t m,
                                         int rem_node_rank,
                                         int priority);
QMP_msghandle_t QMP_comm_declare_receive_from(QMP_comm_t comm,
                                              QMP_msgmem_t m,
                                              int rem_node_rank,
                                              int priority);
/** A send to a node, which may be this one. */
QMP_msghandle_t QMP_declare_send_to(QMP_msgmem_t m,
                                    int rem_node_rank,
                                    int priority);
QMP_msghandle_t QMP_comm_declare_send_to(QMP_comm_t comm,
                                         QMP_msgmem_t m,
                                         int rem_node_rank,
                                         int priority);

/* ---- Handles --------------------------------------------------------------
 */

/** Makes one handle of several, which are started in this order. It frees the
 * given handles: they must not be used any more. They may be multiples.
 *
 * @param msgh  handles, all different and none of them active
 * @param num   how many; 0 gives a handle that is always complete
 * @return NULL: QMP_INVALID_ARG, QMP_INVALID_OP (one is active),
 *   QMP_NOMEM_ERR; the given handles are then as before
 */
QMP_msghandle_t QMP_declare_multiple(QMP_msghandle_t msgh[], int num);
/** Does what QMP_declare_multiple does, for pairs of a send and a receive.
 *
 * @param msgh  handles, see QMP_declare_multiple
 * @param num   how many, 0 or more
 */
QMP_msghandle_t QMP_declare_send_recv_pairs(QMP_msghandle_t msgh[], int num);

/** Moves the handle's message memory to another base address; its shape stays.
 * When it has several bases, all move by as much as the first one.
 *
 * @param msg   not active, not a multiple
 * @param addr  not NULL
 * @return QMP_SUCCESS; QMP_INVALID_ARG, QMP_INVALID_OP
 */
QMP_status_t QMP_change_address(QMP_msghandle_t msg, void* addr);
/** Moves the message memories of a multiple, in declared order.
 *
 * @param msg    a multiple, not active
 * @param addr   the new base address of each part, not NULL
 * @param naddr  the number of parts
 */
QMP_status_t QMP_change_address_multiple(QMP_msghandle_t msg,
                                         void* addr[],
                                         int naddr);

/** A hint that the peer may send soon. No value changes anything here. Memory
 * of a receive is written after QMP_start only. So the handle may be freed,
 * changed or become a part of a multiple afterwards.
 *
 * @param mh   a handle, not active
 * @param cts  a value of QMP_clear_to_send_t
 * @return QMP_SUCCESS; QMP_INVALID_ARG (NULL, or no such value),
 *   QMP_INVALID_OP (active)
 */
QMP_status_t QMP_clear_to_send(QMP_msghandle_t mh, QMP_clear_to_send_t cts);

/** Frees a handle. NULL is fine. When it is active the transfer still takes
 * place, and its memory must stay until then: where nothing else tells, until
 * QMP_finalize_msg_passing.
 *
 * @param h  a handle, or NULL
 */
void QMP_free_msghandle(QMP_msghandle_t h);

/** Starts a handle. Does not block.
 *
 * @code
 * QMP_msgmem_t memory = QMP_declare_msgmem(field, sizeof field);
 * QMP_msghandle_t send = QMP_declare_send_to(memory, 1, 0);
 * if (QMP_start(send) != QMP_SUCCESS || QMP_wait(send) != QMP_SUCCESS) {
 *   QMP_abort_string(1, "cannot send");
 * }
 * QMP_free_msghandle(send);
 * QMP_free_msgmem(memory);
 * @endcode
 *
 * @param h  a handle
 * @return QMP_SUCCESS; QMP_INVALID_ARG (NULL), QMP_INVALID_OP (active),
 *   QMP_NOMEM_ERR
 */
QMP_status_t QMP_start(QMP_msghandle_t h);

/** Whether a started handle is complete: received, or the memory of a send may
 * be changed. True when it is not active. Makes progress, does not block.
 *
 * @param h  a handle
 */
QMP_bool_t QMP_is_complete(QMP_msghandle_t h);

/** Waits until a started handle is complete.
 *
 * @param h  a handle
 * @return QMP_SUCCESS, at once when not active; QMP_INVALID_ARG (NULL),
 *   QMP_BAD_MESSAGE (longer than the receive), QMP_TIMEOUT (after
 *   QMP_WAIT_TIMEOUT seconds, 600 by default, 0 for never; still active),
 *   QMP_ERROR (the other node has left without its part of the message, or the
 *   network or the job has failed)
 */
QMP_status_t QMP_wait(QMP_msghandle_t h);
/** Waits for several handles, in any order. Returns the first failure.
 *
 * @param h    handles; each may be a multiple
 * @param num  how many, 0 or more
 */
QMP_status_t QMP_wait_all(QMP_msghandle_t h[], int num);

/* ---- Global operations ----------------------------------------------------
 */

/* Collective, in place, and the same bits on every node and in every run with
 * the same number of nodes. They have no time limit: after QMP_WAIT_TIMEOUT
 * seconds (600; 0: never) a node that waits says once for which node it waits,
 * and waits on.
 *
 * @param comm    a communicator
 * @param value   the value of this node, and then the result
 * @param length  elements of the array, 0 or more; equal on all nodes
 * @return QMP_SUCCESS; QMP_INVALID_ARG (NULL, or a negative length) and
 *   QMP_NOT_INITED, which count as not called; QMP_BAD_MESSAGE (lengths, types
 *   or functions that differ), QMP_NOMEM_ERR (on one node at least), QMP_ERROR
 *   (a node has left, or the job ends). After these three all global operations
 *   fail on this communicator, on all its nodes, with QMP_ERROR. Other
 *   communicators, and QMP_barrier of all nodes of the job, work on. The data
 *   given to a reduction stays as it was; what a broadcast or QMP_comm_alltoall
 *   writes may have changed. After a call has returned no other node writes
 *   there. */

/** Waits for all nodes. A node that leaves the job (exit(0),
 * QMP_finalize_msg_passing) instead of calling a barrier of the whole job meets
 * the others in it. Then it returns QMP_ERROR on the node whose rank is the
 * next, which says so. */
QMP_status_t QMP_barrier(void);
QMP_status_t QMP_comm_barrier(QMP_comm_t comm);

/** Copies @p nbytes bytes of node 0 to all nodes.
 *
 * @param buffer  on node 0 the source, elsewhere the destination
 * @param nbytes  bytes, 0 or more; equal on all nodes
 */
QMP_status_t QMP_broadcast(void* buffer, size_t nbytes);
QMP_status_t QMP_comm_broadcast(QMP_comm_t comm, void* buffer, size_t nbytes);

/** Sums. */
QMP_status_t QMP_sum_int(int* value);
QMP_status_t QMP_comm_sum_int(QMP_comm_t comm, int* value);
QMP_status_t QMP_sum_uint64_t(uint64_t* value);
QMP_status_t QMP_comm_sum_uint64_t(QMP_comm_t comm, uint64_t* value);
QMP_status_t QMP_sum_float(float* value);
QMP_status_t QMP_comm_sum_float(QMP_comm_t comm, float* value);
QMP_status_t QMP_sum_double(double* value);
QMP_status_t QMP_comm_sum_double(QMP_comm_t comm, double* value);
QMP_status_t QMP_sum_long_double(long double* value);
QMP_status_t QMP_comm_sum_long_double(QMP_comm_t comm, long double* value);
/** A sum of doubles, added up in the longest type and rounded once. */
QMP_status_t QMP_sum_double_extended(double* value);
QMP_status_t QMP_comm_sum_double_extended(QMP_comm_t comm, double* value);
/** Sums of arrays, element by element. */
QMP_status_t QMP_sum_float_array(float value[], int length);
QMP_status_t QMP_comm_sum_float_array(QMP_comm_t comm,
                                      float value[],
                                      int length);
QMP_status_t QMP_sum_double_array(double value[], int length);
QMP_status_t QMP_comm_sum_double_array(QMP_comm_t comm,
                                       double value[],
                                       int length);
QMP_status_t QMP_sum_long_double_array(long double value[], int length);
QMP_status_t QMP_comm_sum_long_double_array(QMP_comm_t comm,
                                            long double value[],
                                            int length);
QMP_status_t QMP_sum_double_extended_array(double value[], int length);
QMP_status_t QMP_comm_sum_double_extended_array(QMP_comm_t comm,
                                                double value[],
                                                int length);
/** Largest and smallest. A NaN anywhere gives NaN. */
QMP_status_t QMP_max_int(int* value);
QMP_status_t QMP_comm_max_int(QMP_comm_t comm, int* value);
QMP_status_t QMP_max_float(float* value);
QMP_status_t QMP_comm_max_float(QMP_comm_t comm, float* value);
QMP_status_t QMP_max_double(double* value);
QMP_status_t QMP_comm_max_double(QMP_comm_t comm, double* value);
QMP_status_t QMP_min_int(int* value);
QMP_status_t QMP_comm_min_int(QMP_comm_t comm, int* value);
QMP_status_t QMP_min_float(float* value);
QMP_status_t QMP_comm_min_float(QMP_comm_t comm, float* value);
QMP_status_t QMP_min_double(double* value);
QMP_status_t QMP_comm_min_double(QMP_comm_t comm, double* value);
/** Exclusive or. */
QMP_status_t QMP_xor_ulong(unsigned long* value);
QMP_status_t QMP_comm_xor_ulong(QMP_comm_t comm, unsigned long* value);
/** Transposes blocks: block i of @p sendbuffer on node j becomes block j of
 * @p recvbuffer on node i. For each other node of the communicator, this one
 * has 67 KiB of library memory (QMP_MEMORY) from its first call on.
 *
 * @param recvbuffer  a block for each node; overlaps @p sendbuffer nowhere. May
 *   have changed when the call fails
 * @param sendbuffer  a block for each node; not changed
 * @param count       bytes of a block, equal on all nodes
 */
QMP_status_t QMP_comm_alltoall(QMP_comm_t comm,
                               char* recvbuffer,
                               char* sendbuffer,
                               int count);
/** A reduction by a function of the program: f(a, b) leaves a op b in a.
 *
 * Operands combine in a fixed order, lower nodes first, that depends on the
 * number of nodes only (docs/qmp.md). For a sensible result op has to be
 * associative, not commutative.
 *
 * @param lbuffer  @p buflen bytes: this node's value, then the result
 * @param buflen   bytes, equal on all nodes
 * @param bfunc    is given whole buffers of @p buflen bytes, aligned to 64
 */
QMP_status_t QMP_binary_reduction(void* lbuffer,
                                  size_t buflen,
                                  QMP_binary_func bfunc);
QMP_status_t QMP_comm_binary_reduction(QMP_comm_t comm,
                                       void* lbuffer,
                                       size_t buflen,
                                       QMP_binary_func bfunc);

/* ---- Errors and levels -----------------------------------------------------
 */

/** A sentence for a code; never NULL. Works at any time.
 *
 * @param code  any number
 */
const char* QMP_error_string(QMP_status_t code);
/** The last failure of a handle, or, for NULL, of the calling thread. Works at
 * any time. The text is valid until the next failure.
 *
 * @param mh  a handle, or NULL
 */
QMP_status_t QMP_get_error_number(QMP_msghandle_t mh);
const char* QMP_get_error_string(QMP_msghandle_t mh);

/** Sets how much QMP says to stderr: 0 errors; 1 also what job and machine it
 * has joined, topologies, splits, and its end. Returns the level before. Works
 * at any time.
 *
 * @param level  0 or 1
 */
int QMP_verbose(int level);
/** Sets a profiling level: from 1 on the time in QMP is added up
 * (QMP_get_total_qmp_time), at 0, as at first, not. Returns the level before.
 * Works at any time.
 *
 * @param level  0 or more
 */
int QMP_profcontrol(int level);

/* ---- Printing -------------------------------------------------------------
 */

/* These functions print `QMP m<node>,n<nodes>@<host>: ` in front and a newline
 * at the end, always. They work at any time.
 *
 * @param stream  where to
 * @param format  as in printf, and then its arguments
 * @return the value that printf returns
 */

/** Prints to stdout; and to a stream. */
int QMP_printf(const char* format, ...);
int QMP_fprintf(FILE* stream, const char* format, ...);
/** Prints to stdout as ` info`, to stderr as ` error`. */
int QMP_info(const char* format, ...);
int QMP_error(const char* format, ...);

/* ---- Time -----------------------------------------------------------------
 */

/** Seconds since some time in the past, the same for the whole process. */
double QMP_time(void);
/** Seconds that this process has spent in QMP_wait, QMP_wait_all and the
 * collective functions since the reset, while QMP_profcontrol was 1 or more. */
double QMP_get_total_qmp_time(void);
void QMP_reset_total_qmp_time(void);

/** Always fails: only implementations on top of MPI have a hidden communicator.
 *
 * @param comm    a communicator
 * @param hidden  not written to
 * @return QMP_NOTSUPPORTED; @p hidden is not changed
 */
QMP_status_t QMP_get_hidden_comm(QMP_comm_t comm, void** hidden);

#ifdef __cplusplus
}
#endif

#endif /* QMP_H */
