// Sums for SCUGlobalSum, called by sysfunc.cc. Two threads may not sum at the
// same time, and the operands may not change.
#include "compat/scu/global_sum.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace scu {

namespace {

/// Elements of the sum under way: the function of a reduction gets only two
/// buffers. One thread at a time sums.
std::size_t g_count = 0;

template <typename Element>
void add(void* inout, void* in) {
  auto* sum = static_cast<Element*>(inout);
  const auto* more = static_cast<const Element*>(in);
  for (std::size_t i = 0; i < g_count; ++i) {
    sum[i] = static_cast<Element>(sum[i] + more[i]);
  }
}

/// The function that adds up elements of a type; nullptr: there is none.
/// Integers are added as unsigned ones, which may wrap around; the bits are
/// those of signed sums.
QMP_binary_func function_for(Type_tag type, std::size_t element_bytes) {
  if (type == TYPE_float) {
    switch (element_bytes) {
      case sizeof(float): return &add<float>;
      case sizeof(double): return &add<double>;
      case sizeof(long double): return &add<long double>;
      default: return nullptr;
    }
  }
  switch (type == TYPE_int ? element_bytes : 0) {
    case 1: return &add<std::uint8_t>;
    case 2: return &add<std::uint16_t>;
    case 4: return &add<std::uint32_t>;
    case 8: return &add<std::uint64_t>;
    default: return nullptr;
  }
}

}  // namespace

/// The operands are copied first, because QMP reduces in place and `from` must
/// not change.
void global_sum(Node& node,
                Type_tag type,
                std::size_t element_bytes,
                int count,
                const void* from,
                void* to) {
  const QMP_binary_func function = function_for(type, element_bytes);
  if (function == nullptr || count < 0 ||
      (count > 0 && (from == nullptr || to == nullptr))) {
    raise("SCUGlobalSum: type " + std::to_string(type) + " of " +
          std::to_string(element_bytes) + " bytes, " + std::to_string(count) +
          " elements" + (from == nullptr || to == nullptr ? ", NULL" : "") +
          ": there is no such sum");
  }
  node.log("SCUGlobalSum: %d elements of %zu bytes", count, element_bytes);
  g_count = static_cast<std::size_t>(count);
  const std::size_t bytes = g_count * element_bytes;
  if (bytes > 0) {
    std::memmove(to, from, bytes);
    if (QMP_comm_binary_reduction(node.comm(), to, bytes, function) !=
        QMP_SUCCESS) {
      raise(std::string("SCUGlobalSum: ") + QMP_get_error_string(nullptr));
    }
  }
}

}  // namespace scu
