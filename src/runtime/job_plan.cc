// Decisions before a rank opens anything. Called by Task::join; may not open or
// publish anything.
#include "runtime/job_plan.h"

#include <algorithm>

#include "base/log.h"
#include "settings/networks.h"

namespace acp::runtime {

namespace {

/// acprun, or rank 0 under another launcher, has laid out the slices by its own
/// settings. A global address must have room for the offset of their last byte.
Status check_module_memory(const Settings& settings,
                           const protocol::HostHeader& header) {
  const std::uint64_t asked = protocol::host_sizes_for(settings).module_bytes;
  if (header.module_bytes != asked) {
    log_error(
        "this rank's ACP_HEAP_SIZE and ACP_MODULE_MEMORY ask for {} bytes, and "
        "the job has {}: give all ranks, and acprun, equal settings",
        asked, header.module_bytes);
    return Status::kBadOption;
  }
  const gmm::GlobalAddressCodec codec(header.procs, header.key_entries);
  const std::uint64_t bytes = protocol::kRuntimeAreaBytes + header.module_bytes;
  if (bytes > codec.max_region_bytes()) {
    log_error(
        "ACP_HEAP_SIZE and ACP_MODULE_MEMORY: {} bytes, a region of one of {} "
        "ranks has at most {}: set ACP_HEAP_SIZE lower",
        bytes, header.procs, codec.max_region_bytes());
    return Status::kTooLarge;
  }
  return Status::kOk;
}

}  // namespace

Status check_sizes(const Settings& settings,
                   const protocol::HostHeader& header) {
  if (header.procs > gmm::kMaxProcs) {
    log_error("{} ranks: at most {}", header.procs, gmm::kMaxProcs);
    return Status::kTooLarge;
  }
  return check_module_memory(settings, header);
}

Status check_net(const Settings& settings) {
  const std::string& net = settings.text(SettingId::kNet);
  if (!is_network_built_in(net)) {
    log_error("network {} is not built in; this build has {}", net,
              networks_built_in());
    return Status::kUnsupported;
  }
  if (net == "shm" && is_network_everywhere(settings)) {
    log_error(
        "ACP_NET=shm and ACP_SHM=off leave no way from rank to rank: set only "
        "one of them");
    return Status::kBadOption;
  }
  return Status::kOk;
}

bool wants_net(const Settings& settings, const protocol::HostHeader& header) {
  return is_network_named(settings) || is_network_everywhere(settings) ||
         !header.is_whole_job();
}

/// ACP_WAIT=auto yields where ranks share cores: the rank that is waited for
/// may need the core of this rank.
gma::WaitPolicy wait_policy(const Settings& settings,
                            const protocol::HostHeader& header) {
  gma::WaitPolicy policy;
  const std::string& wait = settings.text(SettingId::kWait);
  policy.may_sleep = wait == "auto" || wait == "sleep";
  policy.yields = wait == "yield" || (wait == "auto" && header.shares_cores());
  if (policy.yields || wants_net(settings, header)) {
    policy.looks = 1;
  }
  if (wait == "sleep") {
    policy.spin = Duration(0);
  }
  return policy;
}

gmm::Color colors_without_net(const Settings& settings) {
  const std::string& list = settings.text(SettingId::kUdpInterfaces);
  return list.empty() ? 1
                      : static_cast<gmm::Color>(
                            1 + std::count(list.begin(), list.end(), ','));
}

gmm::Reach reach_with(const Settings& settings,
                      const transport::Transport* net) {
  if (net != nullptr && net->capabilities().executes_atomics) {
    return gmm::Reach::kSelfDeviceAtomics;
  }
  if (!is_network_everywhere(settings)) {
    return gmm::Reach::kHost;
  }
  return settings.text(SettingId::kAtomics) == "agent"
             ? gmm::Reach::kSelfAgentAtomics
             : gmm::Reach::kSelf;
}

}  // namespace acp::runtime
