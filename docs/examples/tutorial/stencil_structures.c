/* Heat in a rod, by channels and a vector: the fourth step of
 * docs/tutorial/stencil_from_mpi.md. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h> /* the functions acpx_... */

#define POINTS 240
#define STEPS 500
#define HOT 100.0

/* A point of the result. */
typedef struct {
  uint64_t point;
  double value;
} record_t;

/* Channels take any memory, so the rod is plain memory again. */
static double rod[2][POINTS + 2];

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

/* A channel in each direction between two neighbours. */
struct link {
  acp_ch_t out;
  acp_ch_t in;
};

static struct link connect_to(int rank, int neighbour) {
  struct link made = {acp_create_ch(rank, neighbour),
                      acp_create_ch(neighbour, rank)};
  if (made.out == ACP_CH_NULL || made.in == ACP_CH_NULL) acp_abort("channel");
  return made;
}

/* Starts to send a point, and to receive the neighbour's. */
static void start(const struct link* to,
                  double* point,
                  double* halo,
                  acp_request_t* requests) {
  requests[0] = acp_nbrecv_ch(to->in, halo, sizeof(double));
  requests[1] = acp_nbsend_ch(to->out, point, sizeof(double));
}

/* Appends the points of this rank to the vector. They have to be in memory that
 * has a global address. */
static void give_points(acp_vector_t points, int first, int count) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  record_t* records = acp_query_address(mine);
  for (int i = 0; i < count; ++i) {
    records[i].point = (uint64_t)(first + i + 1);
    records[i].value = rod[STEPS % 2][i + 1];
  }
  acp_errno = 0;
  acp_push_back_vector(points, mine, (size_t)count * sizeof(record_t));
  if (acp_errno != 0) acp_abort("cannot push");
}

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int rank = acp_rank(), procs = acp_procs();
  const int first = first_point(rank, procs);
  const int count = first_point(rank + 1, procs) - first;
  struct link left = {0}, right = {0};
  if (rank == 0) rod[0][0] = rod[1][0] = HOT;
  if (rank > 0) left = connect_to(rank, rank - 1);
  if (rank + 1 < procs) right = connect_to(rank, rank + 1);

  for (int step = 0; step < STEPS; ++step) {
    double* from = rod[step % 2];
    acp_request_t requests[4];
    int n = 0;
    if (rank > 0) {
      start(&left, &from[1], &from[0], requests);
      n = 2;
    }
    if (rank + 1 < procs) {
      start(&right, &from[count], &from[count + 1], requests + n);
      n += 2;
    }
    if (acp_waitall_ch(requests, n, NULL) != 0) acp_abort("cannot exchange");
    compute_step(rod[1 - step % 2], from, count);
  }

  acp_vector_t points = {0};
  if (rank == 0) {
    points = acp_create_vector(0, 0);
    acpx_publish("points", &points, sizeof points);
  }
  acpx_lookup("points", &points, sizeof points, NULL, -1);
  give_points(points, first, count);
  acp_sync(); /* all points are in the vector */
  if (rank == 0) {
    const acp_ga_t mine = acp_query_starter_ga(0);
    const record_t* records = acp_query_address(mine);
    acp_complete(acp_copy(mine, acp_at_vector(points, 0),
                          POINTS * sizeof(record_t), ACP_HANDLE_NULL));
    uint64_t sum = 0;
    for (int i = 0; i < POINTS; ++i) {
      sum += hash_of((int)records[i].point, records[i].value);
    }
    printf("%d points, %d steps: checksum %016" PRIx64 "\n", POINTS, STEPS,
           sum);
  }
  return acp_finalize();
}
