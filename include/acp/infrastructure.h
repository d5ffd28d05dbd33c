/* ACP infrastructure: specification 2.1, chapter 4.1. */
#ifndef ACP_INFRASTRUCTURE_H
#define ACP_INFRASTRUCTURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes in acp_errno. A failing function sets it; success leaves it alone. */
enum {
  ACPX_OK = 0,
  ACPX_AGAIN = 1,
  ACPX_INVALID_ARGUMENT = 2,
  ACPX_NOT_INITIALIZED = 3,
  ACPX_ALREADY_INITIALIZED = 4,
  ACPX_FINALIZED = 5,
  ACPX_BAD_ADDRESS = 6,
  ACPX_BAD_KEY = 7,
  ACPX_BAD_RANK = 8,
  ACPX_BAD_COLOR = 9,
  ACPX_MISALIGNED = 10,
  ACPX_NO_MEMORY = 11,
  ACPX_NO_KEYS = 12,
  ACPX_TOO_LARGE = 13,
  ACPX_UNSUPPORTED = 14,
  ACPX_PEER_DEAD = 15,
  ACPX_ABORTED = 16,
  ACPX_TIMED_OUT = 17,
  ACPX_SYSTEM = 18,
  ACPX_PROTOCOL = 19,
  ACPX_ORDER_FAILED = 20,
  ACPX_BAD_OPTION = 21
};

/* The calling thread's error number, an int lvalue. */
int *acpx_errno_location(void);
#define acp_errno (*acpx_errno_location())
#define ACP_ERRNO acp_errno

int acp_init(int *argc, char ***argv);
int acp_finalize(void);
void acp_abort(const char *str);
int acp_procs(void);
int acp_rank(void);
int acp_sync(void);
int acp_reset(int rank);

#ifdef __cplusplus
}
#endif

#endif /* ACP_INFRASTRUCTURE_H */
