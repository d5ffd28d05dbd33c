/* ACP global memory management: specification 2.1, chapter 4.10. */
#ifndef ACP_GLOBAL_MEMORY_H
#define ACP_GLOBAL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t acp_ga_t;
typedef uint64_t acp_atkey_t;

#define ACP_GA_NULL UINT64_C(0)
#define ACP_ATKEY_NULL UINT64_C(0)

acp_atkey_t acp_register_memory(void *addr, size_t size, int color);
int acp_unregister_memory(acp_atkey_t atkey);
acp_ga_t acp_query_ga(acp_atkey_t atkey, void *addr);
int acp_colors(void);
int acp_query_rank(acp_ga_t ga);
int acp_query_color(acp_ga_t ga);
void *acp_query_address(acp_ga_t ga);
acp_ga_t acp_query_starter_ga(int rank);

#ifdef __cplusplus
}
#endif

#endif /* ACP_GLOBAL_MEMORY_H */
