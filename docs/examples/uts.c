/* uts: unbalanced tree search. Counts the nodes of a tree that nobody has seen.
 * How many children a node has follows from a hash of its place, and differs
 * wildly.
 *
 * Shows: work stealing on deques. Each rank has a deque of nodes to visit. It
 * takes from the back of its own, and when that is empty, from the front of
 * another's, which need not help. A counter of nodes that are not visited yet
 * says when all is done.
 *
 *   acprun -np 4 uts [DEPTH]
 *
 * The trees are the geometric ones of the Unbalanced Tree Search benchmark
 * (Olivier and others, 2006). Their branching factor is 4 and their root seed
 * 19, and they end at a depth. Depth 10, its tree T1, has 4,130,071 nodes. Rank
 * 0 compares with a sequential search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h>

#define BRANCHING 4.0
#define SEED 19
#define DEFAULT_DEPTH 7
#define T1_DEPTH 10
#define MOST_DEPTH 16
#define T1_NODES 4130071
#define CHUNK 16   /* nodes that change hands together */
#define STACK 2048 /* nodes of a rank's own stack; depth 10 needs few */

typedef struct {
  unsigned char state[20]; /* random state: a SHA-1 */
  uint32_t depth;
} node_t;

/* ---- SHA-1 of a short message (FIPS 180-4), one block ------------------- */

static uint32_t rotate(uint32_t x, int n) {
  return x << n | x >> (32 - n);
}

static uint32_t read32(const unsigned char* at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
         at[3];
}

static void write32(unsigned char* at, uint32_t x) {
  for (int i = 0; i < 4; ++i)
    at[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* size is at most 55. */
static void sha1(const unsigned char* message,
                 size_t size,
                 unsigned char digest[20]) {
  unsigned char block[64] = {0};
  uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  uint32_t w[80];
  memcpy(block, message, size);
  block[size] = 0x80;
  write32(block + 60, (uint32_t)size * 8);
  for (int t = 0; t < 16; ++t)
    w[t] = read32(block + 4 * t);
  for (int t = 16; t < 80; ++t)
    w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
  for (int t = 0; t < 80; ++t) {
    uint32_t f, k;
    if (t < 20) {
      f = (b & c) | (~b & d), k = 0x5a827999;
    } else if (t < 40) {
      f = b ^ c ^ d, k = 0x6ed9eba1;
    } else if (t < 60) {
      f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
    } else {
      f = b ^ c ^ d, k = 0xca62c1d6;
    }
    const uint32_t next = rotate(a, 5) + f + e + k + w[t];
    e = d, d = c, c = rotate(b, 30), b = a, a = next;
  }
  const uint32_t sum[5] = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
  for (int i = 0; i < 5; ++i)
    write32(digest + 4 * i, sum[i]);
}

/* ---- The tree ----------------------------------------------------------- */

static node_t root_node(void) {
  unsigned char seed[20] = {0};
  node_t node;
  write32(seed + 16, SEED);
  sha1(seed, sizeof seed, node.state);
  node.depth = 0;
  return node;
}

static node_t child_of(const node_t* parent, uint32_t number) {
  unsigned char message[24];
  node_t node;
  memcpy(message, parent->state, 20);
  write32(message + 20, number);
  sha1(message, sizeof message, node.state);
  node.depth = parent->depth + 1;
  return node;
}

/* Geometrically distributed with mean BRANCHING, 100 at most. */
static uint32_t children_of(const node_t* node, uint32_t depth) {
  if (node->depth >= depth) return 0;
  const uint32_t random = read32(node->state + 16) & 0x7fffffff;
  const double u = (double)random / 2147483648.0;
  const double p = 1.0 / (1.0 + BRANCHING);
  const double count = floor(log(1.0 - u) / log(1.0 - p));
  return count > 100 ? 100 : (uint32_t)count;
}

static uint64_t count_sequentially(const node_t* node, uint32_t depth) {
  const uint32_t children = children_of(node, depth);
  uint64_t nodes = 1;
  for (uint32_t i = 0; i < children; ++i) {
    const node_t child = child_of(node, i);
    nodes += count_sequentially(&child, depth);
  }
  return nodes;
}

/* ---- The search --------------------------------------------------------- */

/* The starter memory of a rank. Some words are used on rank 0 only. */
typedef struct {
  uint64_t open;   /* on rank 0: nodes that are not visited, or more */
  uint64_t nodes;  /* on rank 0: visited, at the end */
  uint64_t result; /* old values of my atomics */
  uint64_t seen;   /* the value of open at my last look */
  acp_ga_t deque;  /* this rank's */
  acp_ga_t theirs; /* another's, when I have asked */
  node_t chunk[CHUNK];
} desk_t;

typedef struct {
  int rank, procs;
  uint32_t depth;
  desk_t* desk;
  acp_ga_t mine; /* my desk */
  node_t* stack;
  size_t count;    /* nodes on my stack */
  uint64_t change; /* change of open, not added yet */
  uint64_t visited;
  uint64_t stolen; /* chunks */
} search_t;

static void add_to_rank0(search_t* s, size_t offset, uint64_t add) {
  acp_complete(acp_add8(s->mine + offsetof(desk_t, result),
                        acp_query_starter_ga(0) + offset, add,
                        ACP_HANDLE_NULL));
}

/* Before others can take nodes, and before I stop, so open is never too low. */
static void tell_change(search_t* s) {
  if (s->change != 0) add_to_rank0(s, offsetof(desk_t, open), s->change);
  s->change = 0;
}

static void visit(search_t* s) {
  const node_t node = s->stack[--s->count];
  const uint32_t children = children_of(&node, s->depth);
  if (s->count + children > STACK) acp_abort("the stack is too small");
  for (uint32_t i = 0; i < children; ++i)
    s->stack[s->count++] = child_of(&node, i);
  s->change += (uint64_t)children - 1;
  ++s->visited;
}

/* Offers the oldest nodes of my stack, which have the largest trees, to all. */
static void share_chunk(search_t* s, acp_deque_t deque) {
  tell_change(s);
  memcpy(s->desk->chunk, s->stack, sizeof s->desk->chunk);
  s->count -= CHUNK;
  memmove(s->stack, s->stack + CHUNK, s->count * sizeof *s->stack);
  acp_push_back_deque(deque, s->mine + offsetof(desk_t, chunk),
                      sizeof s->desk->chunk);
}

static int take_chunk(search_t* s, acp_deque_t deque, int is_mine) {
  const acp_ga_t to = s->mine + offsetof(desk_t, chunk);
  const size_t size = sizeof s->desk->chunk;
  const int taken = is_mine ? acpx_take_back_deque(deque, to, size)
                            : acpx_take_front_deque(deque, to, size);
  if (taken < 0) acp_abort("taking from a deque");
  if (taken == 0) return 0;
  memcpy(s->stack, s->desk->chunk, size);
  s->count = CHUNK;
  s->stolen += is_mine ? 0 : 1;
  return 1;
}

static int is_all_visited(search_t* s) {
  acp_complete(acp_copy(s->mine + offsetof(desk_t, seen),
                        acp_query_starter_ga(0) + offsetof(desk_t, open), 8,
                        ACP_HANDLE_NULL));
  return s->desk->seen == 0;
}

/* Visits my nodes, then takes chunks: first from my own deque, then from the
 * next rank's. Ends when rank 0's counter says that all nodes are visited. The
 * counter is brought up to date before each look at it. */
static void search(search_t* s) {
  const acp_deque_t mine = {s->desk->deque};
  int victim = s->rank;
  for (;;) {
    while (s->count != 0) {
      visit(s);
      if (s->count >= 3 * CHUNK) share_chunk(s, mine);
    }
    tell_change(s);
    if (take_chunk(s, mine, 1)) continue;
    if (is_all_visited(s)) return;
    victim = (victim + 1) % s->procs;
    if (victim == s->rank) continue;
    acp_complete(
        acp_copy(s->mine + offsetof(desk_t, theirs),
                 acp_query_starter_ga(victim) + offsetof(desk_t, deque),
                 sizeof s->desk->theirs, ACP_HANDLE_NULL));
    const acp_deque_t theirs = {s->desk->theirs};
    take_chunk(s, theirs, 0);
  }
}

static int check(uint64_t nodes, uint32_t depth) {
  const node_t root = root_node();
  const uint64_t expected =
      depth == T1_DEPTH ? (uint64_t)T1_NODES : count_sequentially(&root, depth);
  printf("%llu nodes down to depth %u\n", (unsigned long long)nodes, depth);
  fprintf(stderr, nodes == expected ? "equal to a sequential search\n"
                                    : "DIFFERS from a sequential search\n");
  return nodes == expected;
}

static uint32_t depth_of(const char* text) {
  char* end = NULL;
  const unsigned long depth = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || depth > MOST_DEPTH) {
    fprintf(stderr, "uts: '%s' is no depth from 0 to %d\n", text, MOST_DEPTH);
    acp_abort("wrong argument");
  }
  return (uint32_t)depth;
}

/* Each rank creates its deque before the barrier, so that thieves find it. */
int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "uts: acp_init failed\n");
    return 1;
  }
  search_t s;
  memset(&s, 0, sizeof s);
  s.rank = acp_rank();
  s.procs = acp_procs();
  s.depth = argc > 1 ? depth_of(argv[1]) : DEFAULT_DEPTH;
  s.mine = acp_query_starter_ga(s.rank);
  s.desk = acp_query_address(s.mine);
  s.stack = malloc(STACK * sizeof *s.stack);
  if (s.stack == NULL) acp_abort("no memory");
  const acp_deque_t deque = acp_create_deque(100 * sizeof(node_t), s.rank);
  if (deque.ga == ACP_GA_NULL) acp_abort("acp_create_deque");
  s.desk->deque = deque.ga;
  if (s.rank == 0) {
    s.stack[s.count++] = root_node();
    s.desk->open = 1;
  }
  acp_sync();
  search(&s);
  fprintf(stderr, "rank %d visited %llu nodes, took %llu chunks of others\n",
          s.rank, (unsigned long long)s.visited, (unsigned long long)s.stolen);
  add_to_rank0(&s, offsetof(desk_t, nodes), s.visited);
  acp_sync();
  const int is_equal = s.rank != 0 || check(s.desk->nodes, s.depth);
  acp_destroy_deque(deque);
  free(s.stack);
  acp_finalize();
  return is_equal ? 0 : 1;
}
