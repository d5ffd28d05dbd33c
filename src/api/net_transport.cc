#include "api/net_transport.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "udp/udp_transport.h"
#ifdef ACP_HAS_VERBS
#include "verbs/verbs_transport.h"
#endif

namespace acp::api {

namespace {

using Wire = Result<std::unique_ptr<transport::Transport>>;

/// Publishes the card of a wire that was opened.
template <typename Opened>
Wire published(Opened opened,
               const protocol::HostSegment& segment,
               std::uint32_t proc) {
  if (!opened.ok()) {
    return opened.status();
  }
  const std::span<const std::byte> card = (*opened)->card();
  std::copy(card.begin(), card.end(), segment.card(proc).begin());
  return std::unique_ptr<transport::Transport>(std::move(*opened));
}

auto cards_in(const protocol::HostSegment& segment) {
  return [&segment](transport::ProcId peer) {
    return std::span<const std::byte>(segment.card(peer));
  };
}

/// The peer of the wait that enter_wait() has published. Waits that the
/// launcher ends (acp_reset, acp_finalize) have none: a peer that is done may
/// be gone.
udp::WaitedFor waited_for(const protocol::HostSegment& segment,
                          std::uint32_t slot) {
  using protocol::WaitKind;
  using Whom = udp::WaitedFor::Whom;
  const protocol::ProcRecord& mine = segment.record(slot);
  const auto kind =
      static_cast<WaitKind>(mine.wait_kind.load(std::memory_order_relaxed));
  if (kind != WaitKind::kSync && kind != WaitKind::kComplete &&
      kind != WaitKind::kWord && kind != WaitKind::kCondition) {
    return {};
  }
  const std::uint32_t rank = mine.wait_peer.load(std::memory_order_relaxed);
  if (rank >= segment.header().procs) {
    return {Whom::kAnybody, 0};
  }
  return {Whom::kPeer,
          segment.proc_of_rank()[rank].load(std::memory_order_relaxed)};
}

Wire make_udp(const Settings& settings,
              const protocol::HostSegment& segment,
              std::uint32_t proc) {
  static const SteadyClock clock;
  const protocol::HostHeader& header = segment.header();
  udp::UdpOptions options;
  options.me = proc;
  options.procs = header.procs;
  options.epoch = udp::epoch_of(header.job_id);
  options.card_of = cards_in(segment);
  options.waited_for = [&segment, slot = segment.slot_of_proc(proc)] {
    return waited_for(segment, slot);
  };
  options.datagram_bytes =
      static_cast<std::size_t>(settings.number(SettingId::kUdpDatagram));
  options.silence =
      std::chrono::seconds(settings.number(SettingId::kUdpSilence));
  options.ranks_per_core =
      (header.local_procs + header.cores - 1) / std::max(header.cores, 1U);
  return published(
      udp::UdpTransport::open(options,
                              {settings.text(SettingId::kUdpAddresses),
                               settings.text(SettingId::kUdpFaults)},
                              clock),
      segment, proc);
}

#ifdef ACP_HAS_VERBS
Wire make_verbs(const Settings& settings,
                const protocol::HostSegment& segment,
                std::uint32_t proc) {
  verbs::VerbsOptions options;
  options.me = proc;
  options.procs = segment.header().procs;
  options.job = segment.header().job_id;
  options.card_of = cards_in(segment);
  options.devices = settings.text(SettingId::kVerbsDevices);
  options.atomics = settings.text(SettingId::kVerbsAtomics) == "device"
                        ? verbs::Executor::kDevice
                        : verbs::Executor::kAgent;
  options.timers = {.ack_timeout = std::chrono::milliseconds(
                        settings.number(SettingId::kVerbsAckTimeout)),
                    .retries = static_cast<std::uint8_t>(
                        settings.number(SettingId::kVerbsRetries)),
                    .not_ready_delay = std::chrono::microseconds(
                        settings.number(SettingId::kVerbsRnrTimer))};
  return published(verbs::VerbsTransport::open(std::move(options)), segment,
                   proc);
}
#endif

}  // namespace

Wire make_net_transport(const Settings& settings,
                        const protocol::HostSegment& segment,
                        std::uint32_t proc) {
#ifdef ACP_HAS_VERBS
  if (settings.text(SettingId::kNet) == "ib") {
    return make_verbs(settings, segment, proc);
  }
#endif
  return make_udp(settings, segment, proc);
}

}  // namespace acp::api
