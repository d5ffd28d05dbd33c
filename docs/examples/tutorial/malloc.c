/* Each rank leaves a note on the next rank, in memory that it allocates there.
 * docs/tutorial/malloc.md explains it. */
#include <stdio.h>
#include <string.h>

#include <acp.h>

#define NOTE_BYTES 64

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int rank = acp_rank(), next = (rank + 1) % acp_procs();
  const acp_ga_t mine = acp_query_starter_ga(rank);
  char* memory = acp_query_address(mine); /* starter memory: zeros */

  acp_ga_t note = acp_malloc(NOTE_BYTES, next); /* the next rank computes on */
  if (note == ACP_GA_NULL) acp_abort("no room");
  snprintf(memory, NOTE_BYTES, "hello from rank %d", rank);
  acp_copy(note, mine, NOTE_BYTES, ACP_HANDLE_NULL);

  /* The address of the note goes to a place that the next rank knows. */
  memcpy(memory + NOTE_BYTES, &note, sizeof note);
  acp_copy(acp_query_starter_ga(next) + 128, mine + NOTE_BYTES, sizeof note,
           ACP_HANDLE_NULL);
  acp_errno = 0;
  acp_complete(ACP_HANDLE_ALL);
  if (acp_errno != 0 || acp_sync() != 0) acp_abort("cannot copy");

  acp_ga_t found;
  memcpy(&found, memory + 128, sizeof found);
  if (rank == 0) printf("rank 0 got: %s\n", (char*)acp_query_address(found));
  acp_free(found); /* although another rank has allocated it */
  return acp_finalize();
}
