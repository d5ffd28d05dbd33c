/* gups: the RandomAccess benchmark of the HPC Challenge: exclusive-ors random
 * words of a table that is spread over all ranks.
 *
 * Shows: library memory larger than starter memory (acpx_add_module), many
 * small operations in flight, and how a result is collected with acp_add8.
 *
 *   acprun -np 4 gups [LOG2_OF_WORDS [UPDATES_PER_WORD]]
 *
 * Every rank takes its part of one long pseudo-random sequence. A number's low
 * bits say which word of the table it changes, and the whole number is
 * exclusive-ored into that word. As the same number twice leaves a word as it
 * was, a second run has to bring back the table of the start. Each rank checks
 * its part of that, word by word. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <acp.h>
#include <acp/extension.h>

#define DEFAULT_LOG2 16
#define MOST_LOG2 22 /* 32 MiB: all of it, should there be one rank only */
#define DEFAULT_UPDATES 4

/* The part behind the table in the library memory of every rank. */
struct tail {
  uint64_t old;     /* receives the old value of every operation */
  uint64_t wrong;   /* on rank 0: words that differ at the end   */
  uint64_t changed; /* on rank 0: words that differ in between   */
};

static int module;
static int procs;
static int rank;
static uint64_t words;          /* in the whole table, a power of two */
static uint64_t words_per_rank; /* rounded up                         */

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Addresses of a word of the table, and of a member of the tail. */
static acp_ga_t word_at(uint64_t index) {
  return acpx_module_ga(module, (int)(index / words_per_rank)) +
         index % words_per_rank * 8;
}

static acp_ga_t tail_at(int owner, size_t member) {
  return acpx_module_ga(module, owner) + ((uint64_t)8 << MOST_LOG2) + member;
}

/* ---- The sequence: x, x^2, x^3 ... modulo x^64 + x^2 + x + 1, in the field
 * of two elements. A number's bit i is the coefficient of x^i. --------------
 */

static uint64_t times_x(uint64_t a) {
  return a << 1 ^ ((int64_t)a < 0 ? 7 : 0);
}

static uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  for (; b != 0; b >>= 1, a = times_x(a)) {
    if (b & 1) product ^= a;
  }
  return product;
}

/* Number n of the sequence, x to the power n, by squaring: a rank finds the
 * start of its part without walking there. */
static uint64_t element(uint64_t n) {
  uint64_t result = 1;
  for (uint64_t square = 2; n != 0;
       n >>= 1, square = multiply(square, square)) {
    if (n & 1) result = multiply(result, square);
  }
  return result;
}

/* ---- The benchmark --------------------------------------------------------
 */

/* This rank's part of the updates. They need no order: exclusive-or gives the
 * same result in any, and the operations are atomic. The library lets any
 * number be in flight. */
static void update(uint64_t first, uint64_t last) {
  acp_ga_t old = tail_at(rank, offsetof(struct tail, old));
  uint64_t number = element(first);
  for (uint64_t i = first; i < last; ++i) {
    number = times_x(number);
    if (acp_xor8(old, word_at(number & (words - 1)), number, ACP_HANDLE_NULL) ==
        ACP_HANDLE_NULL) {
      acp_abort("acp_xor8");
    }
  }
  acp_complete(ACP_HANDLE_ALL);
}

/* Runs through the whole sequence once, on all ranks; the time it took. */
static double run(uint64_t updates) {
  uint64_t each = updates / (uint64_t)procs;
  uint64_t first = each * (uint64_t)rank;
  acp_sync();
  double start = seconds();
  update(first, rank == procs - 1 ? updates : first + each);
  acp_sync();
  return seconds() - start;
}

/* Adds up on rank 0 how many words of this rank are not what they were at the
 * start, word i being i. */
static void report_different(const uint64_t* mine, size_t member) {
  uint64_t first = words_per_rank * (uint64_t)rank;
  uint64_t different = 0;
  for (uint64_t i = 0; i < words_per_rank && first + i < words; ++i) {
    different += mine[i] != first + i;
  }
  acp_complete(acp_add8(tail_at(rank, offsetof(struct tail, old)),
                        tail_at(0, member), different, ACP_HANDLE_NULL));
  acp_sync();
}

static uint64_t number_of(const char* text, uint64_t most) {
  char* end = NULL;
  uint64_t value = strtoull(text, &end, 10);
  if (*end != '\0' || value == 0 || value > most) {
    fprintf(stderr, "gups: '%s' is no number from 1 to %llu\n", text,
            (unsigned long long)most);
    acp_abort("wrong argument");
  }
  return value;
}

int main(int argc, char** argv) {
  /* Asked for before acp_init, while the number of ranks is not known: enough
   * for a table on one rank. Memory that is not touched costs nothing. */
  acpx_module_t memory = {
      .name = "gups", .bytes = ((size_t)8 << MOST_LOG2) + sizeof(struct tail)};
  module = acpx_add_module(&memory);
  if (module < 0 || acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "gups: %s\n", acpx_strerror(acp_errno));
    return 1;
  }
  rank = acp_rank();
  procs = acp_procs();
  words =
      (uint64_t)1 << (argc > 1 ? number_of(argv[1], MOST_LOG2) : DEFAULT_LOG2);
  words_per_rank = (words + (uint64_t)procs - 1) / (uint64_t)procs;
  uint64_t updates =
      words * (argc > 2 ? number_of(argv[2], 1 << 20) : DEFAULT_UPDATES);

  uint64_t* mine = acp_query_address(acpx_module_ga(module, rank));
  for (uint64_t i = 0; i < words_per_rank; ++i) {
    mine[i] = words_per_rank * (uint64_t)rank + i;
  }
  double time = run(updates);
  report_different(mine, offsetof(struct tail, changed));
  run(updates);
  report_different(mine, offsetof(struct tail, wrong));

  int status = 0;
  if (rank == 0) {
    const struct tail* tail = acp_query_address(tail_at(0, 0));
    status = tail->wrong == 0 && tail->changed > 0 ? 0 : 1;
    printf("%llu words on %d rank%s, %llu updates in %.3f s: %.6f GUP/s\n",
           (unsigned long long)words, procs, procs == 1 ? "" : "s",
           (unsigned long long)updates, time, (double)updates / time * 1e-9);
    printf("%llu words changed, %llu wrong after the second run: %s\n",
           (unsigned long long)tail->changed, (unsigned long long)tail->wrong,
           status == 0 ? "ok" : "FAILED");
  }
  acp_finalize();
  return status;
}
