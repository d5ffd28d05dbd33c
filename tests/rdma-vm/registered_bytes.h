// The memory that transports of this process have registered with their
// devices, for tests that count it. Link with --wrap=ibv_reg_mr,
// --wrap=ibv_reg_mr_iova2 and --wrap=ibv_dereg_mr.
#pragma once

#include <cstddef>
#include <map>

#include <infiniband/verbs.h>

namespace acp::verbs {

/// Bytes that are registered at present, by protection domain. A device of a
/// transport has a protection domain of its own.
std::map<const ibv_pd*, std::size_t>& registered_bytes();

}  // namespace acp::verbs
