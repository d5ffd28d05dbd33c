#include "api/net_wire.h"

#include <algorithm>

#include "base/clock.h"
#include "runtime/host_facts.h"
#include "udp/udp_transport.h"

namespace acp::api {

Result<std::unique_ptr<transport::Transport>> make_net_wire(
    const Settings& settings,
    const protocol::HostSegment& segment,
    std::uint32_t proc) {
  static const SteadyClock clock;
  const protocol::HostHeader& header = segment.header();
  udp::UdpOptions options;
  options.me = proc;
  options.procs = header.procs;
  options.epoch = udp::epoch_of(header.job_id);
  options.card_of = [&segment](transport::ProcId peer) {
    return std::span<const std::byte>(segment.card(peer));
  };
  options.datagram_bytes =
      static_cast<std::size_t>(settings.number(SettingId::kUdpDatagram));
  options.silence =
      std::chrono::seconds(settings.number(SettingId::kUdpSilence));
  options.is_oversubscribed = header.local_procs > runtime::allowed_cores();
  auto opened =
      udp::UdpTransport::open(options,
                              {settings.text(SettingId::kUdpAddresses),
                               settings.text(SettingId::kUdpFaults)},
                              clock);
  if (!opened.ok()) {
    return opened.status();
  }
  const std::span<const std::byte> card = (*opened)->card();
  std::copy(card.begin(), card.end(), segment.card(proc).begin());
  return std::unique_ptr<transport::Transport>(std::move(*opened));
}

}  // namespace acp::api
