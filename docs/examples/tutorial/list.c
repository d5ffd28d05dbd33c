/* Each rank adds a word to one list, and keeps it in its own memory. Rank 0
 * sorts the list and prints it. docs/tutorial/list.md explains it. */
#include <stdio.h>
#include <string.h>

#include <acp.h>
#include <acp/extension.h> /* the functions acpx_... */

static const char* const kWords[] = {"delta", "alpha", "charlie", "bravo"};

static int by_text(const acp_element_t a, const acp_element_t b) {
  return strcmp(acp_query_address(a.ga), acp_query_address(b.ga));
}

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int rank = acp_rank();
  const acp_ga_t mine = acp_query_starter_ga(rank);
  char* memory = acp_query_address(mine);

  acp_list_t list = {0};
  if (rank == 0) {
    list = acp_create_list(0); /* its ends are on rank 0 */
    acpx_publish("list", &list, sizeof list);
  }
  acpx_lookup("list", &list, sizeof list, NULL, -1);

  strcpy(memory, kWords[rank % 4]);
  acp_element_t word = {mine, strlen(memory) + 1};
  acp_errno = 0;
  acp_push_back_list(list, word, rank); /* a copy, on this rank */
  if (acp_errno != 0) acp_abort("cannot push");
  acp_sync();

  if (rank == 0) {
    acp_sort_list(list, by_text);
    for (acp_list_it_t it = acp_begin_list(list); it.elem != ACP_GA_NULL;
         it = acp_increment_list_it(it)) {
      acp_element_t e = acp_dereference_list_it(it);
      acp_complete(acp_copy(mine, e.ga, e.size, ACP_HANDLE_NULL));
      printf("%s, on rank %d\n", memory, acp_query_rank(e.ga));
    }
    if (acp_errno != 0) acp_abort("the walk has not reached the end");
  }
  return acp_finalize();
}
