/* A program that uses MPI and ACP, under HMPI. `with_acp FIRST LAST`: which of
 * "mpi" and "acp" begins first, and which ends last. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "acp.h"
#include "acp/extension.h"
#include "mpi.h"

static int failures = 0;

static void expect(int is_right, const char* text) {
  if (!is_right) {
    fprintf(stderr, "with_acp.c: not true: %s (acp_errno %d)\n", text,
            acp_errno);
    ++failures;
  }
}

#define EXPECT(condition) expect((condition), #condition)

/* A word goes to the right neighbour, by ACP. */
static void use_acp(void) {
  const int rank = acp_rank();
  const int procs = acp_procs();
  const acp_ga_t right = acp_query_starter_ga((rank + 1) % procs);
  const acp_ga_t mine = acp_query_starter_ga(rank);
  uint64_t* words = (uint64_t*)acp_query_address(mine);
  words[0] = 100 + (uint64_t)rank;
  acp_complete(acp_copy(right + 8, mine, 8, ACP_HANDLE_NULL));
  EXPECT(acp_sync() == 0);
  EXPECT(words[1] == 100 + (uint64_t)((rank + procs - 1) % procs));
  EXPECT(acp_sync() == 0);
}

/* Words go around, by MPI. */
static void use_mpi(void) {
  int rank = 0;
  int size = 0;
  int i = 0;
  static char out[300000];
  static char in[300000];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (i = 1; i <= (int)sizeof out; i *= 10) {
    memset(out, 'a' + rank, sizeof out);
    MPI_Sendrecv(out, i, MPI_BYTE, (rank + 1) % size, 1, in, i, MPI_BYTE,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(in[i - 1] == 'a' + (rank + size - 1) % size);
  }
}

int main(int argc, char** argv) {
  const int mpi_begins = argc < 2 || strcmp(argv[1], "acp") != 0;
  const int mpi_ends = argc < 3 || strcmp(argv[2], "acp") != 0;
  if (mpi_begins) {
    MPI_Init(&argc, &argv);
    use_mpi();
    EXPECT(acp_init(&argc, &argv) == 0);
  } else {
    EXPECT(acp_init(&argc, &argv) == 0);
    use_acp();
    MPI_Init(&argc, &argv);
  }
  use_mpi();
  use_acp();
  EXPECT(acp_reset(acp_rank()) == -1);
  use_mpi();
  if (mpi_ends) {
    EXPECT(acp_finalize() == 0);
    use_mpi();
    MPI_Finalize();
  } else {
    MPI_Finalize();
    use_acp();
    EXPECT(acp_finalize() == 0);
  }
  return failures == 0 ? 0 : 1;
}
