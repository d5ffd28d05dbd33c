// Proposes a network, and decides by the proposals of all processes. Called by
// the Task while it joins the job. A decision may depend only on what all
// processes see, or two of them would take different networks to each other.
#include "runtime/network_choice.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "runtime/card_parts.h"
#include "runtime/proposals.h"
#include "settings/networks.h"

namespace acp::runtime {

namespace {

using OpenedNetwork = std::unique_ptr<transport::Transport>;

/// One process while it joins: proposes, and opens what follows. Used by the
/// thread that is in acp_init.
class Chooser {
 public:
  Chooser(Settings& settings,
          Bootstrap& bootstrap,
          const NetTransportFactory& open)
      : settings_(settings),
        bootstrap_(bootstrap),
        segment_(bootstrap.segment()),
        open_(open),
        named_(settings.text(SettingId::kNet)) {}

  Result<ChosenNetwork> choose();

 private:
  transport::NetworkContext context(transport::CardPart part) const;
  void set(SettingId id, std::string_view value);
  Result<OpenedNetwork> open_rdma(bool is_optional);
  Proposal propose();
  Proposal proposal_of(std::uint32_t proc) const;
  ProposalReview review(Proposal mine) const;
  Result<ChosenNetwork> open_named(std::string why);
  Result<ChosenNetwork> open_named_between_hosts();
  Result<ChosenNetwork> open_alike();
  Result<ChosenNetwork> open_udp(std::uint32_t other);
  Result<ChosenNetwork> open_both(std::uint32_t other);

  Settings& settings_;
  Bootstrap& bootstrap_;
  const protocol::HostSegment& segment_;
  const NetTransportFactory& open_;
  const std::string named_;
  /// While it is not sure to be used. Written by the functions that open.
  OpenedNetwork rdma_{};
};

transport::NetworkContext Chooser::context(transport::CardPart part) const {
  return {.settings = settings_,
          .segment = segment_,
          .proc = bootstrap_.proc(),
          .ask_for_card =
              [&bootstrap = bootstrap_](transport::ProcId proc) {
                return bootstrap.fetch_card(proc);
              },
          .part = part};
}

/// The value is one of the setting's choices.
void Chooser::set(SettingId id, std::string_view value) {
  std::ignore = settings_.set(id, value, settings_.source(id));
}

/// Afterwards ACP_NET names the devices where they have been opened.
Result<OpenedNetwork> Chooser::open_rdma(bool is_optional) {
  transport::NetworkContext devices = context(rdma_part(segment_));
  devices.is_optional = is_optional;
  set(SettingId::kNet, kRdmaNetwork);
  auto network = open_(devices);
  if (!network.ok()) {
    set(SettingId::kNet, named_);
  }
  return network;
}

/// RDMA devices are opened before the proposal, because only an open device
/// shows that this process can use it. One that cannot be used is a message of
/// level info.
Proposal Chooser::propose() {
  if (named_ != "auto") {
    return propose_named(named_);
  }
  if (!may_choose_rdma(settings_)) {
    return kNoRdma;
  }
  const ErrorsAs quiet(LogLevel::kInfo);
  auto network = open_rdma(true);
  if (!network.ok()) {
    return kNoRdma;
  }
  rdma_ = std::move(*network);
  return propose_fabric(rdma_->fabric());
}

/// After Phase::kNetwork.
Proposal Chooser::proposal_of(std::uint32_t proc) const {
  return segment_.published(proc).proposal.load(std::memory_order_relaxed);
}

ProposalReview Chooser::review(Proposal mine) const {
  ProposalReview review(mine);
  for (std::uint32_t proc = 0; proc < segment_.header().procs; ++proc) {
    review.add(proc, proposal_of(proc),
               segment_.slot_of_proc(proc) != protocol::kNoSlot);
  }
  return review;
}

/// Why a named network is used, in words for acp_info --job.
std::string why_named(std::string_view name) {
  return name == "shm"
             ? "ACP_NET=shm: shared memory inside a host, udp between "
               "hosts"
             : fmt::format("ACP_NET={}", name);
}

/// Opens the network that the settings name; udp with ACP_NET=auto.
Result<ChosenNetwork> Chooser::open_named(std::string why) {
  auto network = open_(context({}));
  if (!network.ok()) {
    return network.status();
  }
  return ChosenNetwork{std::move(*network), nullptr, nullptr, std::move(why)};
}

/// All processes propose alike, with another ACP_NET than auto.
Result<ChosenNetwork> Chooser::open_named_between_hosts() {
  std::string why = why_named(named_);
  log(LogLevel::kInfo, "{}", why);
  return open_named(std::move(why));
}

/// All processes propose alike, with ACP_NET=auto.
Result<ChosenNetwork> Chooser::open_alike() {
  if (rdma_ == nullptr) {
    std::string why =
        "ACP_NET=auto: udp between hosts: no rank has an RDMA device that it "
        "can use, or the settings ask for udp";
    log(LogLevel::kInfo, "{}", why);
    return open_named(std::move(why));
  }
  std::string why = fmt::format("ACP_NET=auto: {} between hosts ({})",
                                kRdmaNetwork, rdma_->fabric());
  log(LogLevel::kInfo, "{}", why);
  return ChosenNetwork{std::move(rdma_), nullptr, nullptr, std::move(why)};
}

/// Other processes may use two networks, so all look for the address of udp in
/// its part of the address card.
Result<ChosenNetwork> Chooser::open_udp(std::uint32_t other) {
  std::string why =
      rdma_ == nullptr
          ? "ACP_NET=auto: udp to all hosts: this rank has no RDMA device that "
            "it can use, or the settings ask for udp"
          : fmt::format(
                "ACP_NET=auto: udp to all hosts: {} the fabric of this rank "
                "({})",
                has_card_parts(segment_)
                    ? "no other host is on"
                    : fmt::format("the launcher's settings leave room for one "
                                  "network, and rank {} is not on",
                                  other),
                rdma_->fabric());
  log(LogLevel::kInfo, "{}", why);
  rdma_.reset();
  set(SettingId::kNet, named_);
  if (!has_card_parts(segment_)) {
    return open_named(std::move(why));
  }
  auto udp = open_(context(udp_part(segment_)));
  if (!udp.ok()) {
    return udp.status();
  }
  return ChosenNetwork{std::move(*udp), nullptr, nullptr, std::move(why)};
}

/// Agents execute the atomics of a job with two networks, because those of a
/// device are not atomic with the agents' that udp needs. So devices that were
/// to execute atomics are opened again.
Result<ChosenNetwork> Chooser::open_both(std::uint32_t other) {
  ChosenNetwork chosen;
  chosen.why = fmt::format(
      "ACP_NET=auto: {} to the hosts on the fabric of this rank ({}), udp to "
      "the others: rank {} is not on it",
      kRdmaNetwork, rdma_->fabric(), other);
  if (rdma_->capabilities().executes_atomics) {
    chosen.why += "; so agents execute atomics";
    rdma_.reset();
    set(SettingId::kVerbsAtomics, "agent");
    auto again = open_rdma(false);
    if (!again.ok()) {
      return again.status();
    }
    rdma_ = std::move(*again);
  }
  log(LogLevel::kInfo, "{}", chosen.why);
  set(SettingId::kNet, named_);
  transport::NetworkContext others = context(udp_part(segment_));
  chosen.rdma_peers =
      std::make_shared<const RdmaPeers>(segment_, bootstrap_.proc());
  others.reaches = [peers = chosen.rdma_peers](transport::ProcId peer) {
    return !peers->has(peer);
  };
  auto udp = open_(others);
  if (!udp.ok()) {
    return udp.status();
  }
  chosen.transport = std::move(*udp);
  chosen.rdma = std::move(rdma_);
  return chosen;
}

/// Ranks of one host need not agree with anybody. Otherwise the order is: try
/// RDMA, publish the proposal, wait for the proposals of all, compare them, and
/// open what follows. Every process sees all proposals after the rendezvous, so
/// two processes decide alike without another message.
Result<ChosenNetwork> Chooser::choose() {
  if (segment_.header().is_whole_job()) {
    return open_named(fmt::format("ACP_NET={}", named_));
  }
  const Proposal mine = propose();
  segment_.published(bootstrap_.proc())
      .proposal.store(mine, std::memory_order_relaxed);
  if (const Status status = bootstrap_.arrive(protocol::Phase::kNetwork);
      status != Status::kOk) {
    return status;
  }
  const ProposalReview all = review(mine);
  switch (all.use()) {
    case NetworkUse::kAlike:
      return named_ == "auto" ? open_alike() : open_named_between_hosts();
    case NetworkUse::kUdp: return open_udp(all.other());
    case NetworkUse::kBoth:
      return has_card_parts(segment_) ? open_both(all.other())
                                      : open_udp(all.other());
    case NetworkUse::kRefused: break;
  }
  log_error(
      "ACP_NET={} here, and rank {} has another: give all ranks the same "
      "ACP_NET, in acprun's environment or by --acp-envnet",
      named_, all.other());
  return Status::kBadOption;
}

}  // namespace

Result<ChosenNetwork> open_job_network(Settings& settings,
                                       Bootstrap& bootstrap,
                                       const NetTransportFactory& open) {
  return Chooser(settings, bootstrap, open).choose();
}

}  // namespace acp::runtime
