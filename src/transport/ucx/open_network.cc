// The network "ucx" of settings/networks.def: a transport from the settings.
#include "base/little_endian.h"
#include "base/log.h"
#include "transport/network.h"
#include "transport/ucx/ucx_transport.h"

namespace acp::ucx {

/// Publishes the address card last: peers may send once they can read it.
Result<std::unique_ptr<transport::Transport>> open_network(
    const transport::NetworkContext& context) {
  const Settings& settings = context.settings;
  UcxOptions options;
  options.me = context.proc;
  options.procs = context.segment.header().procs;
  options.job = load_little<std::uint64_t>(reinterpret_cast<const std::byte*>(
      context.segment.header().job_id.data()));
  options.card_of = [context](transport::ProcId peer) {
    return context.card_of(peer);
  };
  options.devices = settings.text(SettingId::kUcxDevices);
  options.atomics = settings.text(SettingId::kUcxAtomics) == "device"
                        ? Executor::kDevice
                        : Executor::kCpu;
  auto opened = UcxTransport::open(std::move(options));
  if (!opened.ok()) {
    return opened.status();
  }
  const std::size_t size = (*opened)->card().size();
  const std::size_t room = context.card_of(context.proc).size();
  if (size > room) {
    log_error(
        "ucx: the addresses of this process take {} bytes, and an address card "
        "has {}: choose fewer devices with UCX_NET_DEVICES or ACP_UCX_DEVICES",
        size, room);
    return Status::kTooLarge;
  }
  context.publish_card((*opened)->card());
  return std::unique_ptr<transport::Transport>(std::move(*opened));
}

}  // namespace acp::ucx
