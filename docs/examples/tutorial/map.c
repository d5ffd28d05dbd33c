/* All ranks count the letters of a word, in one map over all ranks.
 * docs/tutorial/map.md explains it. */
#include <inttypes.h>
#include <stdio.h>

#include <acp.h>
#include <acp/extension.h> /* the functions acpx_... */

#define MOST_RANKS 64

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  char* memory = acp_query_address(mine);

  acp_map_t map = {0};
  if (acp_rank() == 0) {
    int ranks[MOST_RANKS], n = acp_procs();
    if (n > MOST_RANKS) n = MOST_RANKS;
    for (int i = 0; i < n; ++i) {
      ranks[i] = i;
    }
    map = acp_create_map(n, ranks, 100, 0); /* 100 keys for each rank */
    acpx_publish("map", &map, sizeof map);
  }
  acpx_lookup("map", &map, sizeof map, NULL, -1);

  const acp_element_t key = {mine, 1};
  for (const char* letter = "mississippi"; *letter != '\0'; ++letter) {
    memory[0] = *letter;
    if (acpx_upsert_add8_map(map, key, 1, NULL) < 0) acp_abort("cannot count");
  }
  acp_sync();

  if (acp_rank() == 0) {
    const acp_pair_t pair = {key, {mine + 8, 8}};
    for (const char* letter = "imps"; *letter != '\0'; ++letter) {
      memory[0] = *letter;
      if (acp_retrieve_map(map, pair) != 8) acp_abort("a letter is missing");
      printf("%c %" PRIu64 "\n", *letter, *(uint64_t*)(void*)(memory + 8));
    }
    printf("%zu keys\n", acp_size_map(map));
  }
  return acp_finalize();
}
