/* halo: heat that spreads over a square plate, with the rows of the plate
 * divided among the ranks.
 *
 * Shows: put with signal. A rank sends its outermost rows to its neighbours and
 * adds 1 to a counter of theirs in one operation (acpx_put_signal). They sleep
 * until the counter moves (acpx_wait_word). No rank waits for all.
 *
 *   acprun -np 4 halo [ROWS [STEPS]]
 *
 * The plate is ROWS x ROWS points. Each step makes every inner point the mean
 * of its four neighbours; the edge stays hot on one side and cold elsewhere.
 * Each point is computed from the same numbers in the same order, on however
 * many ranks. So the result is equal to the last bit. Rank 0 computes it once
 * more alone, and compares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h>

#define DEFAULT_ROWS 256
#define DEFAULT_STEPS 200
#define MOST_ROWS 1024
#define HOT 100.0
#define PATIENCE_MS 60000

/* Library memory of every rank. Two plates: a step reads one and writes the
 * other. Row 0 of a plate and the row behind the last are the halo: copies of
 * the neighbours' rows, or the plate's edge. */
struct memory {
  uint64_t from_above; /* signals of the neighbour with the lower rank  */
  uint64_t from_below; /* signals of the neighbour with the higher rank */
  uint64_t checksum;   /* on rank 0: the sum over all ranks             */
  uint64_t old;        /* receives old values of atomics                */
  double plate[2][(size_t)(MOST_ROWS + 2) * (MOST_ROWS + 2)];
};

static int module;

struct job {
  int rank, procs;
  size_t rows;  /* rows, and columns, of the plate               */
  size_t width; /* points of a row in memory, both edges too     */
  struct memory* own;
};

/* Rank r has the rows first_row(r) .. first_row(r + 1) - 1. */
static size_t first_row(const struct job* job, int rank) {
  return job->rows * (size_t)rank / (size_t)job->procs;
}

static size_t rows_of(const struct job* job, int rank) {
  return first_row(job, rank + 1) - first_row(job, rank);
}

/* Addresses in the memory of any rank. */
static acp_ga_t member_of(int rank, size_t offset) {
  return acpx_module_ga(module, rank) + offset;
}

static acp_ga_t row_of(const struct job* job, int rank, int plate, size_t row) {
  size_t offset = offsetof(struct memory, plate) +
                  (size_t)plate * sizeof(((struct memory*)0)->plate[0]);
  return member_of(rank, offset + row * job->width * sizeof(double));
}

/* ---- Computing: one function for the divided plate and for the whole ------
 */

/* The upper edge of the whole plate is hot, all else is cold. */
static void set_start(double* plate, size_t rows, size_t width, int has_top) {
  memset(plate, 0, (rows + 2) * width * sizeof(double));
  for (size_t x = 0; has_top && x < width; ++x) {
    plate[x] = HOT;
  }
}

static void compute_step(double* to,
                         const double* from,
                         size_t rows,
                         size_t width) {
  for (size_t y = 1; y <= rows; ++y) {
    for (size_t x = 1; x + 1 < width; ++x) {
      size_t at = y * width + x;
      to[at] = 0.25 * (((from[at - width] + from[at + width]) + from[at - 1]) +
                       from[at + 1]);
    }
  }
}

/* A sum of a hash of each point's bits and place. One differing bit anywhere
 * changes it, and parts of it can be added in any order. */
static uint64_t checksum_of(const double* plate,
                            size_t rows,
                            size_t width,
                            size_t first) {
  uint64_t sum = 0;
  for (size_t y = 1; y <= rows; ++y) {
    for (size_t x = 1; x + 1 < width; ++x) {
      uint64_t bits;
      memcpy(&bits, &plate[y * width + x], sizeof bits);
      bits ^= ((first + y) * width + x) * UINT64_C(0x9e3779b97f4a7c15);
      bits *= UINT64_C(0xd6e8feb86659fd93);
      sum += bits ^ bits >> 32;
    }
  }
  return sum;
}

/* ---- Exchanging ------------------------------------------------------------
 */

/* Puts one of my rows into a neighbour's halo, and signals it. */
static void send_row(acp_ga_t halo,
                     acp_ga_t row,
                     const struct job* job,
                     acp_ga_t counter) {
  if (acpx_put_signal(halo, row, job->width * sizeof(double), counter, 1,
                      ACP_HANDLE_NULL) == ACP_HANDLE_NULL) {
    acp_abort("acpx_put_signal");
  }
}

/* Sleeps until a counter of mine has reached `count`. */
static void wait_for(size_t counter, uint64_t count, const struct job* job) {
  uint64_t seen = 0;
  acp_ga_t word = member_of(job->rank, counter);
  while (seen < count) {
    if (acpx_wait_word(word, seen, PATIENCE_MS, &seen) != 0) {
      acp_abort("no signal of a neighbour");
    }
  }
}

/* Gives my outermost rows of a plate to the neighbours, and waits for theirs.
 * Two plates are enough. A neighbour writes to this plate's halo again two
 * steps on, and cannot get there without my row of the step between. */
static void exchange(const struct job* job, int plate, uint64_t count) {
  int above = job->rank - 1;
  int below = job->rank + 1;
  size_t last = rows_of(job, job->rank);
  if (above >= 0) {
    send_row(row_of(job, above, plate, rows_of(job, above) + 1),
             row_of(job, job->rank, plate, 1), job,
             member_of(above, offsetof(struct memory, from_below)));
  }
  if (below < job->procs) {
    send_row(row_of(job, below, plate, 0), row_of(job, job->rank, plate, last),
             job, member_of(below, offsetof(struct memory, from_above)));
  }
  if (above >= 0) wait_for(offsetof(struct memory, from_above), count, job);
  if (below < job->procs) {
    wait_for(offsetof(struct memory, from_below), count, job);
  }
  /* Rows that are on their way must not change. */
  acp_complete(ACP_HANDLE_ALL);
}

/* ---- The program -----------------------------------------------------------
 */

/* The whole plate on this rank alone; its checksum. */
static uint64_t compute_alone(const struct job* job, uint64_t steps) {
  size_t bytes = (job->rows + 2) * job->width * sizeof(double);
  double* plate[2] = {malloc(bytes), malloc(bytes)};
  if (plate[0] == NULL || plate[1] == NULL) acp_abort("malloc");
  set_start(plate[0], job->rows, job->width, 1);
  set_start(plate[1], job->rows, job->width, 1);
  for (uint64_t step = 0; step < steps; ++step) {
    compute_step(plate[(step + 1) % 2], plate[step % 2], job->rows, job->width);
  }
  uint64_t sum = checksum_of(plate[steps % 2], job->rows, job->width, 0);
  free(plate[0]);
  free(plate[1]);
  return sum;
}

static uint64_t compute_together(const struct job* job, uint64_t steps) {
  struct memory* own = job->own;
  size_t rows = rows_of(job, job->rank);
  set_start(own->plate[0], rows, job->width, job->rank == 0);
  set_start(own->plate[1], rows, job->width, job->rank == 0);
  /* No neighbour may put into a plate before it is set. */
  acp_sync();
  for (uint64_t step = 0; step < steps; ++step) {
    int from = (int)(step % 2);
    exchange(job, from, step + 1);
    compute_step(own->plate[1 - from], own->plate[from], rows, job->width);
  }
  uint64_t part = checksum_of(own->plate[steps % 2], rows, job->width,
                              first_row(job, job->rank));
  acp_complete(acp_add8(member_of(job->rank, offsetof(struct memory, old)),
                        member_of(0, offsetof(struct memory, checksum)), part,
                        ACP_HANDLE_NULL));
  acp_sync();
  return job->rank == 0 ? own->checksum : 0;
}

static uint64_t number_of(const char* text, uint64_t most) {
  char* end = NULL;
  uint64_t value = strtoull(text, &end, 10);
  if (*end != '\0' || value == 0 || value > most) {
    fprintf(stderr, "halo: '%s' is no number from 1 to %llu\n", text,
            (unsigned long long)most);
    acp_abort("wrong argument");
  }
  return value;
}

/* Computes the plate together with all ranks. Then rank 0 computes it alone and
 * compares. The module has to be added before acp_init. */
int main(int argc, char** argv) {
  acpx_module_t memory = {.name = "halo", .bytes = sizeof(struct memory)};
  module = acpx_add_module(&memory);
  if (module < 0 || acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "halo: %s\n", acpx_strerror(acp_errno));
    return 1;
  }
  struct job job = {.rank = acp_rank(), .procs = acp_procs()};
  job.rows = argc > 1 ? number_of(argv[1], MOST_ROWS) : DEFAULT_ROWS;
  job.width = job.rows + 2;
  job.own = acp_query_address(acpx_module_ga(module, job.rank));
  uint64_t steps = argc > 2 ? number_of(argv[2], 1000000) : DEFAULT_STEPS;
  if (job.rows < (size_t)job.procs) acp_abort("fewer rows than ranks");

  uint64_t sum = compute_together(&job, steps);
  int status = 0;
  if (job.rank == 0) {
    uint64_t expected = compute_alone(&job, steps);
    status = sum == expected ? 0 : 1;
    printf("%zu x %zu points, %llu steps: checksum %016llx\n", job.rows,
           job.rows, (unsigned long long)steps, (unsigned long long)sum);
    if (status != 0) {
      fprintf(stderr, "halo: alone, rank 0 gets checksum %016llx\n",
              (unsigned long long)expected);
    }
  }
  acp_finalize();
  return status;
}
