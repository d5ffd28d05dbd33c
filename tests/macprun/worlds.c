/* A program of ACP that is a program of MPI as well, where it is compiled with
 * MPI. All ranks of the job exchange through global memory, and each world of
 * MPI does its own reductions meanwhile. Tests of macprun start it in several
 * worlds; each way of the command line is one test:
 *
 *   exchange     every pair of ranks exchanges a word
 *   acp-first    as exchange, with acp_init before MPI_Init and acp_finalize
 *                after MPI_Finalize
 *   together N   N rounds of atomics while a thread passes messages of MPI
 *   blocked      ranks sit in MPI_Recv while others add to their words
 *   no-init      the world never calls acp_init
 *   die R HOW    rank R ends: exit, signal, abort, mpi-abort, or with status 7
 *                before-init, between MPI_Init and acp_init, or late, when
 *                acp_finalize is over
 *   where        prints rank, world, variable and directory
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <acp.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

static int world_rank = 0;
static int world_size = 1;

static void fail(const char* what) {
  fprintf(stderr, "rank %d (world rank %d of %d): %s\n", acp_rank(), world_rank,
          world_size, what);
  exit(1);
}

static void start_mpi(int* argc, char*** argv, int threads) {
#ifdef WITH_MPI
  int provided = 0;
  int wanted = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, wanted, &provided);
  if (provided < wanted) fail("MPI has no MPI_THREAD_MULTIPLE");
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
#else
  (void)argc;
  (void)argv;
  (void)threads;
#endif
}

static void end_mpi(void) {
#ifdef WITH_MPI
  MPI_Finalize();
#endif
}

/* The sum of the world ranks, which each world forms for itself. */
static void check_world(void) {
#ifdef WITH_MPI
  int sum = -1;
  MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != world_size * (world_size - 1) / 2) fail("MPI_Allreduce is wrong");
#endif
}

static uint64_t* own_words(void) {
  return (uint64_t*)acp_query_address(acp_query_starter_ga(acp_rank()));
}

static void sync_all(void) {
  if (acp_sync() != 0) fail("acp_sync failed");
}

/* Word i of a rank's starter memory comes from rank i. */
static void exchange(void) {
  const int procs = acp_procs();
  const int rank = acp_rank();
  uint64_t* const words = own_words();
  uint64_t* const source = words + procs;
  memset(words, 0, sizeof *words * (size_t)procs);
  *source = 1000 + (uint64_t)rank;
  sync_all();
  const acp_ga_t from =
      acp_query_starter_ga(rank) + (acp_ga_t)procs * sizeof *words;
  acp_handle_t last = ACP_HANDLE_NULL;
  for (int peer = 0; peer < procs; ++peer) {
    last = acp_copy(acp_query_starter_ga(peer) + (acp_ga_t)rank * sizeof *words,
                    from, sizeof *words, ACP_HANDLE_NULL);
    check_world();
  }
  acp_complete(last);
  acp_complete(ACP_HANDLE_ALL);
  sync_all();
  for (int peer = 0; peer < procs; ++peer) {
    if (words[peer] != 1000 + (uint64_t)peer) fail("a word is wrong");
  }
  sync_all();
}

struct Ring {
  int rounds;
};

/* Messages of MPI around the ring of the world. */
static void* pass_messages(void* argument) {
#ifdef WITH_MPI
  const struct Ring* const ring = argument;
  const int next = (world_rank + 1) % world_size;
  const int before = (world_rank + world_size - 1) % world_size;
  for (int i = 0; i < ring->rounds; ++i) {
    int sent = world_rank * 1000000 + i;
    int got = -1;
    MPI_Sendrecv(&sent, 1, MPI_INT, next, 7, &got, 1, MPI_INT, before, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (got != before * 1000000 + i) fail("a message of MPI is wrong");
  }
#else
  (void)argument;
#endif
  return NULL;
}

/* Every rank adds to all ranks in turn; the sum of all words tells whether an
 * addition is lost. */
static void together(int rounds) {
  const int procs = acp_procs();
  uint64_t* const words = own_words();
  memset(words, 0, sizeof *words * 2);
  sync_all();
  struct Ring ring = {rounds};
  pthread_t thread;
  if (pthread_create(&thread, NULL, pass_messages, &ring) != 0) {
    fail("no thread");
  }
  const acp_ga_t result = acp_query_starter_ga(acp_rank()) + 8;
  for (int i = 0; i < rounds; ++i) {
    const int peer = (acp_rank() + i) % procs;
    acp_complete(
        acp_add8(result, acp_query_starter_ga(peer), 1, ACP_HANDLE_NULL));
  }
  pthread_join(thread, NULL);
  sync_all();
  uint64_t sum = 0;
  for (int peer = 0; peer < procs; ++peer) {
    acp_complete(
        acp_copy(result, acp_query_starter_ga(peer), 8, ACP_HANDLE_NULL));
    sum += *(volatile uint64_t*)(words + 1);
  }
  if (sum != (uint64_t)rounds * (uint64_t)procs) fail("an addition is lost");
  sync_all();
}

/* World rank 0 of each world of MPI waits in MPI_Recv. All others add to its
 * word. World rank 1 sends after its additions. */
static void blocked(void) {
#ifdef WITH_MPI
  enum { kAdditions = 200 };
#endif
  const int procs = acp_procs();
  uint64_t* const words = own_words();
  memset(words, 0, sizeof *words * 2);
  sync_all();
#ifdef WITH_MPI
  if (world_size > 1 && world_rank == 0) {
    int got = 0;
    MPI_Recv(&got, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (*(volatile uint64_t*)words < kAdditions) {
      fail("the message overtook the additions");
    }
  } else if (world_size > 1 && world_rank == 1) {
    const int target = acp_rank() - 1;
    for (int i = 0; i < kAdditions; ++i) {
      acp_complete(acp_add8(acp_query_starter_ga(acp_rank()) + 8,
                            acp_query_starter_ga(target), 1, ACP_HANDLE_NULL));
    }
    int sent = 1;
    MPI_Send(&sent, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
  }
#endif
  (void)procs;
  sync_all();
}

static void end_as(const char* how) {
  if (strcmp(how, "exit") == 0) _exit(7);
  if (strcmp(how, "quit") == 0) _exit(0);
  if (strcmp(how, "signal") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) acp_abort("the rank gives up");
#ifdef WITH_MPI
  if (strcmp(how, "mpi-abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
#endif
}

static void print_place(void) {
  const char* const variable = getenv("WORLDS_VARIABLE");
  char directory[4096];
  printf("rank %d of %d, world rank %d of %d, variable %s, directory %s\n",
         acp_rank(), acp_procs(), world_rank, world_size,
         variable == NULL ? "none" : variable,
         getcwd(directory, sizeof directory));
}

/* The ways differ in the order of the two libraries and in the work between. */
int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "exchange";
  const int acp_is_first = strcmp(way, "acp-first") == 0;
  const int has_threads = strcmp(way, "together") == 0;
  const int victim = argc > 3 ? atoi(argv[2]) : -1;
  if (victim >= 0 && strcmp(argv[3], "before-init") == 0 &&
      atoi(getenv("ACP_RANK")) == victim) {
    _exit(7);
  }
  if (!acp_is_first) start_mpi(&argc, &argv, has_threads);
  if (victim >= 0 && strcmp(argv[3], "between") == 0 &&
      atoi(getenv("ACP_RANK")) == victim) {
    _exit(7);
  }
  if (strcmp(way, "no-init") == 0) {
    check_world();
    end_mpi();
    return 0;
  }
  if (acp_init(&argc, &argv) != 0) return 1;
  if (acp_is_first) start_mpi(&argc, &argv, 0);
  if (strcmp(way, "together") == 0) {
    together(argc > 2 ? atoi(argv[2]) : 1000);
  } else if (strcmp(way, "blocked") == 0) {
    blocked();
  } else if (strcmp(way, "where") == 0) {
    print_place();
  } else if (strcmp(way, "die") == 0) {
    if (acp_rank() == victim && strcmp(argv[3], "late") != 0) end_as(argv[3]);
    sync_all();
  } else {
    exchange();
  }
  check_world();
  if (acp_is_first) end_mpi();
  const int dies_late = acp_rank() == victim && strcmp(argv[3], "late") == 0;
  const int forgets_mpi = argc > 3 && strcmp(argv[3], "forget") == 0 &&
                          (victim < 0 || acp_rank() == victim);
  if (acp_finalize() != 0) return 1;
  if (dies_late) _exit(7);
  if (forgets_mpi) _exit(0); /* without MPI_Finalize */
  if (!acp_is_first) end_mpi();
  if (strcmp(way, "where") != 0 && world_rank == 0) printf("world is well\n");
  return 0;
}
