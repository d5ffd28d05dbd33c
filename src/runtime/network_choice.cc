// Proposes a network, and decides by the proposals of all processes. Called by
// the Task while it joins the job.
#include "runtime/network_choice.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "settings/networks.h"

namespace acp::runtime {

namespace {

using OpenedNetwork = std::unique_ptr<transport::Transport>;

/// Set in the number of a network that the user has named.
constexpr std::uint32_t kIsNamed = std::uint32_t{1} << 31;
/// ACP_NET=auto, without RDMA devices.
constexpr std::uint32_t kNoRdma = 0;

/// Differs between texts, and from kNoRdma.
std::uint32_t number_of(std::string_view text) {
  return (static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size())) &
          ~kIsNamed) |
         1U;
}

void set_network(Settings& settings, std::string_view name) {
  // The name is one of the choices.
  std::ignore =
      settings.set(SettingId::kNet, name, settings.source(SettingId::kNet));
}

/// Null, and a message of level info: RDMA devices cannot be used here. A host
/// without devices is not worth a message, nor the time to load the module.
OpenedNetwork try_rdma(Settings& settings,
                       const transport::NetworkContext& context,
                       const NetTransportFactory& open) {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband",
                                                    error);
  if (error || devices == std::filesystem::directory_iterator() ||
      !may_choose_rdma(settings)) {
    return nullptr;
  }
  const ErrorsAs quiet(LogLevel::kInfo);
  set_network(settings, kRdmaNetwork);
  auto network = open(context);
  if (network.ok()) {
    return std::move(*network);
  }
  set_network(settings, "auto");
  return nullptr;
}

/// The first process whose proposal is another one; `procs` when there is none.
std::uint32_t find_other(const protocol::HostSegment& segment,
                         std::uint32_t mine) {
  const std::uint32_t procs = segment.header().procs;
  std::uint32_t proc = 0;
  while (proc < procs && segment.published(proc).proposal.load(
                             std::memory_order_relaxed) == mine) {
    ++proc;
  }
  return proc;
}

/// Opens the network that the settings name.
Result<ChosenNetwork> open_named(const transport::NetworkContext& context,
                                 const NetTransportFactory& open,
                                 std::string why) {
  auto network = open(context);
  if (!network.ok()) {
    return network.status();
  }
  return ChosenNetwork{std::move(*network), std::move(why)};
}

/// Whether a process proposes a network that its user has named.
bool is_any_named(const protocol::HostSegment& segment) {
  for (std::uint32_t proc = 0; proc < segment.header().procs; ++proc) {
    if ((segment.published(proc).proposal.load(std::memory_order_relaxed) &
         kIsNamed) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

/// Ranks of one host need not agree with anybody. Otherwise the order is: try
/// RDMA, publish the proposal, wait for the proposals of all,
/// compare them, and open what all agree on. RDMA is opened before the proposal
/// because only an open device shows that this process can use it. Every
/// process sees all proposals after the rendezvous, so each decides alike
/// without another message.
Result<ChosenNetwork> open_job_network(Settings& settings,
                                       Bootstrap& bootstrap,
                                       const NetTransportFactory& open) {
  const protocol::HostSegment& segment = bootstrap.segment();
  const transport::NetworkContext context{settings, segment, bootstrap.proc(),
                                          [&bootstrap](transport::ProcId proc) {
                                            return bootstrap.fetch_card(proc);
                                          }};
  const std::string named = settings.text(SettingId::kNet);
  if (segment.header().is_whole_job()) {
    return open_named(context, open, fmt::format("ACP_NET={}", named));
  }
  OpenedNetwork rdma;
  std::uint32_t mine = kNoRdma;
  if (named != "auto") {
    mine = number_of(named) | kIsNamed;
  } else if ((rdma = try_rdma(settings, context, open)) != nullptr) {
    mine = number_of(rdma->fabric());
  }
  segment.published(bootstrap.proc())
      .proposal.store(mine, std::memory_order_relaxed);
  if (const Status status = bootstrap.arrive(protocol::Phase::kNetwork);
      status != Status::kOk) {
    return status;
  }
  const std::uint32_t other = find_other(segment, mine);
  const bool do_agree = other == segment.header().procs;
  if (!do_agree && is_any_named(segment)) {
    log_error(
        "ACP_NET={} here, and process {} has another: give all ranks the same "
        "ACP_NET, in acprun's environment or by --acp-envnet",
        named, other);
    return Status::kBadOption;
  }
  if (named != "auto") {
    return open_named(context, open, fmt::format("ACP_NET={}", named));
  }
  std::string why;
  if (rdma == nullptr) {
    why =
        "ACP_NET=auto: udp between hosts: this process has no RDMA device "
        "that it can use, or the settings ask for udp";
    log(LogLevel::kDebug, "{}", why);
    return open_named(context, open, std::move(why));
  }
  if (do_agree) {
    why = fmt::format("ACP_NET=auto: {} between hosts ({})",
                      settings.text(SettingId::kNet), rdma->fabric());
    log(LogLevel::kInfo, "{}", why);
    return ChosenNetwork{std::move(rdma), std::move(why)};
  }
  why = fmt::format(
      "ACP_NET=auto: udp between hosts: process {} has no RDMA device on the "
      "fabric of this one ({})",
      other, rdma->fabric());
  log(LogLevel::kInfo, "{}", why);
  set_network(settings, "auto");
  rdma.reset();
  return open_named(context, open, std::move(why));
}

}  // namespace acp::runtime
