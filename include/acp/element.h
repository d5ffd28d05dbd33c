/* Elements: pieces of global memory, as lists, sets and maps take and give
 * them. Specification 2.1, chapters 4.5 to 4.7. */
#ifndef ACP_ELEMENT_H
#define ACP_ELEMENT_H

#include <stddef.h>

#include "acp/global_memory.h"

/** Bytes at an address of any rank. ga is ACP_GA_NULL and size 0 when a
 * function has none to give. */
typedef struct {
  acp_ga_t ga;
  size_t size;
} acp_element_t;

/** A key and its value. */
typedef struct {
  acp_element_t first;
  acp_element_t second;
} acp_pair_t;

#endif /* ACP_ELEMENT_H */
