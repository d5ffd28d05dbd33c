/* A program that gets stuck, for the tests of acp_top. Its word says how:
 *   circle    each rank receives from the rank before it, and no rank sends
 *   missing   rank 1 never comes to the acp_sync in which the others wait
 *   dies      rank 1 ends with status 3 after rank 0 has read a line; the
 *             other ranks wait for it
 *   busy      two ranks exchange signals for ever
 * Every rank first prints "ready". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <acp.h>

static void receive_in_circle(void) {
  static char buffer[8];
  const int procs = acp_procs();
  const int before = (acp_rank() + procs - 1) % procs;
  const int next = (acp_rank() + 1) % procs;
  const acp_ch_t from = acp_create_ch(before, acp_rank());
  const acp_ch_t to = acp_create_ch(acp_rank(), next);
  if (from == ACP_CH_NULL || to == ACP_CH_NULL) acp_abort("no channel");
  acp_wait_ch(acp_nbrecv_ch(from, buffer, sizeof buffer));
}

/* Rank 1 looks at its memory until rank 0 has read the line and written there.
 * Rank 1 calls no function of ACP meanwhile. */
static void die_on_order(void) {
  volatile char* const word =
      acp_query_address(acp_query_starter_ga(acp_rank()));
  if (acp_rank() == 0) {
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL) exit(9);
    word[8] = 1;
    acp_copy(acp_query_starter_ga(1), acp_query_starter_ga(0) + 8, 1,
             ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
  }
  if (acp_rank() == 1) {
    while (word[0] == 0)
      usleep(1000);
    _exit(3);
  }
  acp_sync();
}

int main(int argc, char** argv) {
  if (argc < 2 || acp_init(&argc, &argv) != 0) return 1;
  puts("ready");
  if (strcmp(argv[1], "circle") == 0) receive_in_circle();
  if (strcmp(argv[1], "dies") == 0) die_on_order();
  if (strcmp(argv[1], "missing") == 0) {
    if (acp_rank() == 1) {
      for (;;)
        pause();
    }
    acp_sync();
  }
  for (;;)
    acp_sync(); /* busy */
}
