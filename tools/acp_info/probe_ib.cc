// Tells whether jobs can use an RDMA device here, from sysfs. Called by the
// checks and the facts. It opens no device.
#include <fmt/core.h>
#include <unistd.h>

#include "probes.h"
#include "rdma_ports.h"

namespace acp::info {

Probe judge_ports(const std::vector<RdmaPort>& ports) {
  Probe probe;
  if (ports.empty()) {
    probe.detail = "no RDMA device";
    return probe;
  }
  for (const RdmaPort& port : ports) {
    probe.works |= port.lack.empty();
    probe.detail +=
        fmt::format("{}{} {} ({}){}{}", probe.detail.empty() ? "" : "; ",
                    port.name, port.state, port.link_layer,
                    port.address.empty() ? "" : " at " + port.address,
                    port.lack.empty() ? "" : ", left out: " + port.lack);
  }
  return probe;
}

Probe probe_ib() {
  constexpr const char* kManager = "/dev/infiniband/rdma_cm";
  Probe probe = judge_ports(rdma_ports("/sys", address_of_interface));
  if (probe.detail != "no RDMA device" &&
      ::access(kManager, R_OK | W_OK) != 0) {
    probe.works = false;
    probe.detail += fmt::format("; no access to {}", kManager);
  }
  return probe;
}

}  // namespace acp::info
