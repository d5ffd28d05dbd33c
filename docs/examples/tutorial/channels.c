/* Rank 0 sends a text to rank 1, which answers. Other ranks do nothing.
 * docs/tutorial/channels.md explains it. */
#include <stdio.h>

#include <acp.h>

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int rank = acp_rank(), other = 1 - rank;
  if (acp_procs() < 2) acp_abort("this program needs two ranks");
  if (rank < 2) {
    acp_ch_t out = acp_create_ch(rank, other); /* both ranks create both ends */
    acp_ch_t in = acp_create_ch(other, rank);
    if (out == ACP_CH_NULL || in == ACP_CH_NULL) acp_abort("no channel");
    char text[64] = "what is your name?", theirs[64] = "";

    /* The receive is posted first, so that the message finds its buffer. */
    acp_request_t receive = acp_nbrecv_ch(in, theirs, sizeof theirs);
    if (rank == 1) {
      size_t size = acp_wait_ch(receive); /* bytes of the message */
      if (size == (size_t)-1) acp_abort("no question");
      snprintf(text, sizeof text, "rank 1 (%zu bytes read)", size);
    }
    acp_request_t send = acp_nbsend_ch(out, text, sizeof text);
    if (acp_wait_ch(send) == (size_t)-1) acp_abort("cannot send");
    if (rank == 0) {
      if (acp_wait_ch(receive) == (size_t)-1) acp_abort("no answer");
      printf("question: %s\nanswer: %s\n", text, theirs);
    }
    acp_free_ch(out);
    acp_free_ch(in);
  }
  return acp_finalize();
}
