// Opens udp in place of RDMA devices. Called by the tests of jobs with two
// networks.
#include "support/fake_devices.h"

#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "api/open_network.h"

namespace acp::test {

namespace {

using Opened = Result<std::unique_ptr<transport::Transport>>;

/// The settings of the udp that carries a fake device's messages. The transport
/// may use them as long as it lives.
const Settings& udp_settings() {
  static const Settings settings = [] {
    Settings udp;
    std::ignore = udp.set(SettingId::kNet, "udp", SettingSource::kOption);
    return udp;
  }();
  return settings;
}

Opened open_device(
    const transport::NetworkContext& context,
    const std::shared_ptr<FakeDevices>& devices,
    const std::function<std::string(transport::ProcId)>& fabric_of) {
  const std::string fabric = fabric_of(context.proc);
  if (fabric.empty()) {
    return Status::kUnsupported;
  }
  const std::string& atomics = context.settings.text(SettingId::kVerbsAtomics);
  PostingHub& hub =
      atomics == "device" ? devices->by_devices : devices->by_agents;
  auto messages = api::open_network(
      {.settings = udp_settings(),
       .segment = context.segment,
       .proc = context.proc,
       .ask_for_card = context.ask_for_card,
       .part = context.part,
       // udp asks only these ranks for signs of life.
       .reaches = [fabric, fabric_of](transport::ProcId peer) {
         return fabric_of(peer) == fabric;
       }});
  if (!messages.ok()) {
    return messages.status();
  }
  return make_posting_transport(std::move(*messages),
                                std::shared_ptr<PostingHub>(devices, &hub),
                                context.proc, atomics + fabric);
}

}  // namespace

runtime::NetTransportFactory fake_devices_factory(
    std::shared_ptr<FakeDevices> devices,
    std::function<std::string(transport::ProcId)> fabric_of) {
  return [devices = std::move(devices), fabric_of = std::move(fabric_of)](
             const transport::NetworkContext& context) -> Opened {
    return context.settings.text(SettingId::kNet) == "ib"
               ? open_device(context, devices, fabric_of)
               : api::open_network(context);
  };
}

}  // namespace acp::test
