/* histogram: counts the bytes of a file into a table that is spread over all
 * ranks.
 *
 * Shows: starter memory, addresses of other ranks, and reading the result with
 * acp_copy. Many ranks make atomic additions to one counter at the same time.
 *
 *   acprun -np 4 histogram [FILE]
 *
 * Every rank reads its slice of the file. For each byte it adds 1 to that
 * byte's counter, wherever the counter is. In the end rank 0 collects the
 * table, prints the most frequent bytes, and counts the whole file once more by
 * itself. The two have to agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

#define DEFAULT_FILE "/usr/share/common-licenses/GPL-3"
#define VALUES 256
#define SHOWN 8

/* Where things are in the starter memory of every rank, in bytes from its
 * start. It is zeroed at the start and has 10,240 bytes unless acprun is told
 * otherwise. */
enum {
  COUNTERS = 0,                /* this rank's counters                      */
  OLD = COUNTERS + VALUES * 8, /* receives the old value of each addition   */
  GATHERED = OLD + 64          /* on rank 0: the counters of one other rank */
};

/* Counter b is on rank b % procs; there it is number b / procs. */
static acp_ga_t counter_of(int b, int procs) {
  return acp_query_starter_ga(b % procs) + COUNTERS + (acp_ga_t)(b / procs) * 8;
}

/* The bytes first .. last - 1 of the file. The caller frees them. */
static unsigned char* read_slice(const char* path, long first, long last) {
  size_t size = (size_t)(last - first);
  unsigned char* bytes = malloc(size + 1);
  FILE* file = fopen(path, "rb");
  if (bytes == NULL || file == NULL || fseek(file, first, SEEK_SET) != 0 ||
      fread(bytes, 1, size, file) != size) {
    perror(path);
    acp_abort("cannot read the file");
  }
  fclose(file);
  return bytes;
}

static long size_of_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    acp_abort("cannot open the file");
  }
  long size = ftell(file);
  fclose(file);
  return size;
}

/* Adds 1 to the counter of every byte of the slice. The additions are atomic
 * at the counter, so nothing is lost when ranks meet there, and they need no
 * order among themselves: ACP_HANDLE_NULL lets all of them go at once. */
static void count_slice(const unsigned char* bytes, long size, int procs) {
  acp_ga_t old = acp_query_starter_ga(acp_rank()) + OLD;
  for (long i = 0; i < size; ++i) {
    if (acp_add8(old, counter_of(bytes[i], procs), 1, ACP_HANDLE_NULL) ==
        ACP_HANDLE_NULL) {
      acp_abort("acp_add8");
    }
  }
  acp_complete(ACP_HANDLE_ALL);
}

/* Rank 0: all counters, with one copy from each rank. */
static void gather(uint64_t table[VALUES], int procs) {
  acp_ga_t mine = acp_query_starter_ga(0) + GATHERED;
  const uint64_t* gathered = acp_query_address(mine);
  for (int rank = 0; rank < procs && rank < VALUES; ++rank) {
    int counters = (VALUES - rank + procs - 1) / procs;
    acp_complete(acp_copy(mine, acp_query_starter_ga(rank) + COUNTERS,
                          (size_t)counters * 8, ACP_HANDLE_NULL));
    for (int i = 0; i < counters; ++i) {
      table[rank + i * procs] = gathered[i];
    }
  }
}

static void print_most_frequent(const uint64_t table[VALUES]) {
  uint64_t left[VALUES];
  memcpy(left, table, sizeof left);
  for (int line = 0; line < SHOWN; ++line) {
    int most = 0;
    for (int b = 1; b < VALUES; ++b) {
      if (left[b] > left[most]) most = b;
    }
    if (left[most] == 0) break;
    int is_visible = most > ' ' && most < 127;
    printf("  0x%02x %c %8llu\n", most, is_visible ? most : ' ',
           (unsigned long long)left[most]);
    left[most] = 0;
  }
}

/* Counts again without ACP; the number of counters that differ. */
static int count_differences(const char* path,
                             long size,
                             const uint64_t table[VALUES]) {
  uint64_t expected[VALUES] = {0};
  unsigned char* bytes = read_slice(path, 0, size);
  for (long i = 0; i < size; ++i) {
    ++expected[bytes[i]];
  }
  free(bytes);
  int differences = 0;
  for (int b = 0; b < VALUES; ++b) {
    if (table[b] != expected[b]) {
      fprintf(stderr, "histogram: byte 0x%02x: counted %llu, expected %llu\n",
              b, (unsigned long long)table[b], (unsigned long long)expected[b]);
      ++differences;
    }
  }
  return differences;
}

int main(int argc, char** argv) {
  /* acp_init takes its own options out of argv: look at argv afterwards. */
  if (acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "histogram: acp_init failed\n");
    return 1;
  }
  const char* path = argc > 1 ? argv[1] : DEFAULT_FILE;
  int rank = acp_rank();
  int procs = acp_procs();

  long size = size_of_file(path);
  long first = size * rank / procs;
  long last = size * (rank + 1) / procs;
  unsigned char* bytes = read_slice(path, first, last);
  count_slice(bytes, last - first, procs);
  free(bytes);

  /* acp_complete told this rank that its own additions are done; acp_sync
   * tells rank 0 that all ranks have come so far. */
  acp_sync();

  int differences = 0;
  if (rank == 0) {
    uint64_t table[VALUES] = {0};
    gather(table, procs);
    printf("%s: %ld bytes counted by %d rank%s\n", path, size, procs,
           procs == 1 ? "" : "s");
    print_most_frequent(table);
    differences = count_differences(path, size, table);
    printf(differences == 0 ? "equal to a sequential count\n"
                            : "DIFFERS from a sequential count\n");
  }
  acp_finalize();
  return differences == 0 ? 0 : 1;
}
