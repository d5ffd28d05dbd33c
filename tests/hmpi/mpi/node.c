/* hmpi.h in C: the communicators of hosts, the names with HMPI_, the forms of
 * OPI_Give and OPI_Take. A program that is written for HMPI, for any number of
 * ranks. */
#include <stdio.h>
#include <stdlib.h>

#include "hmpi.h"

static int failures = 0;

static void expect(int is_right, const char* text) {
  if (!is_right) {
    fprintf(stderr, "node.c: not true: %s\n", text);
    ++failures;
  }
}

#define EXPECT(condition) expect((condition), #condition)

static void pass_numbers(int rank, int size) {
  int* mine = NULL;
  int* taken = NULL;
  HMPI_Request requests[2];
  HMPI_Status status;
  OPI_Alloc((void**)&mine, 1000 * sizeof(int));
  mine[0] = rank;
  OPI_Take((void**)&taken, 1000, MPI_INT, (rank + size - 1) % size, 1,
           HMPI_COMM_WORLD, &requests[0]);
  OPI_Give((void**)&mine, 1000, MPI_INT, (rank + 1) % size, 1, HMPI_COMM_WORLD,
           &requests[1]);
  EXPECT(mine == NULL);
  HMPI_Waitall(2, requests, HMPI_STATUSES_IGNORE);
  EXPECT(taken[0] == (rank + size - 1) % size);
  OPI_Take((void**)&mine, 1000, MPI_INT, 0, 2, HMPI_COMM_SELF, &requests[0]);
#if __STDC_VERSION__ >= 201112L
  OPI_Give((void**)&taken, 1000, MPI_INT, 0, 2, HMPI_COMM_SELF);
  HMPI_Wait(&requests[0], &status);
  OPI_Give((void**)&mine, 1000, MPI_INT, (rank + 1) % size, 3, HMPI_COMM_WORLD);
  OPI_Take((void**)&mine, 1000, MPI_INT, (rank + size - 1) % size, 3,
           HMPI_COMM_WORLD, &status);
  EXPECT(status.MPI_TAG == 3);
#else
  OPI_Give_blocking((void**)&taken, 1000, MPI_INT, 0, 2, HMPI_COMM_SELF);
  HMPI_Wait(&requests[0], &status);
#endif
  EXPECT(IS_SM_BUF(mine));
  EXPECT((IS_SM_BUF)(&rank) == 0);
  OPI_Free((void**)&mine);
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  int node_rank = -1;
  int node_size = 0;
  int network_size = 0;
  int sum = 0;
  int i = 0;
  MPI_Init(&argc, &argv);
  HMPI_Comm_rank(HMPI_COMM_WORLD, &rank);
  HMPI_Comm_size(HMPI_COMM_WORLD, &size);
  MPI_Comm_rank(HMPI_COMM_NODE, &node_rank);
  MPI_Comm_size(HMPI_COMM_NODE, &node_size);
  MPI_Comm_size(HMPI_COMM_NETWORK, &network_size);
  for (i = 0; i < size; ++i) {
    int there = -1;
    EXPECT(HMPI_Comm_node_rank(MPI_COMM_WORLD, i, &there) == MPI_SUCCESS);
    EXPECT(i != rank || there == node_rank);
    sum += there == MPI_UNDEFINED ? 0 : 1;
  }
  EXPECT(sum == node_size);
  EXPECT(network_size >= 1);
  pass_numbers(rank, size);
  MPI_Finalize();
  EXPECT(HMPI_COMM_NODE == MPI_COMM_NULL);
  return failures == 0 ? 0 : 1;
}
