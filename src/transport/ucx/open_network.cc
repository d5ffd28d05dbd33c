// The network "ucx" of settings/networks.def: makes a transport from the
// settings. Called through the module's entry point while acp_init joins the
// job. It publishes the address card last, because peers send once they can
// read it. It contacts no peer itself.
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
  options.name_of = [context](transport::ProcId peer) {
    return context.name_of(peer);
  };
  options.is_local = [context](transport::ProcId peer) {
    return context.segment.slot_of_proc(peer) != protocol::kNoSlot;
  };
  options.has_other_hosts = !context.segment.header().is_whole_job();
  options.devices = settings.text(SettingId::kUcxDevices);
  options.atomics = settings.text(SettingId::kUcxAtomics) == "device"
                        ? Executor::kDevice
                        : Executor::kCpu;
  auto opened = UcxTransport::open(std::move(options));
  if (opened.ok()) {
    log(LogLevel::kDebug, "ucx: an address card of {} bytes",
        (*opened)->card().size());
  }
  return transport::publish(context, std::move(opened));
}

}  // namespace acp::ucx
