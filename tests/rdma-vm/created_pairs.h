// The queue pairs that transports of this process have made, for tests that
// break them or look into their queues. Link with --wrap=rdma_create_qp.
#pragma once

#include <vector>

#include <infiniband/verbs.h>

namespace acp::verbs {

/// The queue pairs in the order in which they were made. Of a connection, the
/// end that connects makes its queue pair first.
std::vector<ibv_qp*>& created_pairs();

/// The limits of a queue pair of created_pairs(), as the device has told them.
ibv_qp_cap limits_of(const ibv_qp& pair);

/// While it is true, no queue pair can be made whose send queue has kSendQueue
/// entries.
bool& are_large_refused();

/// Whether the queue pair belongs to the software device rxe.
bool is_rxe(const ibv_qp& pair);

}  // namespace acp::verbs
