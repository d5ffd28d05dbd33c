/* The LQCD message passing API, version 0.3 (2001): named buffers. New programs
 * use qmp.h, which grew from it. docs/compat.md says what the text leaves open.
 *
 * Conventions:
 *
 *  1. Hosts count from 0. They are numbered as QMP numbers its nodes, and as
 *     declareTopology says afterwards.
 *  2. A receive has a name, an integer of the program. A send names a host and
 *     the receive there; the receiver does not know from where messages come.
 *     The k-th started receive of a name gets the k-th message sent to it;
 *     messages from one host arrive in the order in which they were started.
 *  3. Nothing is written into a buffer before its receive is started. Starting
 *     never blocks; a message goes its way while the program computes.
 *  4. A send of 4096 bytes or less is a copy, and complete at once. The buffer
 *     of a longer one belongs to it until it is complete.
 *  5. Every function keeps its failure for getErrorNumber and getErrorString of
 *     the calling thread, and prints one line on stderr.
 *  6. A program may end without shutdownMachine.
 */
#ifndef LQCD_H
#define LQCD_H

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

/* ---- The machine --------------------------------------------------------- */

/** Joins the job. All hosts call it first.
 *
 * @return 0, or a status code of qmp.h
 */
int initMachine(void);

/** The kind of the machine.
 *
 * @return 0 a switch; above 0 a grid of so many dimensions (QMP_GEOM); the
 *   text's -1, a butterfly, is never returned
 */
int getMachineType(void);

/** Leaves the job. All hosts call it, last. Messages that no host has received
 * are dropped.
 *
 * @return 0, or a status code of qmp.h
 */
int shutdownMachine(void);

/** Declares the hosts to be a torus. All hosts call it, once, before they
 * declare or send anything.
 *
 * @param dimensions   sizes, x first; their product is the number of hosts
 * @param ndimensions  1 or more
 * @param local_host   the number that this host wants, where x varies most
 *                     rapidly; all hosts give different ones. -1 on all hosts:
 *                     as before
 */
void declareTopology(int dimensions[], int ndimensions, int local_host);

/* ---- Declarations -------------------------------------------------------- */

/* Declarations do all work that takes time, and stay until shutdownMachine.
 *
 * @param buffer         first byte of the message; not NULL
 * @param nbytes         bytes, 0 or more
 * @param buffer_name    the name of the receive, any int
 * @param remote_buffer  the name of a receive on the other host
 * @return a handle, or NULL: initMachine was not called, a buffer that is NULL
 *   or has a negative size, no such host, no topology, memory exhausted.
 *   getErrorNumber then has QMP_NOT_INITED, QMP_INVALID_ARG, QMP_NODE_OUTRANGE,
 *   QMP_NONEIGHBOR_INFO or QMP_NOMEM_ERR
 */

/** Declares a receive with a name. Several receives may have one name. */
void* declareReceive(void* buffer, int nbytes, int buffer_name);

/** Declares a send to the name of a receive on a host.
 *
 * @param remote_host  0 .. number of hosts - 1; may be this host
 */
void* declareSendTo(void* buffer,
                    int nbytes,
                    int remote_host,
                    int remote_buffer);

/** Declares a send to the name of a receive on a neighbour.
 *
 * @param relative_host  +1 is +x, -1 is -x, +2 is +y, -2 is -y, and so on
 */
void* declareSendRelative(void* buffer,
                          int nbytes,
                          int relative_host,
                          int remote_buffer);

/* ---- Operations ---------------------------------------------------------- */

/** Starts a send; starts a receive. Starting an active handle is a failure, and
 * leaves it active.
 *
 * @param opaque  a handle
 */
void startSend(void* opaque);
void startReceive(void* opaque);

/** Whether a handle is complete. True when it was never started. Does not
 * block.
 *
 * @param opaque  a handle
 * @return 1 it is; 0 not yet; -1 it failed (a message longer than its receive:
 *   nothing was written), or it is NULL
 */
int testCompletion(void* opaque);

/** Waits until a handle is complete.
 *
 * @param opaque        a handle
 * @param milliseconds  how long; below 0 as long as QMP waits
 *                      (QMP_WAIT_TIMEOUT, 600 s; 0: without end), after which
 *                      it failed
 * @return the value of testCompletion; 0 when the time is over
 */
int waitFor(void* opaque, int milliseconds);

/** Waits for several handles.
 *
 * @param opaque        handles
 * @param count         how many, 0 or more
 * @param milliseconds  how long, as in waitFor
 * @return the value of waitFor, and -1 if any has failed
 */
int waitForMultiple(void* opaque[], int count, int milliseconds);

/** Sends a copy of the buffer to the name @p remote_buffer on all other hosts.
 * Does not block.
 *
 * @param buffer         first byte; NULL only when @p nbytes is 0
 * @param nbytes         bytes, 0 or more
 * @param remote_buffer  the name of a receive on each host
 */
void sendBroadcast(void* buffer, int nbytes, int remote_buffer);

/* ---- Collective functions ------------------------------------------------ */

/* All hosts call these functions, in one order. A sum has equal bits on every
 * host. They have no time limit; after QMP_WAIT_TIMEOUT seconds they say once
 * for which host they wait. A failure returns or leaves the value of this host,
 * and later calls fail on all hosts. */

/** Whether any host says true.
 *
 * @param b  the value of this host
 * @return the result, the same on all hosts
 */
bool globalOr(bool b);
/** Sums.
 *
 * @param i  the value of this host
 * @param x  the value of this host
 * @return the sum
 */
int sumInt(int i);
float sumFloat(float x);
double sumDouble(double x);
/** Sums of arrays in place, element by element. The text forgot the length.
 *
 * @param x       the values of this host, and then the sums
 * @param length  elements, 0 or more; equal on all hosts
 */
void sumFloatArray(float x[], int length);
void sumDoubleArray(double x[], int length);
/** Waits for all hosts. */
void waitForBarrier(void);

/* ---- Failures ------------------------------------------------------------ */

/** The calling thread's last failure: a sentence, and a status code of qmp.h.
 */
char* getErrorString(void);
int getErrorNumber(void);

#ifdef __cplusplus
}
#endif

#endif /* LQCD_H */
