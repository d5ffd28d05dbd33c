// RDMA devices of tests, for ACP_NET=auto: a posting transport over udp where a
// host has a device. Ranks are threads (thread_job.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/network_choice.h"
#include "support/posting_transport.h"

namespace acp::test {

/// The devices of all ranks of one job. Outlives the job.
struct FakeDevices {
  PostingHub by_agents{PostedAtomics::kAgree};
  PostingHub by_devices{PostedAtomics::kDisagree};
};

/// Opens udp, or the device of a process. `fabric_of` gives the fabric of a
/// process's device, "" where it has none. ACP_VERBS_ATOMICS chooses the
/// executor of atomics, as with real devices.
runtime::NetTransportFactory fake_devices_factory(
    std::shared_ptr<FakeDevices> devices,
    std::function<std::string(transport::ProcId)> fabric_of);

}  // namespace acp::test
