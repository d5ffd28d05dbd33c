/* A program as users write them: plain C over acp.h alone, with every
 * function, type and constant of chapters 4.1, 4.9, 4.10 and 4.11. Compiled as
 * C11 and as C++ with all warnings as errors; then it runs. */
#include <stdio.h>
#include <string.h>

#include <acp.h>

static int failures;

static void expect(int is_right, const char* text) {
  if (!is_right) {
    fprintf(stderr, "source_compatibility: %s\n", text);
    ++failures;
  }
}

static void finish(acp_handle_t handle) {
  if (handle == ACP_HANDLE_NULL) {
    acp_abort("a GMA failed");
  }
  acp_complete(handle);
  expect(acp_inquire(handle) == 0, "acp_inquire of a complete GMA");
}

static void copies(acp_ga_t mine, acp_ga_t theirs) {
  acp_handle_t h = acp_copy(theirs + 512, mine, 64, ACP_HANDLE_NULL);
  if (h == ACP_HANDLE_NULL) acp_abort("acp_copy");
  h = acp_copy(theirs + 576, mine, 64, h);
  if (h == ACP_HANDLE_NULL) acp_abort("acp_copy");
  h = acp_copy(theirs + 640, mine, 64, ACP_HANDLE_CONT);
  if (h == ACP_HANDLE_ALL || h == ACP_HANDLE_CONT) acp_abort("acp_copy");
  finish(acp_copy(theirs + 704, mine, 64, ACP_HANDLE_ALL));
  acp_complete(ACP_HANDLE_ALL);
}

static void atomics4(acp_ga_t result, acp_ga_t word) {
  finish(acp_add4(result, word, 1, ACP_HANDLE_NULL));
  finish(acp_cas4(result, word, 1, 2, ACP_HANDLE_NULL));
  finish(acp_and4(result, word, 3, ACP_HANDLE_NULL));
  finish(acp_or4(result, word, 4, ACP_HANDLE_NULL));
  finish(acp_xor4(result, word, 5, ACP_HANDLE_NULL));
  finish(acp_swap4(result, word, 6, ACP_HANDLE_NULL));
}

static void atomics8(acp_ga_t result, acp_ga_t word) {
  finish(acp_add8(result, word, 1, ACP_HANDLE_NULL));
  finish(acp_cas8(result, word, 1, 2, ACP_HANDLE_NULL));
  finish(acp_and8(result, word, 3, ACP_HANDLE_NULL));
  finish(acp_or8(result, word, 4, ACP_HANDLE_NULL));
  finish(acp_xor8(result, word, 5, ACP_HANDLE_NULL));
  finish(acp_swap8(result, word, 6, ACP_HANDLE_NULL));
}

static void heap(int rank) {
  acp_ga_t ga = acp_malloc(100, rank);
  if (ga == ACP_GA_NULL) acp_abort("acp_malloc");
  expect(acp_query_rank(ga) == rank, "acp_query_rank of a block");
  acp_free(ga);
  acp_free(ACP_GA_NULL);
}

static void registration(void) {
  static char memory[128];
  acp_atkey_t key = acp_register_memory(memory, sizeof(memory), 0);
  acp_ga_t ga = acp_query_ga(key, memory);
  if (key == ACP_ATKEY_NULL || ga == ACP_GA_NULL) acp_abort("registration");
  expect(acp_query_rank(ga) == acp_rank(), "acp_query_rank");
  expect(acp_query_color(ga) == 0, "acp_query_color");
  expect(acp_query_address(ga) == (void*)memory, "acp_query_address");
  expect(acp_colors() >= 1, "acp_colors");
  expect(acp_unregister_memory(key) == 0, "acp_unregister_memory");
}

int main(int argc, char** argv) {
  uint64_t no_values[] = {ACP_GA_NULL, ACP_ATKEY_NULL, ACP_HANDLE_NULL};
  size_t i;
  acp_ga_t mine, theirs;
  char* memory;
  int left;

  for (i = 0; i < 3; ++i)
    expect(no_values[i] == 0, "a NULL value is not 0");
  expect(ACP_HANDLE_ALL == UINT64_C(0xffffffffffffffff), "ACP_HANDLE_ALL");
  expect(ACP_HANDLE_CONT == UINT64_C(0xfffffffffffffffe), "ACP_HANDLE_CONT");
  expect(sizeof(acp_ga_t) == 8 && sizeof(acp_atkey_t) == 8 &&
             sizeof(acp_handle_t) == 8,
         "sizes of the types");

  if (acp_init(&argc, &argv) != 0) return 1;
  left = (acp_rank() + acp_procs() - 1) % acp_procs();
  mine = acp_query_starter_ga(acp_rank());
  theirs = acp_query_starter_ga((acp_rank() + 1) % acp_procs());
  memory = (char*)acp_query_address(mine);
  memset(memory, 'a' + acp_rank() % 26, 64);
  copies(mine, theirs);
  atomics4(mine + 64, theirs + 128);
  atomics8(mine + 72, theirs + 136);
  expect(acp_sync() == 0, "acp_sync");
  expect(memory[512] == 'a' + left % 26 && memory[767] == memory[512],
         "the neighbour's bytes");
  expect(memory[128] == 6 && memory[136] == 6, "the neighbour's atomics");
  registration();
  heap((acp_rank() + 1) % acp_procs());
  expect(acp_reset(acp_rank()) == 0, "acp_reset");
  ACP_ERRNO = 0;
  expect(acp_query_starter_ga(-1) == ACP_GA_NULL && ACP_ERRNO != 0,
         "ACP_ERRNO");
  expect(acp_finalize() == 0, "acp_finalize");
  return failures == 0 ? 0 : 1;
}
