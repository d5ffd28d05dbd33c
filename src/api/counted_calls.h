// The operations of a job that counts (ACP_COUNTERS). The public functions come
// here when they find no task that counts nothing: there is none at all, or it
// counts. Each function does what the public one of its name does, and then
// counts it for the rank at the other end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "acp/extension.h"
#include "acp/gma.h"
#include "protocol/step.h"
#include "runtime/task.h"

namespace acp::api {

/// The name of the public function of an atomic, for messages.
constexpr const char* name_of_atomic(protocol::Opcode opcode,
                                     std::uint8_t width) {
  const bool is_wide = width == 8;
  switch (opcode) {
    case protocol::Opcode::kCas: return is_wide ? "acp_cas8" : "acp_cas4";
    case protocol::Opcode::kAdd: return is_wide ? "acp_add8" : "acp_add4";
    case protocol::Opcode::kAnd: return is_wide ? "acp_and8" : "acp_and4";
    case protocol::Opcode::kOr: return is_wide ? "acp_or8" : "acp_or4";
    case protocol::Opcode::kXor: return is_wide ? "acp_xor8" : "acp_xor4";
    case protocol::Opcode::kSwap: return is_wide ? "acp_swap8" : "acp_swap4";
    default: return "an atomic";
  }
}

acp_handle_t counted_copy(acp_ga_t dst,
                          acp_ga_t src,
                          std::size_t size,
                          acp_handle_t order);

/// Instances exist for the public atomics.
template <protocol::Opcode kOpcode, std::uint8_t kWidth>
acp_handle_t counted_atomic(acp_ga_t dst,
                            acp_ga_t src,
                            std::uint64_t operand,
                            std::uint64_t compare,
                            acp_handle_t order);

acp_handle_t counted_post(std::span<const acpx_op_t> ops, acp_handle_t order);

acp_handle_t counted_put_signal(acp_ga_t dst,
                                acp_ga_t src,
                                std::size_t size,
                                acp_ga_t word,
                                std::uint64_t add,
                                acp_handle_t order);

/// Carries out acp_reset. What modules move meanwhile is not counted.
[[nodiscard]] Status reset(runtime::Task& mine, int rank);

/// From now on the calls of the task are counted, if it counts. Called at the
/// end of acp_init, since what modules move before is no traffic of the
/// program.
void count_calls_of(runtime::Task& mine) noexcept;

/// From now on no call is counted. There is a task.
void stop_counting_calls() noexcept;

}  // namespace acp::api
