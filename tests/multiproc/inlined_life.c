/* Operations without a call (acp/inline.h) over the life of a job: before
 * acp_init, in it, after acp_reset, in a forked child, and after acp_finalize.
 *
 *   inlined_life inlined|called    whether the job is one for them */
#define ACP_INLINE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acp.h>

#define CHECK(condition)                                                      \
  ((condition) ? (void)0                                                      \
               : (fprintf(stderr, "line %d: not %s\n", __LINE__, #condition), \
                  exit(1)))

/* Each rank puts its number, plus `value`, to a word of each rank. Then it adds
 * 1 to these words. */
static void pass(uint64_t value) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t word = 8 * (2 + (acp_ga_t)acp_rank());
  uint64_t* words = (uint64_t*)acp_query_address(mine);
  int rank = 0;
  words[0] = value + (uint64_t)acp_rank();
  for (rank = 0; rank < acp_procs(); ++rank) {
    acp_copy(acp_query_starter_ga(rank) + word, mine, 8, ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
  acp_sync();
  for (rank = 0; rank < acp_procs(); ++rank) {
    CHECK(words[2 + rank] == value + (uint64_t)rank);
  }
  acp_sync();
  for (rank = 0; rank < acp_procs(); ++rank) {
    acp_complete(acp_add8(mine + 8, acp_query_starter_ga(rank) + word, 1,
                          ACP_HANDLE_NULL));
    CHECK(words[1] == value + (uint64_t)acp_rank());
  }
  acp_sync();
  for (rank = 0; rank < acp_procs(); ++rank) {
    CHECK(words[2 + rank] == value + (uint64_t)rank + 1);
  }
  acp_sync();
}

static void fail_with(int code) {
  acp_errno = 0;
  CHECK(acp_copy(1, 2, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
  CHECK(acp_errno == code);
}

static void look_in_child(void) {
  int status = 0;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    fail_with(ACPX_NOT_INITIALIZED);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char** argv) {
  int is_inlined = 0;
  CHECK(argc == 2);
  is_inlined = strcmp(argv[1], "inlined") == 0;
  fail_with(ACPX_NOT_INITIALIZED);
  CHECK(acp_init(&argc, &argv) == 0);
  CHECK((acpx_inline_1 != NULL) == is_inlined);
  pass(7);
  look_in_child();
  CHECK(acp_reset((acp_rank() + 1) % acp_procs()) == 0);
  CHECK((acpx_inline_1 != NULL) == is_inlined);
  pass(100);
  CHECK(acp_finalize() == 0);
  CHECK(acpx_inline_1 == NULL);
  fail_with(ACPX_FINALIZED);
  return 0;
}
