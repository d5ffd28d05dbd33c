/* kmer: counts the substrings of length K of many short reads, and joins them
 * to the sequence that the reads came from.
 *
 * Shows: a map as a graph. Every k-mer is a key; its value has a counter for
 * each base that was seen behind it. Ranks count their slices of the reads at
 * the same time, then walk from k-mer to k-mer, each a look-up on whichever
 * rank has it.
 *
 *   acprun -np 4 kmer [BASES]
 *
 * The reads are made by each rank from one deterministic sequence, as a FASTA
 * file would have them; rank 0 compares the walk with that sequence, and every
 * count with a sequential one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h>

#define K 21
#define READ 80 /* bases of a read */
#define STEP 7  /* bases between the starts of two reads */
#define DEFAULT_BASES 2000
#define KEY (K + 1) /* a k-mer and the base behind it */

/* The same on all ranks. With 21 bases hardly any k-mer comes twice. */
static char* make_sequence(size_t bases) {
  char* text = malloc(bases + 1);
  uint64_t state = 88172645463325252u;
  if (text == NULL) acp_abort("no memory");
  for (size_t i = 0; i < bases; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    text[i] = "ACGT"[state >> 40 & 3];
  }
  text[bases] = 0;
  return text;
}

/* Rank 0 creates the map and tells the others by their starter memory. */
static acp_map_t create_map(int rank, int procs, size_t bases) {
  acp_map_t map = {0, 0, 0};
  acp_ga_t mine = acp_query_starter_ga(rank);
  acp_ga_t* word = acp_query_address(mine);
  if (rank == 0) {
    int* ranks = malloc((size_t)procs * sizeof *ranks);
    if (ranks == NULL) acp_abort("no memory");
    for (int i = 0; i < procs; ++i)
      ranks[i] = i;
    map = acp_create_map(procs, ranks, (int)bases / procs + 1, 0);
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

/* Counts (k-mer, next base) for every place of a read. */
static void count_read(acp_map_t map,
                       acp_ga_t key,
                       const char* read,
                       size_t size) {
  const acp_element_t element = {key, KEY};
  for (size_t i = 0; i + KEY <= size; ++i) {
    memcpy(acp_query_address(key), read + i, KEY);
    if (acpx_upsert_add8_map(map, element, 1, NULL) < 0)
      acp_abort("acpx_upsert_add8_map");
  }
}

/* How often a k-mer was followed by each base: four look-ups in one flight. */
static int next_base(acp_map_t map,
                     acp_ga_t keys,
                     const char* kmer,
                     char* next) {
  acp_element_t elements[4];
  acp_pair_t found[4];
  int count = 0;
  for (size_t i = 0; i < 4; ++i) {
    char* key = acp_query_address(keys + 64 * i);
    memcpy(key, kmer, K);
    key[K] = "ACGT"[i];
    elements[i].ga = keys + 64 * i;
    elements[i].size = KEY;
  }
  if (acpx_find_map_n(map, elements, 4, found) < 0)
    acp_abort("acpx_find_map_n");
  for (size_t i = 0; i < 4; ++i) {
    if (found[i].first.ga == ACP_GA_NULL) continue;
    *next = "ACGT"[i];
    ++count;
  }
  return count;
}

/* From the first k-mer on, as long as there is one way to go. */
static size_t walk(acp_map_t map, acp_ga_t keys, char* contig, size_t room) {
  size_t size = K;
  char next = 0;
  while (size < room && next_base(map, keys, contig + size - K, &next) == 1) {
    contig[size++] = next;
  }
  return size;
}

/* Reads in which a place of the sequence lies together with K bases behind. */
static uint64_t expected_count(size_t place, size_t bases) {
  uint64_t count = 0;
  for (size_t start = 0; start < bases; start += STEP) {
    const size_t end = start + READ < bases ? start + READ : bases;
    if (start <= place && place + KEY <= end) ++count;
  }
  return count;
}

static int check(acp_map_t map,
                 acp_ga_t keys,
                 const char* sequence,
                 size_t bases) {
  char* contig = malloc(bases + 1);
  char* value = (char*)acp_query_address(keys) + 512;
  if (contig == NULL) acp_abort("no memory");
  memcpy(contig, sequence, K);
  const size_t size = walk(map, keys, contig, bases);
  int is_equal = size == bases && memcmp(contig, sequence, bases) == 0;
  for (size_t i = 0; i + KEY <= bases; ++i) {
    const acp_pair_t pair = {{keys, KEY}, {keys + 512, 8}};
    uint64_t count = 0;
    memcpy(acp_query_address(keys), sequence + i, KEY);
    if (acp_retrieve_map(map, pair) != 8) is_equal = 0;
    memcpy(&count, value, 8);
    if (count != expected_count(i, bases)) is_equal = 0;
  }
  printf("%zu k-mers with what follows, a contig of %zu bases\n",
         acp_size_map(map), size);
  fprintf(stderr, is_equal ? "equal to the sequence and a sequential count\n"
                           : "DIFFERS from the sequence\n");
  free(contig);
  return is_equal;
}

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "kmer: acp_init failed\n");
    return 1;
  }
  const size_t rank = (size_t)acp_rank();
  const size_t procs = (size_t)acp_procs();
  const size_t bases = argc > 1 ? (size_t)atol(argv[1]) : DEFAULT_BASES;
  if (bases < 2 * READ) acp_abort("give it more bases");
  char* sequence = make_sequence(bases);
  acp_map_t map = create_map((int)rank, (int)procs, bases);
  acp_ga_t keys = acp_malloc(1024, (int)rank);
  if (keys == ACP_GA_NULL) acp_abort("acp_malloc");

  const size_t reads = (bases + STEP - 1) / STEP;
  for (size_t i = rank; i < reads; i += procs) {
    const size_t start = i * STEP;
    const size_t size = start + READ < bases ? READ : bases - start;
    count_read(map, keys, sequence + start, size);
  }
  acp_sync();
  const int is_equal = rank != 0 || check(map, keys, sequence, bases);
  acp_sync();
  if (rank == 0) acp_destroy_map(map);
  acp_free(keys);
  free(sequence);
  acp_finalize();
  return is_equal ? 0 : 1;
}
