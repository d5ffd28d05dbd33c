/* ACP global memory access: specification 2.1, chapter 4.11. */
#ifndef ACP_GMA_H
#define ACP_GMA_H

#include <stddef.h>
#include <stdint.h>

#include "acp/global_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t acp_handle_t;

#define ACP_HANDLE_NULL UINT64_C(0)
#define ACP_HANDLE_ALL UINT64_C(0xffffffffffffffff)
#define ACP_HANDLE_CONT UINT64_C(0xfffffffffffffffe)

acp_handle_t acp_copy(acp_ga_t dst, acp_ga_t src, size_t size,
                      acp_handle_t order);
acp_handle_t acp_add4(acp_ga_t dst, acp_ga_t src, uint32_t value,
                      acp_handle_t order);
acp_handle_t acp_add8(acp_ga_t dst, acp_ga_t src, uint64_t value,
                      acp_handle_t order);
acp_handle_t acp_cas4(acp_ga_t dst, acp_ga_t src, uint32_t oldval,
                      uint32_t newval, acp_handle_t order);
acp_handle_t acp_cas8(acp_ga_t dst, acp_ga_t src, uint64_t oldval,
                      uint64_t newval, acp_handle_t order);
acp_handle_t acp_and4(acp_ga_t dst, acp_ga_t src, uint32_t value,
                      acp_handle_t order);
acp_handle_t acp_and8(acp_ga_t dst, acp_ga_t src, uint64_t value,
                      acp_handle_t order);
acp_handle_t acp_or4(acp_ga_t dst, acp_ga_t src, uint32_t value,
                     acp_handle_t order);
acp_handle_t acp_or8(acp_ga_t dst, acp_ga_t src, uint64_t value,
                     acp_handle_t order);
acp_handle_t acp_xor4(acp_ga_t dst, acp_ga_t src, uint32_t value,
                      acp_handle_t order);
acp_handle_t acp_xor8(acp_ga_t dst, acp_ga_t src, uint64_t value,
                      acp_handle_t order);
acp_handle_t acp_swap4(acp_ga_t dst, acp_ga_t src, uint32_t value,
                       acp_handle_t order);
acp_handle_t acp_swap8(acp_ga_t dst, acp_ga_t src, uint64_t value,
                       acp_handle_t order);
void acp_complete(acp_handle_t handle);
int acp_inquire(acp_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif /* ACP_GMA_H */
