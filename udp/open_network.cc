// The network "udp" of settings/networks.def: makes a transport from the
// settings. Called through src/api/open_network.cc while acp_init joins the
// job. It publishes the address card last, and sends nothing.
#include <algorithm>
#include <chrono>

#include "base/immortal.h"
#include "transport/network.h"
#include "udp/udp_transport.h"

namespace acp::udp {

namespace {

/// This process's counts in the host segment, which outlives the transport.
protocol::TrafficRecord& record_of(const transport::NetworkContext& context) {
  const std::uint32_t slot = context.segment.slot_of_proc(context.proc);
  return context.segment.record(slot).traffic;
}

}  // namespace

/// Publishes the address card last: peers may send once they can read it.
Result<std::unique_ptr<transport::Transport>> open_network(
    const transport::NetworkContext& context) {
  static const Immortal<SteadyClock> clock;
  const protocol::HostHeader& header = context.segment.header();
  const Settings& settings = context.settings;
  UdpOptions options;
  options.me = context.proc;
  options.procs = header.procs;
  options.epoch = epoch_of(header.job_id);
  options.secret = &context.segment.secret();
  options.card_of = [context](transport::ProcId peer) {
    return context.card_of(peer);
  };
  options.name_of = [context](transport::ProcId peer) {
    return context.name_of(peer);
  };
  options.fetches_cards = context.fetches_cards();
  options.waited_for = [context] {
    return transport::waited_for(context);
  };
  protocol::TrafficRecord& record = record_of(context);
  options.publish = [&record](const protocol::Traffic& traffic) {
    record.set(traffic);
  };
  options.stats_file = settings.text(SettingId::kStats);
  options.datagram_bytes =
      static_cast<std::size_t>(settings.number(SettingId::kUdpDatagram));
  options.window_bytes = settings.number(SettingId::kUdpWindow);
  options.silence =
      std::chrono::seconds(settings.number(SettingId::kUdpSilence));
  options.ranks_per_core =
      (header.local_procs + header.cores - 1) / std::max(header.cores, 1U);
  const bool is_first_of_host = context.segment.slot_of_proc(context.proc) == 0;
  auto opened = UdpTransport::open(
      options,
      {settings.text(SettingId::kUdpInterfaces),
       settings.text(SettingId::kUdpFaults), header.route_to.data(),
       settings.text(SettingId::kUdpSecurity), header.why_no_route.data(),
       settings.text(SettingId::kUdpTags),
       settings.text(SettingId::kModulePath),
       is_first_of_host ? Warnings::kOn : Warnings::kOff},
      *clock);
  return transport::publish(context, std::move(opened));
}

}  // namespace acp::udp
