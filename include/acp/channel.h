/* ACP channels: specification 2.1, chapters 2.2.2 and 4.2. Messages in one
 * direction, in order, between two ranks.
 *
 * Conventions, in addition to acp/infrastructure.h; docs/channels.md explains
 * how it works:
 *
 *  1. A channel has two ends. Each rank creates its own. For a pair and
 *     direction, the n-th end of the sender belongs to the n-th of the
 * receiver.
 *  2. Only acp_wait_ch, acp_waitall_ch and acp_free_ch wait for the other end.
 * Sends and receives may be posted at once, any number of them; they start when
 * the other end is there.
 *  3. The n-th message sent is the n-th received. Requests of one end may be
 *     waited for in any order, by any thread; each has to be, once.
 *  4. A buffer is the library's until its request has been waited for. A send
 *     is complete when its buffer may be reused; the receiver may not have it
 *     yet.
 *  5. Messages move on while the program computes.
 *  6. Handles are checked: a handle that was never given, or that is over, is
 *     ACPX_INVALID_ARGUMENT.
 *  7. acp_reset and acp_finalize complete all sends and end all channels.
 *     Messages that a rank has not received by then are dropped.
 */
#ifndef ACP_CHANNEL_H
#define ACP_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An end of a channel; a number in the shape of a pointer. */
typedef struct acp_channel* acp_ch_t;

/** A send, a receive or a free under way; likewise. */
typedef struct acp_channel_request* acp_request_t;

/* No channel, and no request: the values that failing functions return. */
#define ACP_CH_NULL ((acp_ch_t)0)
#define ACP_REQUEST_NULL ((acp_request_t)0)

/** Creates the caller's end of a channel from @p sender to @p receiver.
 * Specification 4.2.2. The receiver has a ring of ACP_CH_BUFFER bytes for
 * messages that arrive before their receive. Does not block.
 *
 * @code
 * char text[64] = "hello";
 * acp_ch_t ch = acp_create_ch(0, 1); // ranks 0 and 1 call this
 * if (ch == ACP_CH_NULL) acp_abort("no channel");
 * acp_request_t request = acp_rank() == 0
 *                             ? acp_nbsend_ch(ch, text, sizeof text)
 *                             : acp_nbrecv_ch(ch, text, sizeof text);
 * if (acp_wait_ch(request) == (size_t)-1) acp_abort("no message");
 * acp_free_ch(ch);
 * @endcode
 *
 * @param sender    rank that sends, 0 .. acp_procs() - 1
 * @param receiver  rank that receives, not the sender; the caller is sender or
 *                  receiver
 * @return the end, or ACP_CH_NULL: ACPX_BAD_RANK (out of range),
 *   ACPX_INVALID_ARGUMENT (both are equal, or the caller is neither),
 *   ACPX_NO_MEMORY, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
acp_ch_t acp_create_ch(int sender, int receiver);

/** acp_nbfree_ch and acp_wait_ch in one. Specification 4.2.3. Blocks.
 *
 * @param ch  an end of the caller's
 * @return 0, or -1: the codes of acp_nbfree_ch and acp_wait_ch
 */
int acp_free_ch(acp_ch_t ch);

/** Starts to free an end. Specification 4.2.4. From here on @p ch is over:
 * every use fails. Requests posted before are completed first: a sender's
 * messages are on their way, a receiver's posted receives have their messages.
 * Messages that a receiver has not posted for are dropped, and so are those
 * that the sender sends from then on. Needs the other rank's library, not its
 * program. Does not block.
 *
 * @param ch  an end of the caller's
 * @return a request, or ACP_REQUEST_NULL: ACPX_INVALID_ARGUMENT,
 *   ACPX_NO_MEMORY, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
acp_request_t acp_nbfree_ch(acp_ch_t ch);

/** Starts to send a message. Specification 4.2.5. Does not block.
 *
 * @param ch    an end for sending
 * @param buf   the message; NULL only when @p size is 0. Read until the request
 *              is complete
 * @param size  bytes; 0 is a message too
 * @return a request, or ACP_REQUEST_NULL: ACPX_INVALID_ARGUMENT (no channel of
 *   mine, an end for receiving, NULL), ACPX_NO_MEMORY, ACPX_NOT_INITIALIZED,
 *   ACPX_FINALIZED
 */
acp_request_t acp_nbsend_ch(acp_ch_t ch, void* buf, size_t size);

/** Starts to receive the next message. Specification 4.2.6. A longer message
 * than @p size loses its end; of a shorter one only its bytes are written.
 * Does not block.
 *
 * @param ch    an end for receiving
 * @param buf   where to; NULL only when @p size is 0
 * @param size  bytes at @p buf
 * @return a request, or ACP_REQUEST_NULL: as acp_nbsend_ch
 */
acp_request_t acp_nbrecv_ch(acp_ch_t ch, void* buf, size_t size);

/** Waits until a request is complete, and ends it. Specification 4.2.7. Blocks
 * and makes progress; not in a progress step.
 *
 * @param request  from one of the functions above
 * @return bytes received; 0 for a send or a free; (size_t)-1:
 *   ACPX_INVALID_ARGUMENT (no request of mine, or waited for already),
 *   ACPX_CLOSED (a receive, and the sender has freed its end, or is in
 *   acp_finalize and has not created it), ACPX_BAD_ADDRESS (a program has
 *   unmapped memory of the message too early; at both ends),
 *   ACPX_PEER_DEAD, ACPX_ABORTED, ACPX_NOT_INITIALIZED, ACPX_FINALIZED
 */
size_t acp_wait_ch(acp_request_t request);

/** Waits for several requests, all of them even when one fails. Blocks.
 *
 * @param requests  @p n requests, in any order
 * @param n         how many, 0 or more
 * @param sizes     receives the result of acp_wait_ch for each; may be NULL
 * @return 0, or -1: ACPX_INVALID_ARGUMENT (n negative, NULL), or the reason of
 *   the first that failed
 */
int acp_waitall_ch(acp_request_t* requests, int n, size_t* sizes);

#ifdef __cplusplus
}
#endif

#endif /* ACP_CHANNEL_H */
