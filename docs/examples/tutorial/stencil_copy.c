/* Heat in a rod, by acp_copy: the second step of
 * docs/tutorial/stencil_from_mpi.md. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <acp.h>

#define POINTS 240
#define STEPS 500
#define HOT 100.0

/* Starter memory of each rank, which is zero at first. */
struct memory {
  double rod[2][POINTS + 2];
  uint64_t old; /* receives the value before an addition */
  uint64_t sum; /* on rank 0: the sum over all ranks     */
};

/* Rank r has the points first_point(r) .. first_point(r + 1) - 1. */
static int first_point(int rank, int procs) {
  return POINTS * rank / procs;
}

static void compute_step(double* to, const double* from, int count) {
  for (int i = 1; i <= count; ++i) {
    to[i] = from[i] + 0.25 * (from[i - 1] - 2.0 * from[i] + from[i + 1]);
  }
}

/* A number of a point's bits and place. Their sum does not depend on the order
 * of the points. */
static uint64_t hash_of(int point, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits ^ (uint64_t)point) * UINT64_C(0x9e3779b97f4a7c15);
  return bits ^ bits >> 32;
}

static acp_ga_t member_of(int rank, size_t offset) {
  return acp_query_starter_ga(rank) + offset;
}

static acp_ga_t point_of(int rank, int which, int i) {
  size_t index = (size_t)which * (POINTS + 2) + (size_t)i;
  return member_of(rank, offsetof(struct memory, rod) + index * sizeof(double));
}

/* Puts my outermost points into the halos of the neighbours. */
static void exchange(int rank, int procs, int which) {
  const int count = first_point(rank + 1, procs) - first_point(rank, procs);
  if (rank > 0) {
    int theirs = first_point(rank, procs) - first_point(rank - 1, procs);
    acp_copy(point_of(rank - 1, which, theirs + 1), point_of(rank, which, 1),
             sizeof(double), ACP_HANDLE_NULL);
  }
  if (rank + 1 < procs) {
    acp_copy(point_of(rank + 1, which, 0), point_of(rank, which, count),
             sizeof(double), ACP_HANDLE_NULL);
  }
  acp_errno = 0;
  acp_complete(ACP_HANDLE_ALL); /* my points are there ... */
  if (acp_errno != 0) acp_abort("cannot put");
  if (acp_sync() != 0) acp_abort("no barrier"); /* ... and so are theirs */
}

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int rank = acp_rank(), procs = acp_procs();
  const int first = first_point(rank, procs);
  const int count = first_point(rank + 1, procs) - first;
  struct memory* own = acp_query_address(acp_query_starter_ga(rank));
  if (rank == 0) own->rod[0][0] = own->rod[1][0] = HOT;

  for (int step = 0; step < STEPS; ++step) {
    exchange(rank, procs, step % 2);
    compute_step(own->rod[1 - step % 2], own->rod[step % 2], count);
  }

  uint64_t part = 0;
  for (int i = 1; i <= count; ++i) {
    part += hash_of(first + i, own->rod[STEPS % 2][i]);
  }
  acp_complete(acp_add8(member_of(rank, offsetof(struct memory, old)),
                        member_of(0, offsetof(struct memory, sum)), part,
                        ACP_HANDLE_NULL));
  acp_sync(); /* all parts are added */
  if (rank == 0) {
    printf("%d points, %d steps: checksum %016" PRIx64 "\n", POINTS, STEPS,
           own->sum);
  }
  return acp_finalize();
}
