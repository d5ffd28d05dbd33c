/* heat_give: heat that spreads over a square plate, with its rows divided among
 * the processes of MPI.
 *
 * Shows: ownership passing in place of messages. A process writes an outermost
 * row into a buffer of OPI_Alloc and gives it; the neighbour takes it, reads it
 * where it is, and frees it. Nothing is unpacked, and after the first steps
 * nothing is allocated: each freed buffer is the next one of OPI_Alloc.
 *
 *   hmpicc -O2 heat_give.c -o heat_give
 *   mpirun -np 4 ./heat_give [ROWS [STEPS]]
 *
 * The program computes the plate twice, with MPI_Sendrecv and with OPI_Give,
 * and compares all points. Each point is computed from the same numbers in the
 * same order, so the results are equal to the last bit, on any number of
 * processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hmpi.h>

#define DEFAULT_ROWS 512
#define DEFAULT_STEPS 200
#define HOT 100.0
#define TO_ABOVE 1
#define TO_BELOW 2

/* The rows of a process. Row 0 of the points and the one behind the last are
 * the halo: rows of the neighbours, or the plate's edge. */
struct plate {
  int rows;
  int width; /* points of a row, with both edges */
  int above; /* ranks of the neighbours, or MPI_PROC_NULL */
  int below;
  double* old;
  double* next;
  double* from_above; /* rows of `old`, or buffers that came from neighbours */
  double* from_below;
};

static double* row_of(double* points, const struct plate* plate, int row) {
  return points + (size_t)row * (size_t)plate->width;
}

/* The plate is hot above its first row, and cold at its other edges. */
static void begin(struct plate* plate, int rank) {
  const size_t points = (size_t)(plate->rows + 2) * (size_t)plate->width;
  memset(plate->old, 0, points * sizeof(double));
  memset(plate->next, 0, points * sizeof(double));
  if (rank == 0) {
    for (int i = 0; i < plate->width; ++i) {
      plate->old[i] = plate->next[i] = HOT;
    }
  }
  plate->from_above = row_of(plate->old, plate, 0);
  plate->from_below = row_of(plate->old, plate, plate->rows + 1);
}

/* Each new point is the mean of its four old neighbours. */
static void compute(struct plate* plate) {
  for (int row = 1; row <= plate->rows; ++row) {
    const double* above =
        row == 1 ? plate->from_above : row_of(plate->old, plate, row - 1);
    const double* here = row_of(plate->old, plate, row);
    const double* below = row == plate->rows
                              ? plate->from_below
                              : row_of(plate->old, plate, row + 1);
    double* to = row_of(plate->next, plate, row);
    for (int i = 1; i + 1 < plate->width; ++i) {
      to[i] = 0.25 * (above[i] + below[i] + here[i - 1] + here[i + 1]);
    }
  }
  double* const swap = plate->old;
  plate->old = plate->next;
  plate->next = swap;
}

/* A step by messages: the rows are copied into the halo. */
static void exchange(struct plate* plate) {
  const int n = plate->width;
  plate->from_above = row_of(plate->old, plate, 0);
  plate->from_below = row_of(plate->old, plate, plate->rows + 1);
  MPI_Sendrecv(row_of(plate->old, plate, 1), n, MPI_DOUBLE, plate->above,
               TO_ABOVE, plate->from_below, n, MPI_DOUBLE, plate->below,
               TO_ABOVE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(row_of(plate->old, plate, plate->rows), n, MPI_DOUBLE,
               plate->below, TO_BELOW, plate->from_above, n, MPI_DOUBLE,
               plate->above, TO_BELOW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Gives a copy of a row to a neighbour, and begins to take one of its rows. */
static void pass(struct plate* plate,
                 int row,
                 int neighbour,
                 int give_tag,
                 int take_tag,
                 double** taken,
                 MPI_Request* requests) {
  const int n = plate->width;
  void* buffer = NULL;
  OPI_Alloc(&buffer, (size_t)n * sizeof(double));
  memcpy(buffer, row_of(plate->old, plate, row), (size_t)n * sizeof(double));
  OPI_Take((void**)taken, n, MPI_DOUBLE, neighbour, take_tag, MPI_COMM_WORLD,
           &requests[0]);
  OPI_Give(&buffer, n, MPI_DOUBLE, neighbour, give_tag, MPI_COMM_WORLD,
           &requests[1]);
}

/* A step by ownership: the neighbours' rows are read where they are. */
static void step_by_giving(struct plate* plate) {
  MPI_Request requests[4];
  double* above = NULL;
  double* below = NULL;
  pass(plate, 1, plate->above, TO_ABOVE, TO_BELOW, &above, &requests[0]);
  pass(plate, plate->rows, plate->below, TO_BELOW, TO_ABOVE, &below,
       &requests[2]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  /* At an edge of the plate no row comes. */
  plate->from_above = above != NULL ? above : row_of(plate->old, plate, 0);
  plate->from_below =
      below != NULL ? below : row_of(plate->old, plate, plate->rows + 1);
  compute(plate);
  OPI_Free((void**)&above);
  OPI_Free((void**)&below);
}

static double* new_points(size_t points) {
  double* memory = malloc(points * sizeof(double));
  if (memory == NULL) {
    fprintf(stderr, "heat_give: no memory for %zu points\n", points);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  struct plate plate;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rows = argc > 1 ? atoi(argv[1]) : DEFAULT_ROWS;
  const int steps = argc > 2 ? atoi(argv[2]) : DEFAULT_STEPS;
  if (rows < size || steps < 0) {
    if (rank == 0) fprintf(stderr, "usage: heat_give [ROWS [STEPS]]\n");
    MPI_Finalize();
    return 2;
  }
  plate.rows = rows * (rank + 1) / size - rows * rank / size;
  plate.width = rows + 2;
  plate.above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  plate.below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  const size_t points = (size_t)(plate.rows + 2) * (size_t)plate.width;
  plate.old = new_points(points);
  plate.next = new_points(points);
  double* first = new_points(points);

  begin(&plate, rank);
  const double start = MPI_Wtime();
  for (int i = 0; i < steps; ++i) {
    exchange(&plate);
    compute(&plate);
  }
  const double between = MPI_Wtime();
  memcpy(first, plate.old, points * sizeof(double));
  begin(&plate, rank);
  const double again = MPI_Wtime();
  for (int i = 0; i < steps; ++i) {
    step_by_giving(&plate);
  }
  const double end = MPI_Wtime();

  /* The halo is no result. */
  int differ =
      memcmp(row_of(first, &plate, 1), row_of(plate.old, &plate, 1),
             (size_t)plate.rows * (size_t)plate.width * sizeof(double)) != 0;
  double heat = 0;
  for (int row = 1; row <= plate.rows; ++row) {
    for (int i = 0; i < plate.width; ++i) {
      heat += row_of(plate.old, &plate, row)[i];
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &heat, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d steps: messages %.3f s, giving %.3f s; heat %.6g\n", steps,
           between - start, end - again, heat);
    printf(differ ? "the plates differ\n" : "both plates are equal\n");
  }
  free(first);
  free(plate.next);
  free(plate.old);
  MPI_Finalize();
  return differ || (steps > 0 && heat <= 0);
}
