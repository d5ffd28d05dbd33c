/* wordcount: counts the words of a text on all ranks.
 *
 * Shows: a map with counters. Each rank takes a slice of the file and calls
 * acpx_upsert_add8_map for each word: inserted with 1, or 1 added, whoever was
 * first. Then each rank walks the words that the map has on it.
 *
 *   acprun -np 4 wordcount [FILE]
 *
 * Rank 0 compares every count with a sequential one. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h>

#define DEFAULT_FILE "/usr/share/common-licenses/GPL-3"
#define LONGEST 64 /* bytes of a word; longer ones are truncated */

typedef struct {
  char (*words)[LONGEST];
  size_t count, room;
} list_t;

static void append(list_t* list, const char* word) {
  if (list->count == list->room) {
    list->room = list->room == 0 ? 1024 : 2 * list->room;
    list->words = realloc(list->words, list->room * LONGEST);
    if (list->words == NULL) acp_abort("no memory");
  }
  strcpy(list->words[list->count++], word);
}

/* Appends the words of a file, in lower case. */
static void read_words(const char* path, list_t* list) {
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    acp_abort("cannot read the file");
    return;
  }
  char word[LONGEST];
  size_t length = 0;
  int c;
  do {
    c = fgetc(file);
    if (c != EOF && isalpha(c)) {
      if (length < LONGEST - 1) word[length++] = (char)tolower(c);
    } else if (length != 0) {
      word[length] = 0;
      append(list, word);
      length = 0;
    }
  } while (c != EOF);
  fclose(file);
}

static int compare(const void* a, const void* b) {
  return strcmp(a, b);
}

/* Rank 0 creates the map and sends its handle by starter memory. */
static acp_map_t create_map(int rank, int procs) {
  acp_map_t map = {0, 0, 0};
  acp_ga_t mine = acp_query_starter_ga(rank);
  acp_ga_t* word = acp_query_address(mine);
  if (rank == 0) {
    int* ranks = malloc((size_t)procs * sizeof *ranks);
    if (ranks == NULL) acp_abort("no memory");
    for (int i = 0; i < procs; ++i)
      ranks[i] = i;
    map = acp_create_map(procs, ranks, 4000 / procs + 1, 0);
    free(ranks);
    if (map.ga == ACP_GA_NULL) acp_abort("acp_create_map");
    *word = map.ga;
    for (int to = 1; to < procs; ++to)
      acp_copy(acp_query_starter_ga(to), mine, sizeof *word, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
  }
  acp_sync();
  map.ga = *word;
  return map;
}

/* Words i, i + 1, ... of the list, as a sequential program counts them. */
static uint64_t run_length(const list_t* sorted, size_t i) {
  size_t end = i;
  while (end < sorted->count && !strcmp(sorted->words[end], sorted->words[i]))
    ++end;
  return end - i;
}

/* Compares the map with a sorted array. Called by rank 0 while the other ranks
 * change nothing. */
static int check(acp_map_t map, list_t* words, acp_ga_t memory) {
  char* key = acp_query_address(memory);
  uint64_t* value = (uint64_t*)(void*)(key + LONGEST);
  size_t different = 0;
  int is_equal = 1;
  qsort(words->words, words->count, LONGEST, compare);
  for (size_t i = 0; i < words->count; ++different) {
    const uint64_t count = run_length(words, i);
    strcpy(key, words->words[i]);
    acp_pair_t pair = {{memory, strlen(key)}, {memory + LONGEST, 8}};
    *value = 0;
    if (acp_retrieve_map(map, pair) != 8 || *value != count) is_equal = 0;
    i += count;
  }
  if (acp_size_map(map) != different) is_equal = 0;
  printf("%zu words, %zu different\n", words->count, different);
  fprintf(stderr, is_equal ? "equal to a sequential count\n"
                           : "DIFFERS from a sequential count\n");
  return is_equal;
}

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "wordcount: acp_init failed\n");
    return 1;
  }
  const size_t rank = (size_t)acp_rank();
  const size_t procs = (size_t)acp_procs();
  acp_map_t map = create_map((int)rank, (int)procs);
  acp_ga_t memory = acp_malloc(2 * LONGEST, (int)rank);
  if (memory == ACP_GA_NULL) acp_abort("acp_malloc");
  char* key = acp_query_address(memory);

  list_t words = {0};
  read_words(argc > 1 ? argv[1] : DEFAULT_FILE, &words);
  const size_t begin = words.count * rank / procs;
  const size_t end = words.count * (rank + 1) / procs;
  for (size_t i = begin; i < end; ++i) {
    strcpy(key, words.words[i]);
    acp_element_t element = {memory, strlen(key)};
    if (acpx_upsert_add8_map(map, element, 1, NULL) < 0)
      acp_abort("acpx_upsert_add8_map");
  }
  acp_sync();

  /* Each rank has a part of the words; a rank adds up its own part. */
  uint64_t here = 0;
  for (acp_map_it_t it = acp_begin_local_map(map); it.elem != ACP_GA_NULL;
       it = acp_increment_map_it(it)) {
    here += *(uint64_t*)acp_query_address(acp_dereference_map_it(it).second.ga);
  }
  fprintf(stderr, "rank %zu has %zu different words, %llu altogether\n", rank,
          acp_size_local_map(map), (unsigned long long)here);
  const int is_equal = rank != 0 || check(map, &words, memory);
  acp_sync();
  if (rank == 0) acp_destroy_map(map);
  acp_free(memory);
  free(words.words);
  acp_finalize();
  return is_equal ? 0 : 1;
}
