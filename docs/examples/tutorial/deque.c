/* Rank 0 puts tasks into a deque, and all ranks take them.
 * docs/tutorial/deque.md explains it. */
#include <inttypes.h>
#include <stdio.h>

#include <acp.h>
#include <acp/extension.h> /* the functions acpx_... */

#define TASKS 100

/* The memory of each rank. The two sums are those of rank 0. */
struct memory {
  uint64_t task;
  uint64_t old; /* receives the values before the additions */
  uint64_t sum;
  uint64_t count;
};

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t first = acp_query_starter_ga(0);
  struct memory* memory = acp_query_address(mine);

  acp_deque_t queue = {0};
  if (acp_rank() == 0) {
    queue = acp_create_deque(TASKS * sizeof(uint64_t), 0);
    for (memory->task = 1; memory->task <= TASKS; ++memory->task) {
      acp_push_back_deque(queue, mine, sizeof(uint64_t));
    }
    acpx_publish("queue", &queue, sizeof queue);
  }
  acpx_lookup("queue", &queue, sizeof queue, NULL, -1);

  /* No task is lost, and no task is taken twice. */
  while (acpx_take_front_deque(queue, mine, sizeof(uint64_t)) == 1) {
    acp_ga_t old = mine + offsetof(struct memory, old);
    acp_add8(old, first + offsetof(struct memory, sum), memory->task,
             ACP_HANDLE_NULL);
    acp_add8(old, first + offsetof(struct memory, count), 1, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
  }
  acp_sync();
  if (acp_rank() == 0) {
    printf("%" PRIu64 " tasks, their sum is %" PRIu64 "\n", memory->count,
           memory->sum);
  }
  return acp_finalize();
}
