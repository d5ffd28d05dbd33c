// The queue pairs that transports of this process have made, for tests that
// break them or look into their queues. Link with --wrap=rdma_create_qp.
#pragma once

#include <vector>

#include <infiniband/verbs.h>

namespace acp::verbs {

/// In the order in which they were made; who connects makes its own first.
std::vector<ibv_qp*>& created_pairs();

}  // namespace acp::verbs
