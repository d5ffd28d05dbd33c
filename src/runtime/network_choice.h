// The network of a job on several hosts. All ranks have to use the same one, so
// they tell each other what they can use before they open it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/bootstrap.h"
#include "settings/settings.h"
#include "transport/network.h"

namespace acp::runtime {

/// Opens the network between hosts that `context.settings` names; tests replace
/// it. Its address goes into this process's address card. It may read the
/// address cards of other processes once all have arrived at Phase::kInit.
using NetTransportFactory = std::function<transport::OpenNetwork>;

/// A network that this process has opened.
struct ChosenNetwork {
  std::unique_ptr<transport::Transport> transport;
  std::string why;  ///< Why it is this one, for people.
};

/// Opens the network that all processes use. In a job on several hosts,
/// ACP_NET=auto is RDMA devices where every process has opened them and they
/// are on one fabric, else udp; afterwards `settings` has its name. Every
/// process calls it, once, before Phase::kInit. kBadOption, logged: the
/// processes have unlike ACP_NET. Otherwise it fails as bootstrap.arrive() and
/// `open` do.
Result<ChosenNetwork> open_job_network(Settings& settings,
                                       Bootstrap& bootstrap,
                                       const NetTransportFactory& open);

}  // namespace acp::runtime
