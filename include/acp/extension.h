/* What this implementation adds to ACP 2.1. Every name starts with acpx_.
 * The middle layers stand on these and on acp.h alone. */
#ifndef ACP_EXTENSION_H
#define ACP_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

#include "acp/gma.h"
#include "acp/infrastructure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sentence fragment for a code of acp_errno; never NULL. */
const char *acpx_strerror(int code);

/* Library version, "0.1.0". */
const char *acpx_version(void);

/* ---- Ordered chains ---------------------------------------------------- */

typedef enum {
  ACPX_PUT = 1,   /* size bytes from local to remote                       */
  ACPX_PUT8 = 2,  /* the 8 bytes of operand to remote                      */
  ACPX_GET = 3,   /* size bytes from remote to local                       */
  ACPX_ADD8 = 4,  /* the atomics: old value to local, unless local is 0    */
  ACPX_CAS8 = 5,
  ACPX_AND8 = 6,
  ACPX_OR8 = 7,
  ACPX_XOR8 = 8,
  ACPX_SWAP8 = 9
} acpx_opcode_t;

/* In acpx_op_t.flags: wake who sleeps on this rank once the step is done. */
#define ACPX_SIGNAL UINT32_C(1)

/* Steps of one chain. */
#define ACPX_MAX_STEPS 16

typedef struct {
  acpx_opcode_t opcode;
  uint32_t flags;    /* 0 or ACPX_SIGNAL (put8 and atomics)                */
  acp_ga_t remote;   /* on the peer: all steps on one rank and color       */
  acp_ga_t local;    /* mine: source of a put, destination of a get or of
                        the old value; 0 drops the old value               */
  size_t size;       /* bytes, for put and get                             */
  uint64_t operand;  /* value of put8, addend, mask, new value             */
  uint64_t compare;  /* expected value of cas8                             */
} acpx_op_t;

acp_handle_t acpx_post(const acpx_op_t *ops, size_t n, acp_handle_t order);
acp_handle_t acpx_put_signal(acp_ga_t dst, acp_ga_t src, size_t size,
                             acp_ga_t word, uint64_t add, acp_handle_t order);

/* ---- Waiting ----------------------------------------------------------- */

int acpx_complete_timeout(acp_handle_t handle, int timeout_ms);
int acpx_wait_word(acp_ga_t word, uint64_t unlike, int timeout_ms,
                   uint64_t *value);
int acpx_wait_until(int (*done)(void *), void *arg, int timeout_ms);

/* ---- What a peer's memory allows --------------------------------------- */

int acpx_atomics_agree(int rank);
void *acpx_pointer(acp_ga_t ga);

/* ---- For layers above -------------------------------------------------- */

int acpx_add_progress(int (*step)(void *), void *arg);
int acpx_remove_progress(int (*step)(void *), void *arg);

typedef struct {
  const char *name;
  size_t bytes;            /* of library memory per rank, zeroed           */
  int (*init)(void *arg);  /* in acp_init and acp_reset; 0, or it fails    */
  int (*fini)(void *arg);  /* in acp_finalize and acp_reset                */
  void *arg;
} acpx_module_t;

int acpx_add_module(const acpx_module_t *module);
acp_ga_t acpx_module_ga(int module, int rank);

#ifdef __cplusplus
}
#endif

#endif /* ACP_EXTENSION_H */
