/* Heat in a rod, by puts with signals: the third step of
 * docs/tutorial/stencil_from_mpi.md. No rank waits for all ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h> /* the functions acpx_... */

#define POINTS 240
#define STEPS 500
#define HOT 100.0

/* Starter memory of each rank, which is zero at first. */
struct memory {
  double rod[2][POINTS + 2];
  uint64_t old;        /* receives the value before an addition */
  uint64_t sum;        /* on rank 0: the sum over all ranks     */
  uint64_t from_left;  /* signals of the neighbour on the left  */
  uint64_t from_right; /* signals of the neighbour on the right */
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

/* Puts a point into a halo, and adds 1 to a counter there. */
static void put(acp_ga_t halo, acp_ga_t point, acp_ga_t counter) {
  if (acpx_put_signal(halo, point, sizeof(double), counter, 1,
                      ACP_HANDLE_NULL) == ACP_HANDLE_NULL) {
    acp_abort("cannot put");
  }
}

/* Sleeps until a counter of mine has reached `count`. */
static void wait_for(acp_ga_t counter, uint64_t count) {
  uint64_t seen = 0;
  while (seen < count) {
    if (acpx_wait_word(counter, seen, 60000, &seen) != 0) {
      acp_abort("no signal of a neighbour");
    }
  }
}

/* Puts my outermost points into the halos of the neighbours, and waits for the
 * neighbours' points. */
static void exchange(int rank, int procs, int step) {
  const int count = first_point(rank + 1, procs) - first_point(rank, procs);
  const int which = step % 2;
  const size_t left = offsetof(struct memory, from_left);
  const size_t right = offsetof(struct memory, from_right);
  if (rank > 0) {
    int theirs = first_point(rank, procs) - first_point(rank - 1, procs);
    put(point_of(rank - 1, which, theirs + 1), point_of(rank, which, 1),
        member_of(rank - 1, right));
  }
  if (rank + 1 < procs) {
    put(point_of(rank + 1, which, 0), point_of(rank, which, count),
        member_of(rank + 1, left));
  }
  if (rank > 0) wait_for(member_of(rank, left), (uint64_t)step + 1);
  if (rank + 1 < procs) wait_for(member_of(rank, right), (uint64_t)step + 1);
  acp_complete(ACP_HANDLE_ALL); /* points on their way must not change */
}

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int rank = acp_rank(), procs = acp_procs();
  const int first = first_point(rank, procs);
  const int count = first_point(rank + 1, procs) - first;
  struct memory* own = acp_query_address(acp_query_starter_ga(rank));
  if (rank == 0) own->rod[0][0] = own->rod[1][0] = HOT;

  for (int step = 0; step < STEPS; ++step) {
    exchange(rank, procs, step);
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
