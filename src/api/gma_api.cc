// The functions of chapter 4.11: copies, atomics and their completion. Programs
// and the layers above call them. On their direct path they may not take a lock
// or make a system call.
#include "acp/gma.h"
#include "api/counted_calls.h"
#include "api/current_task.h"
#include "base/memory_reserve.h"

using acp::api::as_handle;
using acp::api::engine;
using acp::api::fail;
using acp::api::fail_without_task;
using acp::api::lacks_memory;
using acp::api::name_of_atomic;
using acp::api::uncounted_engine;
using acp::protocol::Opcode;

namespace {

// Everything but the shortest path, in a job that counts nothing. These
// functions are out of line and are called last, so that the public functions
// save no registers for them.

[[gnu::noinline]] acp_handle_t copy_any(acp_ga_t dst,
                                        acp_ga_t src,
                                        size_t size,
                                        acp_handle_t order) {
  if (lacks_memory("acp_copy")) {
    return ACP_HANDLE_NULL;
  }
  const acp::MustNotFail must_not_fail;
  return as_handle(acp::api::g_room.task.engine().copy(dst, src, size, order));
}

template <Opcode kOpcode, std::uint8_t kWidth>
[[gnu::noinline]] acp_handle_t atomic_any(acp_ga_t dst,
                                          acp_ga_t src,
                                          std::uint64_t operand,
                                          std::uint64_t compare,
                                          acp_handle_t order) {
  if (lacks_memory(name_of_atomic(kOpcode, kWidth))) {
    return ACP_HANDLE_NULL;
  }
  const acp::MustNotFail must_not_fail;
  return as_handle(acp::api::g_room.task.engine().atomic(
      kOpcode, kWidth, dst, src, operand, compare, order));
}

template <Opcode kOpcode, std::uint8_t kWidth>
[[gnu::always_inline]] inline acp_handle_t atomic(acp_ga_t dst,
                                                  acp_ga_t src,
                                                  std::uint64_t operand,
                                                  std::uint64_t compare,
                                                  acp_handle_t order) {
  acp::gma::Engine* mine = uncounted_engine();
  if (__builtin_expect(mine == nullptr, 0)) {
    return acp::api::counted_atomic<kOpcode, kWidth>(dst, src, operand, compare,
                                                     order);
  }
  const acp_handle_t handle =
      mine->atomic_library(kOpcode, kWidth, dst, src, operand, compare, order);
  if (__builtin_expect(handle != ACP_HANDLE_NULL, 1)) {
    return handle;
  }
  return atomic_any<kOpcode, kWidth>(dst, src, operand, compare, order);
}

}  // namespace

extern "C" {

acp_handle_t acp_copy(acp_ga_t dst,
                      acp_ga_t src,
                      size_t size,
                      acp_handle_t order) {
  acp::gma::Engine* mine = uncounted_engine();
  if (__builtin_expect(mine == nullptr, 0)) {
    return acp::api::counted_copy(dst, src, size, order);
  }
  if (size == sizeof(uint64_t)) {
    const acp_handle_t handle = mine->copy_library_word(dst, src, order);
    if (__builtin_expect(handle != ACP_HANDLE_NULL, 1)) {
      return handle;
    }
  }
  return copy_any(dst, src, size, order);
}

acp_handle_t acp_cas4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t oldval,
                      uint32_t newval,
                      acp_handle_t order) {
  return atomic<Opcode::kCas, 4>(dst, src, newval, oldval, order);
}

acp_handle_t acp_cas8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t oldval,
                      uint64_t newval,
                      acp_handle_t order) {
  return atomic<Opcode::kCas, 8>(dst, src, newval, oldval, order);
}

acp_handle_t acp_add4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t value,
                      acp_handle_t order) {
  return atomic<Opcode::kAdd, 4>(dst, src, value, 0, order);
}

acp_handle_t acp_add8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order) {
  return atomic<Opcode::kAdd, 8>(dst, src, value, 0, order);
}

acp_handle_t acp_and4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t value,
                      acp_handle_t order) {
  return atomic<Opcode::kAnd, 4>(dst, src, value, 0, order);
}

acp_handle_t acp_and8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order) {
  return atomic<Opcode::kAnd, 8>(dst, src, value, 0, order);
}

acp_handle_t acp_or4(acp_ga_t dst,
                     acp_ga_t src,
                     uint32_t value,
                     acp_handle_t order) {
  return atomic<Opcode::kOr, 4>(dst, src, value, 0, order);
}

acp_handle_t acp_or8(acp_ga_t dst,
                     acp_ga_t src,
                     uint64_t value,
                     acp_handle_t order) {
  return atomic<Opcode::kOr, 8>(dst, src, value, 0, order);
}

acp_handle_t acp_xor4(acp_ga_t dst,
                      acp_ga_t src,
                      uint32_t value,
                      acp_handle_t order) {
  return atomic<Opcode::kXor, 4>(dst, src, value, 0, order);
}

acp_handle_t acp_xor8(acp_ga_t dst,
                      acp_ga_t src,
                      uint64_t value,
                      acp_handle_t order) {
  return atomic<Opcode::kXor, 8>(dst, src, value, 0, order);
}

acp_handle_t acp_swap4(acp_ga_t dst,
                       acp_ga_t src,
                       uint32_t value,
                       acp_handle_t order) {
  return atomic<Opcode::kSwap, 4>(dst, src, value, 0, order);
}

acp_handle_t acp_swap8(acp_ga_t dst,
                       acp_ga_t src,
                       uint64_t value,
                       acp_handle_t order) {
  return atomic<Opcode::kSwap, 8>(dst, src, value, 0, order);
}

void acp_complete(acp_handle_t handle) {
  acp::gma::Engine* mine = engine();
  if (__builtin_expect(mine == nullptr, 0)) {
    fail_without_task();
    return;
  }
  const acp::Status status = mine->complete(handle, acp::TimePoint::max());
  if (__builtin_expect(status != acp::Status::kOk, 0)) {
    fail(status);
  }
}

int acp_inquire(acp_handle_t handle) {
  acp::gma::Engine* mine = engine();
  if (mine == nullptr) {
    fail_without_task();
    return 0;
  }
  return mine->is_complete(handle) ? 0 : 1;
}

}  // extern "C"
