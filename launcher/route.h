// Finds the address of another host of the job, for HostPlan::route_to.
#pragma once

#include <string>
#include <vector>

namespace acp::launcher {

/// Returns the numeric address of the first of these names that is not `own`
/// and has an address other than loopback; "" when there is none. Waits two
/// seconds at most: a resolver that does not answer must not stop an event
/// loop.
std::string route_to(const std::vector<std::string>& names,
                     const std::string& own);

/// The address of this host from which datagrams to the host `name` leave, as a
/// number; "" when that host is not known or there is no route. Sends nothing.
std::string own_address_towards(const std::string& name);

}  // namespace acp::launcher
