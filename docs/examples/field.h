/* The words by which the programs of the field example find each other. Each
 * rank writes them into its starter memory before the first acp_sync. */
#ifndef FIELD_H
#define FIELD_H

#include <acp.h>

enum role { ROLE_SOLVER = 1, ROLE_ANALYSIS = 2 };

struct notice {
  uint64_t role;  /* enum role */
  uint64_t cells; /* The number of cells of this rank, or 0. */
  acp_ga_t field; /* global address of the cells, doubles */
};

enum { STEPS = 5, SWEEPS = 20 }; /* Sweeps of the solver in each step. */

/* Waits for all ranks of both programs. A rank that has died ends the others.
 */
static inline void sync_all(void) {
  if (acp_sync() != 0) acp_abort("acp_sync failed");
}

#endif /* FIELD_H */
