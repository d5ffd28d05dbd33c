// SCUGlobalSum, as a reduction of QMP.
#pragma once

#include <cstddef>

#include "compat/scu/node.h"
#include "scu/sysfunc.h"

namespace scu {

/// Adds up over all nodes. Ends the job when there is no sum of such a type.
void global_sum(Node& node,
                Type_tag type,
                std::size_t element_bytes,
                int count,
                const void* from,
                void* to);

}  // namespace scu
