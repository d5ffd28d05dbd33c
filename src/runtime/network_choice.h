// The networks of a job on several hosts. Two processes have to use the same
// one, so all tell each other what they can use before they open it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/bootstrap.h"
#include "runtime/rdma_peers.h"
#include "settings/settings.h"
#include "status/result.h"
#include "transport/network.h"

namespace acp::runtime {

/// Opens the network between hosts that `context.settings` names; tests replace
/// it. Its address goes into this process's address card. It may read the
/// address cards of other processes once all have arrived at Phase::kInit.
using NetTransportFactory = std::function<transport::OpenNetwork>;

/// The networks that this process has opened.
struct ChosenNetwork {
  std::unique_ptr<transport::Transport> transport;
  /// Leads to `rdma_peers`, and `transport` to all others. Null: `transport`
  /// leads to all.
  std::unique_ptr<transport::Transport> rdma;
  std::shared_ptr<const RdmaPeers> rdma_peers;  ///< Null without `rdma`.
  std::string why;  ///< Why it is these, for people.
};

/// Opens the networks that this process uses. In a job on several hosts,
/// ACP_NET=auto is RDMA devices between processes that have opened them and are
/// on one fabric, else udp. Where all processes use RDMA devices alone,
/// `settings` has their name afterwards. Every process calls it, once, before
/// Phase::kInit. kBadOption, logged: the processes have unlike ACP_NET.
/// Otherwise it fails as bootstrap.arrive() and `open` do.
Result<ChosenNetwork> open_job_network(Settings& settings,
                                       Bootstrap& bootstrap,
                                       const NetTransportFactory& open);

}  // namespace acp::runtime
