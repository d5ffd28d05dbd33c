// Answers what ranks and hosts say about the bootstrap. Called by job.cc with
// the reports of all hosts. It sends only by the caller's function, and waits
// for nothing.
#include "launcher/job_bootstrap.h"

#include <utility>
#include <variant>

#include "protocol/published_table.h"

namespace acp::launcher {

namespace {

using protocol::BootstrapMessage;
using protocol::BootstrapType;

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};

// clang 14 does not deduce aggregates by itself.
template <typename... Cases>
Match(Cases...) -> Match<Cases...>;

}  // namespace

JobBootstrap::JobBootstrap(std::uint32_t ranks,
                           std::size_t card_bytes,
                           const RankHosts& hosts,
                           const HostNetworks& networks,
                           Order order)
    : card_bytes_(card_bytes),
      hosts_(hosts),
      networks_(networks),
      order_(std::move(order)),
      rollcall_(ranks) {}

std::optional<Verdict> JobBootstrap::take_exit(std::uint32_t rank,
                                               int wait_status) {
  return is_judging_ ? rollcall_.on_exit(rank, wait_status) : std::nullopt;
}

/// Absences and requests for address cards are passed on between hosts, even
/// after the verdict: ranks that end in order still need both.
std::optional<Verdict> JobBootstrap::take_rank_message(HostMessage report) {
  const auto type = static_cast<BootstrapType>(report.value);
  if (type == BootstrapType::kAbsent) {
    return take_absence(report.rank, static_cast<std::uint64_t>(report.more));
  }
  if (type == BootstrapType::kWantAddress && is_rank(report.more)) {
    const auto wanted = static_cast<std::uint32_t>(report.more);
    order_({HostMessageType::kWantAddress,
            hosts_.of(wanted),
            wanted,
            report.rank,
            0,
            {}});
    return std::nullopt;
  }
  if (!is_judging_) return std::nullopt;
  const BootstrapMessage message{type, static_cast<std::uint64_t>(report.more),
                                 std::move(report.text)};
  return answer(report.rank, rollcall_.on_message(report.rank, message));
}

std::optional<Verdict> JobBootstrap::answer(std::uint32_t rank, Answer answer) {
  std::optional<Verdict> verdict;
  std::visit(
      Match{[](Nothing) {},
            [&](SayWelcome) {
              order_(
                  {HostMessageType::kWelcome, hosts_.of(rank), rank, 0, 0, {}});
            },
            [&](SayGo say) { go(say.phase); },
            [&](Verdict& found) {
              verdict = std::move(found);
            }},
      answer);
  return verdict;
}

/// The last tables go out before the Go of their phase: a rank that has read
/// Go may look an address up at once.
void JobBootstrap::go(protocol::Phase phase) {
  absences_.clear_resetting();
  if (phase == protocol::Phase::kNetwork) {
    tell_lost_hosts();
  }
  tables_.send_rest();
  order_all(HostMessageType::kGo, static_cast<std::int64_t>(phase));
}

/// Ranks open sockets after Go(kNetwork). On a host that knows no address of
/// the others they would take loopback. They get the reason: only then does
/// opening fail, and programs that need no such socket run. Every host has
/// reported its network before its ranks arrived.
void JobBootstrap::tell_lost_hosts() {
  for (HostNetworks::LostHost& one : networks_.without_route()) {
    order_({HostMessageType::kNoRoute, one.host, 0, 0, 0, std::move(one.why)});
  }
}

/// Hosts are told of an absence that changes their word: in the usual job the
/// absence of the first rank.
std::optional<Verdict> JobBootstrap::take_absence(std::uint32_t rank,
                                                  std::uint64_t word) {
  if (word == 0) return std::nullopt;
  const auto absence = protocol::Absence::of(word);
  if (absences_.enter(absence)) {
    order_all(HostMessageType::kAbsent, static_cast<std::int64_t>(word));
  }
  if (!is_judging_) return std::nullopt;
  return answer(rank, rollcall_.on_absence(rank, absence));
}

void JobBootstrap::pass_on_card(HostMessage report) {
  if (!is_rank(report.value)) return;
  report.host = hosts_.of(static_cast<std::uint32_t>(report.value));
  order_(report);
}

/// A host sends its table before the arrival of its last rank, so the tables
/// are complete when every rank has arrived.
bool JobBootstrap::take_table(const std::string& table) {
  if (!protocol::is_table(table, rollcall_.size(), card_bytes_)) return false;
  tables_.add(table);
  return true;
}

void JobBootstrap::order_all(HostMessageType type,
                             std::int64_t value,
                             std::string text) {
  order_({type, kEveryHost, 0, value, 0, std::move(text)});
}

}  // namespace acp::launcher
