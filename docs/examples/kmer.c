/* kmer: counts the substrings of length K of the reads in a FASTA file, and
 * joins them to the sequences that the reads came from.
 *
 * Shows: a map as a graph. Every k-mer with the base behind it is a key, and
 * its value counts how often it was seen. Ranks count their shares of the reads
 * at the same time. Then each rank searches its own keys for starts, k-mers
 * that no other k-mer leads to. Rank 0 walks from the starts; each step is a
 * look-up on the rank that has the key.
 *
 *   make_reads.sh >reads.fasta
 *   acprun -np 4 kmer reads.fasta
 *
 * Rank 0 repeats this with a sorted array, without the map, and compares all
 * counts and all sequences. Reads are of one strand and without errors. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h>

#define K 21
#define KEY (K + 1) /* a k-mer and the base behind it */
#define PLACE 64    /* bytes of memory for each of four keys */

/* ---- The file ------------------------------------------------------------ */

/* All reads, one after the other, each with 0 at its end. */
typedef struct {
  char* text;
  size_t size;
  size_t reads;
} reads_t;

/* Reads the sequences of a FASTA file, one behind the other, each with a 0 at
 * its end. Header lines are left out, and lines of one sequence are joined. */
static reads_t read_fasta(const char* name) {
  reads_t all = {NULL, 0, 0};
  FILE* file = fopen(name, "r");
  if (file == NULL) acp_abort("the file cannot be read");
  fseek(file, 0, SEEK_END);
  const long bytes = ftell(file);
  rewind(file);
  all.text = malloc((size_t)bytes + 2);
  if (all.text == NULL) acp_abort("no memory");
  int is_header = 0;
  for (int c = getc(file); c != EOF; c = getc(file)) {
    if (c == '>') {
      if (all.reads++ != 0) all.text[all.size++] = 0;
      is_header = 1;
    } else if (c == '\n') {
      is_header = 0;
    } else if (!is_header && isalpha(c)) {
      all.text[all.size++] = (char)toupper(c);
    }
  }
  all.text[all.size++] = 0;
  fclose(file);
  if (all.reads == 0) acp_abort("the file has no reads");
  return all;
}

/* ---- With the map -------------------------------------------------------- */

/* Rank 0 creates map and vector and sends the handles by starter memory. */
typedef struct {
  acp_map_t map;
  acp_vector_t starts; /* k-mers that nothing leads to, PLACE bytes each */
} graph_t;

/* Returns on all ranks after the handles have arrived. */
static graph_t create_graph(int rank, int procs, size_t keys) {
  graph_t graph = {{0, 0, 0}, {0}};
  acp_ga_t mine = acp_query_starter_ga(rank);
  acp_ga_t* words = acp_query_address(mine);
  if (rank == 0) {
    int* ranks = malloc((size_t)procs * sizeof *ranks);
    if (ranks == NULL) acp_abort("no memory");
    for (int i = 0; i < procs; ++i)
      ranks[i] = i;
    words[0] = acp_create_map(procs, ranks, (int)keys / procs + 1, 0).ga;
    words[1] = acp_create_vector(0, 0).ga;
    free(ranks);
    if (words[0] == ACP_GA_NULL || words[1] == ACP_GA_NULL)
      acp_abort("no memory for the graph");
    for (int to = 1; to < procs; ++to)
      acp_copy(acp_query_starter_ga(to), mine, 16, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
  }
  acp_sync();
  graph.map.ga = words[0];
  graph.starts.ga = words[1];
  return graph;
}

/* Counts (k-mer, next base) for every place of a read. */
static void count_read(graph_t graph, acp_ga_t key, const char* read) {
  const acp_element_t element = {key, KEY};
  const size_t size = strlen(read);
  for (size_t i = 0; i + KEY <= size; ++i) {
    memcpy(acp_query_address(key), read + i, KEY);
    if (acpx_upsert_add8_map(graph.map, element, 1, NULL) < 0)
      acp_abort("acpx_upsert_add8_map");
  }
}

/* Four look-ups in one flight: `bases` with each base put at `place`. How many
 * there are, and the last of these bases. */
static int look_up(graph_t graph,
                   acp_ga_t keys,
                   const char* bases,
                   size_t place,
                   char* which) {
  acp_element_t elements[4];
  acp_pair_t found[4];
  int count = 0;
  for (size_t i = 0; i < 4; ++i) {
    elements[i].ga = keys + PLACE * i;
    elements[i].size = KEY;
    char* key = acp_query_address(elements[i].ga);
    memcpy(place == 0 ? key + 1 : key, bases, K);
    key[place] = "ACGT"[i];
  }
  if (acpx_find_map_n(graph.map, elements, 4, found) < 0)
    acp_abort("acpx_find_map_n");
  for (size_t i = 0; i < 4; ++i) {
    if (found[i].first.ga == ACP_GA_NULL) continue;
    *which = "ACGT"[i];
    ++count;
  }
  return count;
}

/* Among the keys that this rank has. They are small, so they can be read by a
 * pointer. */
static void find_starts(graph_t graph, acp_ga_t keys) {
  const acp_map_it_t end = acp_end_local_map(graph.map);
  acp_map_it_t it = acp_begin_local_map(graph.map);
  for (; it.elem != end.elem; it = acp_increment_map_it(it)) {
    char unused = 0;
    const char* key = acp_query_address(acp_dereference_map_it(it).first.ga);
    if (look_up(graph, keys, key, 0, &unused) != 0) continue;
    memcpy(acp_query_address(keys), key, KEY);
    acp_push_back_vector(graph.starts, keys, PLACE);
  }
}

/* From a k-mer on, as long as there is one way to go. */
static size_t walk(graph_t graph, acp_ga_t keys, char* contig, size_t room) {
  size_t size = K;
  char next = 0;
  while (size < room &&
         look_up(graph, keys, contig + size - K, K, &next) == 1) {
    contig[size++] = next;
  }
  return size;
}

/* ---- Serially ------------------------------------------------------------ */

typedef struct {
  const char** keys; /* into the reads, sorted; the same ones together */
  size_t size;
} table_t;

static int compare_keys(const void* a, const void* b) {
  return memcmp(*(const char* const*)a, *(const char* const*)b, KEY);
}

static table_t make_table(const reads_t* all) {
  table_t table = {malloc(all->size * sizeof(char*)), 0};
  if (table.keys == NULL) acp_abort("no memory");
  const char* read = all->text;
  for (size_t i = 0; i < all->reads; ++i, read += strlen(read) + 1) {
    const size_t size = strlen(read);
    for (size_t at = 0; at + KEY <= size; ++at)
      table.keys[table.size++] = read + at;
  }
  qsort(table.keys, table.size, sizeof *table.keys, compare_keys);
  return table;
}

/* look_up() in the sorted array instead of the map. */
static int look_up_serially(const table_t* table,
                            const char* bases,
                            size_t place,
                            char* which) {
  int count = 0;
  for (size_t i = 0; i < 4; ++i) {
    char key[KEY];
    const char* pointer = key;
    memcpy(place == 0 ? key + 1 : key, bases, K);
    key[place] = "ACGT"[i];
    if (bsearch(&pointer, table->keys, table->size, sizeof *table->keys,
                compare_keys) == NULL)
      continue;
    *which = "ACGT"[i];
    ++count;
  }
  return count;
}

/* ---- Both, compared ------------------------------------------------------ */

/* Whether the map has this key so often. */
static int has_count(graph_t graph,
                     acp_ga_t keys,
                     const char* key,
                     uint64_t expected) {
  const acp_pair_t pair = {{keys, KEY}, {keys + PLACE, 8}};
  uint64_t count = 0;
  memcpy(acp_query_address(keys), key, KEY);
  if (acp_retrieve_map(graph.map, pair) != 8) return 0;
  memcpy(&count, acp_query_address(keys + PLACE), 8);
  return count == expected;
}

/* The serial walk from the same k-mer. */
static int is_contig(const table_t* table, const char* contig, size_t size) {
  char next = 0;
  size_t at = K;
  for (; at < size; ++at) {
    if (look_up_serially(table, contig + at - K, K, &next) != 1 ||
        next != contig[at])
      return 0;
  }
  return look_up_serially(table, contig + at - K, K, &next) != 1;
}

/* Compares counts, starts and contigs with the sorted array. Called by rank 0
 * while the other ranks change nothing. */
static int compare(graph_t graph, acp_ga_t keys, const reads_t* all) {
  const table_t table = make_table(all);
  char* contig = malloc(all->size + 1);
  if (contig == NULL) acp_abort("no memory");
  int is_equal = 1;
  size_t different = 0;
  size_t starts = 0;
  for (size_t i = 0, same; i < table.size; i += same, ++different) {
    char unused = 0;
    const char** first = table.keys + i;
    for (same = 1; i + same < table.size; ++same) {
      if (compare_keys(first, first + same) != 0) break;
    }
    is_equal &= has_count(graph, keys, *first, same);
    starts += look_up_serially(&table, *first, 0, &unused) == 0 ? 1 : 0;
  }
  is_equal &= acp_size_map(graph.map) == different;
  is_equal &= acp_size_vector(graph.starts) == starts * PLACE;

  size_t longest = 0;
  for (size_t i = 0; i < acp_size_vector(graph.starts); i += PLACE) {
    memcpy(contig, acp_query_address(acp_at_vector(graph.starts, (int)i)), K);
    const size_t size = walk(graph, keys, contig, all->size);
    is_equal &= is_contig(&table, contig, size);
    longest = size > longest ? size : longest;
  }
  printf("%zu reads, %zu k-mers with what follows\n", all->reads, different);
  printf("%zu contigs, the longest of %zu bases\n", starts, longest);
  fprintf(stderr,
          is_equal ? "equal to a serial run\n" : "DIFFERS from a serial run\n");
  free(contig);
  free(table.keys);
  return is_equal;
}

/* The three phases, with a barrier behind each: count all k-mers, find starts,
 * and walk on rank 0. */
int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "kmer: acp_init failed\n");
    return 1;
  }
  if (argc != 2) acp_abort("usage: kmer FILE, of reads in FASTA");
  const size_t rank = (size_t)acp_rank();
  const size_t procs = (size_t)acp_procs();
  reads_t all = read_fasta(argv[1]);
  graph_t graph = create_graph((int)rank, (int)procs, all.size / 4);
  acp_ga_t keys = acp_malloc(4 * PLACE, (int)rank);
  if (keys == ACP_GA_NULL) acp_abort("acp_malloc");
  memset(acp_query_address(keys), 0, 4 * PLACE);

  const char* read = all.text;
  for (size_t i = 0; i < all.reads; ++i, read += strlen(read) + 1) {
    if (i % procs == rank) count_read(graph, keys, read);
  }
  acp_sync();
  find_starts(graph, keys);
  acp_sync();
  const int is_equal = rank != 0 || compare(graph, keys, &all);
  acp_sync();
  if (rank == 0) {
    acp_destroy_map(graph.map);
    acp_destroy_vector(graph.starts);
  }
  acp_free(keys);
  free(all.text);
  acp_finalize();
  return is_equal ? 0 : 1;
}
