// The network "ib" of settings/networks.def: makes a transport from the
// settings. Called through the module's entry point while acp_init joins the
// job. It publishes the address card last, because peers connect once they can
// read it. It contacts no peer itself.
#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/host_facts.h"
#include "transport/network.h"
#include "verbs/verbs_transport.h"

namespace acp::verbs {

namespace {

/// By a value of ACP_VERBS_ATOMICS.
Executor executor_named(std::string_view name) {
  return name == "device"  ? Executor::kDevice
         : name == "agent" ? Executor::kAgent
                           : Executor::kBoth;
}

/// By a value of ACP_VERBS_WRITES.
WriteOrder write_order_named(std::string_view name) {
  return name == "ordered"     ? WriteOrder::kOrdered
         : name == "unordered" ? WriteOrder::kUnordered
                               : WriteOrder::kRelaxed;
}

}  // namespace

/// Publishes the address card last: peers may connect once they can read it.
Result<std::unique_ptr<transport::Transport>> open_network(
    const transport::NetworkContext& context) {
  const Settings& settings = context.settings;
  VerbsOptions options;
  options.me = context.proc;
  options.procs = context.segment.header().procs;
  options.job = context.segment.header().job_id;
  options.card_of = [context](transport::ProcId peer) {
    return context.card_of(peer);
  };
  options.name_of = [context](transport::ProcId peer) {
    return context.name_of(peer);
  };
  options.devices = settings.text(SettingId::kVerbsDevices);
  options.most_colors = std::min<std::size_t>(
      kMaxColors, (context.card_room() - kCardHeaderBytes) / kCardColorBytes);
  options.chooser = {
      .order = port_order_named(settings.text(SettingId::kVerbsRails)),
      .cpus = allowed_cpus(),
      .local_rank = context.segment.slot_of_proc(context.proc)};
  options.atomics = executor_named(settings.text(SettingId::kVerbsAtomics));
  options.writes = write_order_named(settings.text(SettingId::kVerbsWrites));
  options.timers = {.ack_timeout = std::chrono::milliseconds(
                        settings.number(SettingId::kVerbsAckTimeout)),
                    .retries = static_cast<std::uint8_t>(
                        settings.number(SettingId::kVerbsRetries)),
                    .not_ready_delay = std::chrono::microseconds(
                        settings.number(SettingId::kVerbsRnrTimer))};
  options.traffic_class =
      static_cast<std::uint8_t>(settings.number(SettingId::kVerbsTrafficClass));
  auto opened = VerbsTransport::open(std::move(options));
  return transport::publish(context, std::move(opened));
}

}  // namespace acp::verbs
