// Names the function of a global operation by the kind in its tag. operation.cc
// calls it for error lines. Pure; the kinds are made by operators.h,
// collective.cc and comm_api.cc.
#include "qmp/call_text.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "qmp/operators.h"

namespace qmp {

namespace {

/// The name for one type and all operators; nullptr: QMP has no such function.
struct TypeNames {
  std::uint8_t type;
  std::array<const char*, 4> functions;  ///< By the kNumber of the operator.
};

constexpr std::array kTypes = {
    TypeNames{type_number<int>(),
              {"QMP_sum_int", "QMP_max_int", "QMP_min_int", nullptr}},
    TypeNames{type_number<std::uint64_t>(),
              {"QMP_sum_uint64_t", nullptr, nullptr, "QMP_xor_ulong"}},
    TypeNames{type_number<float>(),
              {"QMP_sum_float", "QMP_max_float", "QMP_min_float", nullptr}},
    TypeNames{type_number<double>(),
              {"QMP_sum_double", "QMP_max_double", "QMP_min_double", nullptr}},
    TypeNames{type_number<long double>(),
              {"QMP_sum_long_double or QMP_sum_double_extended", nullptr,
               nullptr, nullptr}},
};

/// The function of a kind: kinds that stand alone first, then those of a type
/// and an operator.
const char* name_of(std::uint8_t kind) {
  switch (kind) {
    case kHandshake: return "a reduction";
    case kBroadcast: return "QMP_broadcast";
    case kBarrier:
    case kJobBarrier: return "QMP_barrier";
    case kAllToAll: return "QMP_comm_alltoall";
    case kUserFunction: return "QMP_binary_reduction";
    case kSplitNumber:
    case kSplitChoices: return "QMP_comm_split";
    default: break;
  }
  for (const TypeNames& each : kTypes) {
    const std::size_t function = kind - kind_of(each.type, 0);
    if (kind >= kind_of(each.type, 0) && function < each.functions.size() &&
        each.functions[function] != nullptr) {
      return each.functions[function];
    }
  }
  return "an unknown reduction";
}

}  // namespace

std::string describe(const Call& call) {
  return describe(call, name_of(call.tag.kind));
}

std::string describe(const Call& call, const char* function) {
  const std::uint8_t kind = call.tag.kind;
  const bool has_bytes =
      kind != kHandshake && kind != kBarrier && kind != kJobBarrier;
  return function +
         (has_bytes ? ", " + std::to_string(call.bytes) + " bytes"
                    : std::string()) +
         " (operation " + std::to_string(call.tag.number) + ")";
}

}  // namespace qmp
