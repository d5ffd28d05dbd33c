/* The rows of tests/bench/peers by MPI, which that script compiles and runs
 * with two ranks: one-sided operations in a window, a barrier, and messages.
 * The only argument is the number of milliseconds for each row. Rank 0 prints
 * "ROW VALUE", a median in us, Mop/s or GB/s. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMostBytes = 8 << 20,
  kMostCalls = 1 << 18,
  kPutsOfRate = 64,
  kBarriers = 64,
  kTrials = 10
};

typedef enum { kTime, kRate, kBandwidth } unit_t;

/* One row. `call` does `count` operations of `bytes` bytes each. In a one-sided
 * row only rank 0 calls it, and rank 1 waits in a barrier, where MPI executes
 * the operations that arrive. */
typedef struct {
  const char* name;
  void (*call)(int count, int bytes);
  int count;
  int bytes;
  unit_t unit;
  int is_one_sided;
} row_t;

static MPI_Win window;
static char* memory; /* This rank's part of the window. */
static char* buffer; /* Source of puts and messages, destination of gets. */
static double samples[kMostCalls]; /* Seconds of each call. */
static uint64_t sum;               /* The right value of the word of rank 1. */
static int rank;
static int failures;

/* MPI_Win_flush returns when the operations are complete at the target too, and
 * acp_complete does the same. */
static void put(int count, int bytes) {
  for (int i = 0; i < count; ++i) {
    MPI_Put(buffer, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  }
  MPI_Win_flush(1, window);
}

static void get(int count, int bytes) {
  for (int i = 0; i < count; ++i) {
    MPI_Get(buffer, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  }
  MPI_Win_flush(1, window);
}

static void add(int count, int bytes) {
  const uint64_t operand = 3;
  (void)bytes;
  for (int i = 0; i < count; ++i) {
    uint64_t old = 0;
    MPI_Fetch_and_op(&operand, &old, MPI_UINT64_T, 1, 0, MPI_SUM, window);
    MPI_Win_flush(1, window);
    failures += old != sum;
    sum += operand;
  }
}

static void barrier(int count, int bytes) {
  (void)bytes;
  for (int i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* A message there and a message back, the two operations of the row. */
static void message(int count, int bytes) {
  (void)count;
  if (rank == 0) {
    MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

/* The windows have the sizes of the windows of acp_perf. */
static const row_t rows[] = {
    {"put8", put, 1, 8, kTime, 1},
    {"get8", get, 1, 8, kTime, 1},
    {"add8", add, 1, 8, kTime, 1},
    {"put8.rate", put, kPutsOfRate, 8, kRate, 1},
    {"put.4K", put, 64, 4 << 10, kBandwidth, 1},
    {"put.64K", put, 16, 64 << 10, kBandwidth, 1},
    {"put.1M", put, 2, 1 << 20, kBandwidth, 1},
    {"put.8M", put, 2, 8 << 20, kBandwidth, 1},
    {"get.4K", get, 64, 4 << 10, kBandwidth, 1},
    {"get.64K", get, 16, 64 << 10, kBandwidth, 1},
    {"get.1M", get, 2, 1 << 20, kBandwidth, 1},
    {"get.8M", get, 2, 8 << 20, kBandwidth, 1},
    {"sync", barrier, kBarriers, 0, kTime, 0},
    {"channel.8", message, 2, 8, kTime, 0},
    {"channel.4K", message, 2, 4 << 10, kTime, 0},
    {"channel.1M", message, 2, 1 << 20, kTime, 0},
};

static void time_calls(const row_t* row, int calls) {
  for (int i = 0; i < calls; ++i) {
    const double begin = MPI_Wtime();
    row->call(row->count, row->bytes);
    samples[i] = MPI_Wtime() - begin;
  }
}

static int compare(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

/* The calls that take as long as `seconds`. The shortest trial counts, because
 * longer ones may have been interrupted. */
static int calls_in(double seconds) {
  qsort(samples, kTrials, sizeof samples[0], compare);
  const double calls = seconds / (samples[0] > 1e-7 ? samples[0] : 1e-7);
  return calls < kTrials ? kTrials : calls > kMostCalls ? kMostCalls : calls;
}

/* Fills rank 1's window, and the buffer for puts and messages, with bytes of
 * this row. A get has to bring them into an empty buffer. */
static void prepare(const row_t* row, int pattern) {
  memset(memory, row->call == get ? pattern : 0, kMostBytes);
  memset(buffer, row->call == get ? 0 : pattern, kMostBytes);
  sum = 0;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Counts a failure where the bytes of the row did not arrive. Rank 1 looks at
 * its window after puts, and rank 0 at its buffer after gets and messages. */
static void check(const row_t* row, int pattern) {
  MPI_Win_sync(window);
  const int is_put = row->call == put;
  const char* bytes = is_put ? memory : buffer;
  if (row->call == add || rank != (is_put ? 1 : 0)) return;
  for (int i = 0; i < row->bytes; ++i) {
    if (bytes[i] != pattern) {
      ++failures;
      return;
    }
  }
}

static void print(const row_t* row, double seconds) {
  const double each = seconds / row->count;
  const double value = row->unit == kTime   ? each * 1e6
                       : row->unit == kRate ? 1e-6 / each
                                            : row->bytes / each * 1e-9;
  printf("%s %.6g\n", row->name, value);
  fflush(stdout);
}

static void run(const row_t* row, double seconds, int pattern) {
  const int takes_part = rank == 0 || !row->is_one_sided;
  int calls = 0;
  prepare(row, pattern);
  if (takes_part) {
    time_calls(row, kTrials); /* Connects and warms up. */
    time_calls(row, kTrials);
  }
  if (rank == 0) calls = calls_in(seconds);
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (takes_part) time_calls(row, calls);
  MPI_Barrier(MPI_COMM_WORLD);
  check(row, pattern);
  if (rank == 0) {
    qsort(samples, calls, sizeof samples[0], compare);
    print(row, samples[calls / 2]);
  }
}

/* One MPI_Win_lock_all spans all rows, so that no row pays for a lock. The
 * number of a row is the pattern by which both ranks know its bytes. */
int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) / 1e3 : 0;
  if (seconds <= 0) {
    fprintf(stderr, "usage: mpi_rows MILLISECONDS\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  buffer = malloc(kMostBytes);
  MPI_Win_allocate(kMostBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Win_lock_all(0, window);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    run(&rows[i], seconds, (int)i + 1);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  free(buffer);
  if (failures != 0) fprintf(stderr, "rank %d: wrong data\n", rank);
  MPI_Finalize();
  return failures != 0;
}
