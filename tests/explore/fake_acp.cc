// The functions of acp.h and acp/extension.h that the layers above use, on the
// World. They are called by the code of ranks, in a fiber.
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "acp/extension.h"
#include "acp/gma.h"
#include "acp/infrastructure.h"
#include "explore/arena.h"
#include "explore/log.h"
#include "explore/world.h"

using explore::InRank;
using explore::World;

namespace {

World& world() {
  return World::get();
}

template <typename Result>
Result fail(int code, Result result) {
  world().error() = code;
  return result;
}

acp_handle_t change(acp_ga_t to,
                    acp_ga_t word,
                    acpx_opcode_t opcode,
                    uint64_t operand,
                    uint64_t compare,
                    acp_handle_t order) {
  const acpx_op_t op{opcode, 0, word, to, 8, operand, compare};
  if (to == ACP_GA_NULL || to == word) {
    return fail(to == word ? ACPX_INVALID_ARGUMENT : ACPX_BAD_ADDRESS,
                ACP_HANDLE_NULL);
  }
  return world().post(&op, 1, order);
}

}  // namespace

extern "C" {

// ---- Infrastructure -------------------------------------------------------

int* acpx_errno_location(void) {
  return &world().error();
}

int acp_procs(void) {
  return world().ranks();
}

int acp_rank(void) {
  return world().rank();
}

int acp_sync(void) {
  const InRank outside(false);
  return world().barrier();
}

/// The explorer begins each schedule by its own means.
int acp_reset(int /*rank*/) {
  return fail(ACPX_UNSUPPORTED, -1);
}

void acp_abort(const char* str) {
  std::fprintf(stderr, "explore: rank %d: acp_abort: %s\n", world().rank(),
               str == nullptr ? "" : str);
  std::abort();
}

const char* acpx_strerror(int code) {
  static thread_local char text[32];
  std::snprintf(text, sizeof text, "error %d", code);
  return text;
}

// ---- Global memory --------------------------------------------------------

int acp_colors(void) {
  return 1;
}

int acp_query_rank(acp_ga_t ga) {
  const int rank = world().memory().rank_of(ga);
  return rank >= 0
             ? rank
             : fail(ga == ACP_GA_NULL ? ACPX_BAD_ADDRESS : ACPX_BAD_RANK, -1);
}

int acp_query_color(acp_ga_t ga) {
  return acp_query_rank(ga) < 0 ? -1 : 0;
}

void* acp_query_address(acp_ga_t ga) {
  if (ga == ACP_GA_NULL) {
    return fail<void*>(ACPX_BAD_ADDRESS, nullptr);
  }
  if (world().memory().rank_of(ga) != world().rank()) {
    return fail<void*>(ACPX_BAD_RANK, nullptr);
  }
  void* address = world().memory().find(ga, 1);
  return address != nullptr ? address : fail<void*>(ACPX_BAD_ADDRESS, nullptr);
}

acp_ga_t acp_query_starter_ga(int rank) {
  return rank >= 0 && rank < world().ranks()
             ? world().memory().library_ga(rank, 0)
             : fail(ACPX_BAD_RANK, ACP_GA_NULL);
}

acp_atkey_t acp_register_memory(void* addr, size_t size, int color) {
  const InRank outside(false);
  if (addr == nullptr || size == 0 || color != 0) {
    return fail(color != 0 ? ACPX_BAD_COLOR : ACPX_INVALID_ARGUMENT,
                ACP_ATKEY_NULL);
  }
  return world().memory().register_memory(world().rank(), addr, size);
}

acp_atkey_t acpx_try_register_memory(void* addr, size_t size, int color) {
  return acp_register_memory(addr, size, color);
}

int acp_unregister_memory(acp_atkey_t atkey) {
  return world().memory().unregister(world().rank(), atkey)
             ? 0
             : fail(ACPX_BAD_KEY, -1);
}

int acpx_try_unregister_memory(acp_atkey_t atkey) {
  return acp_unregister_memory(atkey) == 0 ? 1 : -1;
}

acp_ga_t acp_query_ga(acp_atkey_t atkey, void* addr) {
  const acp_ga_t ga = world().memory().query(world().rank(), atkey, addr);
  return ga != ACP_GA_NULL ? ga : fail(ACPX_BAD_KEY, ACP_GA_NULL);
}

int acpx_announce_memory(acp_ga_t /*ga*/, size_t /*bytes*/, int /*rank*/) {
  return 0;
}

int acpx_atomics_agree(int /*rank*/) {
  return 0;
}

int acpx_pointers_agree(int /*rank*/) {
  return 0;
}

void* acpx_pointer(acp_ga_t ga) {
  if (world().memory().rank_of(ga) != world().rank()) {
    return fail<void*>(ACPX_UNSUPPORTED, nullptr);
  }
  return acp_query_address(ga);
}

// ---- Operations -----------------------------------------------------------

acp_handle_t acp_copy(acp_ga_t dst,
                      acp_ga_t src,
                      size_t size,
                      acp_handle_t order) {
  const InRank outside(false);
  return world().copy(dst, src, size, order, nullptr);
}

acp_handle_t acpx_post(const acpx_op_t* ops, size_t n, acp_handle_t order) {
  const InRank outside(false);
  return world().post(ops, n, order);
}

acp_handle_t acpx_put_signal(acp_ga_t dst,
                             acp_ga_t src,
                             size_t size,
                             acp_ga_t word,
                             uint64_t add,
                             acp_handle_t order) {
  const InRank outside(false);
  const acpx_op_t behind{ACPX_ADD8, ACPX_SIGNAL, word, 0, 8, add, 0};
  if (word % 8 != 0) {
    return fail(ACPX_MISALIGNED, ACP_HANDLE_NULL);
  }
  if (size != 0 &&
      world().memory().rank_of(word) != world().memory().rank_of(dst)) {
    return fail(ACPX_BAD_RANK, ACP_HANDLE_NULL);
  }
  return world().copy(dst, src, size, order, &behind);
}

acp_handle_t acp_add8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order) {
  const InRank outside(false);
  return change(dst, src, ACPX_ADD8, value, 0, order);
}

acp_handle_t acp_cas8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t oldval,
                      uint64_t newval,
                      acp_handle_t order) {
  const InRank outside(false);
  return change(dst, src, ACPX_CAS8, newval, oldval, order);
}

acp_handle_t acp_and8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order) {
  const InRank outside(false);
  return change(dst, src, ACPX_AND8, value, 0, order);
}

acp_handle_t acp_or8(acp_ga_t dst,
                     acp_ga_t src,
                     uint64_t value,
                     acp_handle_t order) {
  const InRank outside(false);
  return change(dst, src, ACPX_OR8, value, 0, order);
}

acp_handle_t acp_xor8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order) {
  const InRank outside(false);
  return change(dst, src, ACPX_XOR8, value, 0, order);
}

acp_handle_t acp_swap8(acp_ga_t dst,
                       acp_ga_t src,
                       uint64_t value,
                       acp_handle_t order) {
  const InRank outside(false);
  return change(dst, src, ACPX_SWAP8, value, 0, order);
}

void acpx_flush(void) {}

void acp_complete(acp_handle_t handle) {
  const InRank outside(false);
  (void)world().complete(handle, -1);
}

int acp_inquire(acp_handle_t handle) {
  return world().is_complete(handle) ? 0 : 1;
}

int acpx_complete_timeout(acp_handle_t handle, int timeout_ms) {
  const InRank outside(false);
  return world().complete(handle, timeout_ms);
}

int acpx_wait_word(acp_ga_t word,
                   uint64_t unlike,
                   int timeout_ms,
                   uint64_t* value) {
  const InRank outside(false);
  return world().wait_word(word, unlike, timeout_ms, value);
}

int acpx_wait_until(int (*done)(void*), void* arg, int timeout_ms) {
  const InRank outside(false);
  return world().wait_until(done, arg, timeout_ms);
}

// ---- Layers above ---------------------------------------------------------

int acpx_add_progress(int (*step)(void*), void* arg) {
  const InRank outside(false);
  return world().add_step(step, arg) ? 0 : fail(ACPX_INVALID_ARGUMENT, -1);
}

int acpx_remove_progress(int (*step)(void*), void* arg) {
  const InRank outside(false);
  return world().remove_step(step, arg) ? 0 : fail(ACPX_INVALID_ARGUMENT, -1);
}

void acpx_hurry_progress(void) {
  world().hurry();
}

int acpx_add_module(const acpx_module_t* module) {
  const InRank outside(false);
  return world().add_module(module);
}

acp_ga_t acpx_module_ga(int module, int rank) {
  return world().module_ga(module, rank);
}

int acpx_setting(const char* name, uint64_t* value) {
  const InRank outside(false);
  return world().setting(name, value) == 0 ? 0
                                           : fail(ACPX_INVALID_ARGUMENT, -1);
}

const char* acpx_enter_call(const char* /*function*/) {
  return nullptr;
}

void acpx_leave_call(const char* /*before*/) {}

void acpx_log(acpx_log_level_t /*level*/, const char* text) {
  const InRank outside(false);
  explore::note_log_line(world().rank(), text);
}

// ---- The C library's, as the code of ranks calls them ----------------------

int explore_yield(void) __asm__("__wrap_sched_yield");

int explore_yield(void) {
  const InRank outside(false);
  world().yield();
  return 0;
}

int explore_lock(void* mutex) __asm__("__wrap_pthread_mutex_lock");

int explore_lock(void* mutex) {
  const InRank outside(false);
  world().lock(mutex);
  return 0;
}

int explore_unlock(void* mutex) __asm__("__wrap_pthread_mutex_unlock");

int explore_unlock(void* mutex) {
  *static_cast<int*>(mutex) = 0;
  return 0;
}

/// A thread that cannot have a key keeps its cache of directories to its end.
int explore_key(void* key,
                void (*end)(void*)) __asm__("__wrap_pthread_key_create");

int explore_key(void* /*key*/, void (* /*end*/)(void*)) {
  return EAGAIN;
}

/// Nanoseconds of the explorer's own clock.
long explore_now(void) __asm__("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");

long explore_now(void) {
  return static_cast<long>(world().time()) * 1000;
}

}  // extern "C"
