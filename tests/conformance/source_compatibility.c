/* A program as users write them, in plain C over acp.h alone. It has every
 * function, type and constant of chapters 4.1 and 4.9 to 4.11. It also has the
 * data structures of 4.3 to 4.8. Compiled as C11 and as C++ with all warnings
 * as errors; then it runs. */
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

static int compare(const acp_element_t a, const acp_element_t b) {
  const unsigned char* first = (const unsigned char*)acp_query_address(a.ga);
  const unsigned char* second = (const unsigned char*)acp_query_address(b.ga);
  return (int)first[0] - (int)second[0];
}

/* acp_dereference_deque_it as chapter 4.4.26 has it, and as ACP 2.1.0. */
static void dereference(acp_deque_t d, int at) {
  acp_ga_t (*function)(acp_deque_it_t) = acp_dereference_deque_it;
  const acp_deque_it_t it = acp_advance_deque_it(acp_begin_deque(d), at);
  acp_deque_it_t next;
  acp_pair_t pair = acp_dereference_deque_it(it, sizeof(int));
  expect(pair.first.ga == acp_dereference_deque_it(it), "one address");
  expect(pair.first.size == sizeof(int), "four bytes");
  expect(pair.first.ga == function(it), "by a pointer");
  expect(pair.first.ga == (acp_dereference_deque_it)(it), "by the function");
  pair = acp_dereference_deque_it(at == 0 ? it : acp_advance_deque_it(it, 4),
                                  (size_t)at);
  pair = acp_dereference_deque_it(next = it, 8);
  expect(pair.first.ga == acp_dereference(deque, next), "the general name");
  pair = acp_dereference_it(deque, acp_begin_deque(d), 2);
  expect(pair.first.size == 2, "the general name with a size");
#ifndef __cplusplus
  expect(acp_dereference_deque_it((acp_deque_it_t){d, at}) == function(it),
         "a compound literal");
  pair = acp_dereference_deque_it((acp_deque_it_t){d, at}, 4);
  expect(pair.first.ga == function(it), "a compound literal and a size");
#endif
}

static void sequences(acp_ga_t mine, int rank) {
  acp_vector_t v = acp_create(vector, 8, rank);
  acp_deque_t d = acp_create(deque, 8, rank);
  if (v.ga == ACP_GA_NULL || d.ga == ACP_GA_NULL) acp_abort("acp_create");
  acp_push_back(vector, v, mine, 16);
  acp_push_front(deque, d, mine, 16);
  acp_vector_it_t vit = acp_insert_vector(acp_begin_vector(v), mine, 8);
  acp_deque_it_t dit = acp_insert_deque(acp_begin_deque(d), mine, 8);
  vit = acp_advance(vector, vit, 4);
  dit = acp_advance_it(deque, dit, 4);
  expect(acp_distance_vector_it(acp_begin_vector(v), vit) == 4, "distance");
  expect(acp_dereference_deque_it(dit) != ACP_GA_NULL, "dereference");
  dereference(d, dit.index);
  expect(acp_size(vector, v) == 32 && acp_size(deque, d) == 24, "sizes");
  acp_destroy(vector, v);
  acp_destroy(deque, d);
}

static void lists(acp_ga_t mine, int rank) {
  const acp_element_t elem = {mine, 8};
  acp_list_t list = acp_create_list(rank);
  acp_push_back_list(list, elem, rank);
  acp_push_back(list, list, elem, 0);
  acp_sort_list(list, compare);
  acp_list_it_t it = acp_begin_list(list);
  expect(acp_dereference_list_it(it).size == 8, "an element's size");
  it = acp_increment_list_it(acp_increment_it(list, it));
  expect(it.elem == acp_end_list(list).elem, "the end of a list");
  acp_destroy_list(list);
}

static void tables(acp_ga_t mine, int rank) {
  const acp_element_t key = {mine, 8};
  acp_pair_t pair;
  pair.first = key;
  pair.second = key;
  acp_set_t set = acp_create_set(1, &rank, 10, rank);
  acp_map_t map = acp_create_map(1, &rank, 10, rank);
  acp_map_ib_t ib;
  expect(acp_insert_set(set, key) == 1, "acp_insert_set");
  expect(acp_insert_map(map, pair) == 1, "acp_insert_map");
  ib.it = acp_find_map(map, key);
  ib.success = ib.it.elem != acp_end_map(map).elem;
  expect(ib.success, "acp_find_map");
  expect(acp_retrieve(map, map, pair) == 8, "acp_retrieve_map");
  expect(acp_dereference_map_it(ib.it).second.size == 8, "a value's size");
  expect(acp_find_set(set, key).set.ga == set.ga, "acp_find_set");
  acp_destroy_set(set);
  acp_destroy_map(map);
}

static void workspaces(acp_ga_t mine) {
  acp_wsd_t ws;
  expect(acp_setparams_ws(0, 0) == 0, "acp_setparams_ws");
  ws = acp_create_ws(1000);
  if (ws == ACP_WSD_NULL) acp_abort("acp_create_ws");
  expect(acp_write_ws(ws, mine, 8, 992) == 0, "acp_write_ws");
  expect(acp_read_ws(ws, mine, 8, 992) == 0, "acp_read_ws");
  acp_destroy_ws(ws);
}

/* The constants come before acp_init. Copies and atomics come next, and then
 * the structures, which need the heap. */
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
  sequences(mine, (acp_rank() + 1) % acp_procs());
  lists(mine, (acp_rank() + 1) % acp_procs());
  tables(mine, (acp_rank() + 1) % acp_procs());
  workspaces(mine);
  expect(acp_reset(acp_rank()) == 0, "acp_reset");
  ACP_ERRNO = 0;
  expect(acp_query_starter_ga(-1) == ACP_GA_NULL && ACP_ERRNO != 0,
         "ACP_ERRNO");
  expect(acp_finalize() == 0, "acp_finalize");
  return failures == 0 ? 0 : 1;
}
