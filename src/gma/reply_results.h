// Stores the results of a reply at the local addresses of its steps.
#pragma once

#include "gma/request_table.h"
#include "gmm/address_space.h"
#include "protocol/operation.h"

namespace acp::gma {

/// Stores the results and returns how the request has ended: the reply's
/// status, or kBadKey when results are missing or their memory is gone. If a
/// step of several failed, operation.current is that step afterwards.
Status store_results(const gmm::AddressSpace& space,
                     const Request& request,
                     const protocol::ReplyView& reply,
                     Operation& operation);

}  // namespace acp::gma
