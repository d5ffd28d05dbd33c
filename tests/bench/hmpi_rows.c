/* hmpi_rows: messages between two ranks of MPI, with HMPI and without. One
 * binary for both: it asks the loader whether ownership passing is there.
 *
 *   mpiexec -n 2 hmpi_rows [MILLISECONDS [ROWS]]
 *
 * MILLISECONDS is the time of each row, 200 by default. ROWS is a part of the
 * names of the rows that are measured; all without it. Prints a row for each
 * line: name, unit, value. Times are half of a round trip, in microseconds,
 * medians of 9 rounds. "clean" sends bytes that nobody touches, as OSU's
 * benchmarks do. "dirty" writes all before each send and reads all after each
 * receive, as programs do. Memory is "shared" (MPI_Alloc_mem) or "private"
 * (static). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 9
#define MOST ((size_t)8 << 20)
#define WINDOW 64

static int rank;
static double seconds; /* the time of a row */
static const char* wanted = "";
static char private_memory[2][MOST];
static char* shared_memory[2];
static volatile uint64_t sink;

static int (*give)(void**, int, MPI_Datatype, int, int, MPI_Comm);
static int (*take)(void**, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
static int (*allocate)(void**, size_t);
static int (*release)(void**);

static int by_value(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

/* Runs `body` in rounds, as often that a round takes its part of the row's
 * time, and returns the median time of one run. Both ranks run it equally
 * often. */
static double measure(void (*body)(int times)) {
  double times[ROUNDS];
  int count = 1;
  for (;;) {
    double took = -MPI_Wtime();
    body(count);
    took += MPI_Wtime();
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (took >= seconds / ROUNDS || count >= 1 << 24) break;
    count = took < seconds / ROUNDS / 8 ? count * 8 : count * 2;
  }
  for (int i = 0; i < ROUNDS; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    times[i] = -MPI_Wtime();
    body(count);
    times[i] = (times[i] + MPI_Wtime()) / count;
  }
  qsort(times, ROUNDS, sizeof times[0], by_value);
  return times[ROUNDS / 2];
}

/* Measures a row that is wanted, and prints its time multiplied by `factor`; a
 * negative one: the rate. */
static void run_row(const char* name,
                    const char* unit,
                    void (*body)(int times),
                    double factor) {
  if (strstr(name, wanted) == NULL) return;
  const double time = measure(body);
  if (rank == 0) {
    printf("%-28s %-8s %.6g\n", name, unit,
           factor < 0 ? -factor / time : factor * time);
    fflush(stdout);
  }
}

/* The row that runs. */
static char* out;
static char* in;
static size_t size;
static int is_dirty;

static void write_all(char* memory) {
  if (is_dirty) memset(memory, (int)sink & 0x7F, size);
}

static void read_all(const char* memory) {
  if (!is_dirty) return;
  uint64_t sum = 0;
  for (size_t i = 0; i + sizeof sum <= size; i += sizeof sum) {
    uint64_t word;
    memcpy(&word, memory + i, sizeof word);
    sum += word;
  }
  sink += sum;
}

static void ping_pong(int times) {
  const int bytes = (int)size;
  for (int i = 0; i < times; ++i) {
    if (rank == 0) {
      write_all(out);
      MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(in, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      read_all(in);
    } else {
      MPI_Recv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      read_all(in);
      write_all(out);
      MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
}

/* The buffer goes there and another one comes back. */
static void give_and_take(int times) {
  const int bytes = (int)size;
  for (int i = 0; i < times; ++i) {
    void* buffer = NULL;
    if (rank == 0) {
      allocate(&buffer, size);
      write_all(buffer);
      give(&buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      take(&buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      read_all(buffer);
      release(&buffer);
    } else {
      take(&buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      read_all(buffer);
      release(&buffer);
      allocate(&buffer, size);
      write_all(buffer);
      give(&buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
}

static void allocate_and_free(int times) {
  for (int i = 0; i < times; ++i) {
    void* buffer = NULL;
    allocate(&buffer, size);
    release(&buffer);
  }
}

/* A window of messages one way, and one back. */
static void flood(int times) {
  MPI_Request requests[WINDOW];
  for (int i = 0; i < times; ++i) {
    for (int k = 0; k < WINDOW; ++k) {
      if (rank == 0) {
        MPI_Isend(out, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[k]);
      } else {
        MPI_Irecv(in + 8 * k, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[k]);
      }
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) {
      MPI_Recv(in, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(out, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

/* A call that passes through at once. */
static void send_to_nobody(int times) {
  for (int i = 0; i < times; ++i) {
    MPI_Send(out, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  }
}

/* Programs test in their loops for messages that come seldom. */
static void test_pending(int times) {
  MPI_Request request;
  int is_done = 0;
  MPI_Irecv(in, 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; i < times; ++i) {
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  }
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test_any_pending(int times) {
  MPI_Request request;
  int is_done = 0;
  int index = 0;
  MPI_Irecv(in, 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; i < times; ++i) {
    MPI_Testany(1, &request, &index, &is_done, MPI_STATUS_IGNORE);
  }
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void name_row(char* name, const char* what, const char* memory) {
  const char* unit = size < 1024 ? "B" : size < 1 << 20 ? "KiB" : "MiB";
  const size_t number = size < 1024      ? size
                        : size < 1 << 20 ? size >> 10
                                         : size >> 20;
  sprintf(name, "%s.%s%s%zu%s", is_dirty ? "dirty" : "clean", what, memory,
          number, unit);
}

int main(int argc, char** argv) {
  static const size_t sizes[] = {8, 4096, 65536, 1 << 20, 8 << 20};
  char name[64];
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    if (rank == 0) fprintf(stderr, "hmpi_rows: needs 2 ranks\n");
    MPI_Finalize();
    return 2;
  }
  seconds = (argc > 1 ? atof(argv[1]) : 200) * 1e-3;
  if (argc > 2) wanted = argv[2];
  *(void**)&give = dlsym(RTLD_DEFAULT, "OPI_Give_blocking");
  *(void**)&take = dlsym(RTLD_DEFAULT, "OPI_Take_blocking");
  *(void**)&allocate = dlsym(RTLD_DEFAULT, "OPI_Alloc");
  *(void**)&release = dlsym(RTLD_DEFAULT, "OPI_Free");
  for (int i = 0; i < 2; ++i) {
    MPI_Alloc_mem((MPI_Aint)MOST, MPI_INFO_NULL, &shared_memory[i]);
    memset(shared_memory[i], 1, MOST);
    memset(private_memory[i], 1, MOST);
  }
  for (is_dirty = 0; is_dirty < 2; ++is_dirty) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
      size = sizes[i];
      out = shared_memory[0];
      in = shared_memory[1];
      name_row(name, "", "shared.");
      run_row(name, "us", ping_pong, 0.5e6);
      out = private_memory[0];
      in = private_memory[1];
      name_row(name, "", "private.");
      run_row(name, "us", ping_pong, 0.5e6);
      if (give != NULL) {
        name_row(name, "give.", "");
        run_row(name, "us", give_and_take, 0.5e6);
      }
    }
  }
  out = shared_memory[0];
  in = shared_memory[1];
  run_row("rate.8B", "Mmsg/s", flood, -1e-6 * WINDOW);
  run_row("passes.send", "ns", send_to_nobody, 1e9);
  run_row("pending.test", "ns", test_pending, 1e9);
  run_row("pending.testany", "ns", test_any_pending, 1e9);
  if (give != NULL) {
    size = 65536;
    run_row("alloc_and_free.64KiB", "ns", allocate_and_free, 1e9);
  }
  for (int i = 0; i < 2; ++i) {
    MPI_Free_mem(shared_memory[i]);
  }
  MPI_Finalize();
  return 0;
}
