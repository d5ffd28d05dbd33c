// Finds the address of another host of the job, for HostPlan::route_to.
#pragma once

#include <string>
#include <vector>

namespace acp::launcher {

/// Plain value.
struct Route {
  std::string address;  ///< A numeric address; "": none is known.
  /// The reason when a name has no address: "h2: Name or service not known".
  std::string why_unknown;
};

/// Returns the address of the first of these names that is not `own` and has an
/// address other than loopback. Waits two seconds at most: a resolver that does
/// not answer must not stop an event loop.
Route route_to(const std::vector<std::string>& names, const std::string& own);

/// The address of this host from which datagrams to the host `name` leave, as a
/// number. It is "" when that host is not known or there is no route. Sends
/// nothing.
std::string own_address_towards(const std::string& name);

}  // namespace acp::launcher
