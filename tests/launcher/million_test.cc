// A job of 1,048,575 ranks on 16,384 hosts, simulated. It has the tree of
// daemons, and the segment of one host as the tables of all others arrive. A
// rank there joins the job and begins a barrier. docs/scale.md has the sizes.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/unique_fd.h"
#include "launcher/daemon_connections.h"
#include "launcher/rollcall.h"
#include "protocol/byte_codec.h"
#include "protocol/published_table.h"
#include "runtime/modules.h"
#include "runtime/proposals.h"
#include "runtime/task.h"
#include "support/fake_devices.h"
#include "udp/address_card.h"

namespace acp {

namespace {

using launcher::HostRanks;

constexpr std::uint32_t kHosts = 16'384;
constexpr std::uint32_t kPerHost = 64;
constexpr std::uint32_t kProcs = kHosts * kPerHost - 1;
constexpr std::uint32_t kMyHost = 5'000;
constexpr std::uint64_t kMegabyte = 1'000'000;
/// docs/scale.md, "Memory of a host": the segment and all ranks of the host.
constexpr std::uint64_t kHostAim = 64 * kMegabyte;

std::vector<std::uint32_t> ranks_of(std::uint32_t host) {
  std::vector<std::uint32_t> ranks(
      std::min(kPerHost, kProcs - host * kPerHost));
  std::iota(ranks.begin(), ranks.end(), host * kPerHost);
  return ranks;
}

/// Memory of this process that it shares with nobody, in bytes.
std::uint64_t private_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "RssAnon:") {
      std::uint64_t kibibytes = 0;
      status >> kibibytes;
      return kibibytes * 1024;
    }
  }
  FAIL("the kernel tells no RssAnon");
  return 0;
}

std::uint64_t bytes_of_file(int fd) {
  struct stat facts {};

  REQUIRE(::fstat(fd, &facts) == 0);
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

/// An address that nobody answers at: that of a bound socket.
class SilentAddress {
 public:
  SilentAddress() : socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof address) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                          &size) == 0);
    port_ = ntohs(address.sin_port);
  }

  std::uint16_t port() const noexcept { return port_; }

 private:
  UniqueFd socket_;
  std::uint16_t port_ = 0;
};

/// The networks of a simulated job, and the numbers that follow.
struct Kind {
  const char* name;
  std::vector<std::pair<SettingId, const char*>> settings;
  transport::Color colors = 1;
  udp::Security security = udp::Security::kOff;
  /// Hosts of even numbers have RDMA devices on one fabric, and others none.
  bool has_two_networks = false;

  bool has_device(std::uint32_t host) const {
    return has_two_networks && host % 2 == 0;
  }
};

/// Joins a rank of the simulated host. The other hosts' tables arrive in
/// kInit, in pieces as from acprun.
class SimulatedBootstrap final : public runtime::Bootstrap {
 public:
  /// `fetches` counts the address cards that the rank asks for.
  SimulatedBootstrap(const protocol::HostSegment& segment,
                     const Kind& kind,
                     std::uint16_t silent_port,
                     std::atomic<int>& fetches)
      : segment_(segment),
        kind_(kind),
        silent_port_(silent_port),
        fetches_(fetches) {}

  std::string_view name() const noexcept override { return "simulated"; }

  std::uint32_t proc() const noexcept override { return kMyHost * kPerHost; }

  const protocol::HostSegment& segment() const noexcept override {
    return segment_;
  }

  /// The other ranks of the host have published, too.
  Status arrive(protocol::Phase) override {
    const auto mine = segment_.published(proc()).get();
    for (const std::uint32_t local : ranks_of(kMyHost)) {
      segment_.published(local).set(mine);
    }
    constexpr std::uint32_t kHostsInAPiece = 64;
    for (std::uint32_t host = 0; host < kHosts; host += kHostsInAPiece) {
      protocol::ByteWriter piece;
      for (std::uint32_t i = 0; i < kHostsInAPiece; ++i) {
        write_host(piece, host + i, mine);
      }
      if (!protocol::write_table(segment_, piece.take())) {
        return Status::kProtocol;
      }
    }
    return Status::kOk;
  }

  Result<std::span<const std::byte>> fetch_card(std::uint32_t) override {
    ++fetches_;
    fetched_ = card();
    return std::span<const std::byte>(fetched_);
  }

  bool abort(int, std::string_view) override { return true; }

  void finalized() override {}

 private:
  /// The address card of a process of another host. The fake device speaks udp,
  /// so with two networks both parts are alike.
  std::vector<std::byte> card() const {
    udp::AddressCard card;
    card.colors = kind_.colors;
    card.datagram_bytes = 60'000;
    card.security = kind_.security;
    for (transport::Color color = 0; color < kind_.colors; ++color) {
      card.addresses[color].family = udp::Family::kIpv4;
      card.addresses[color].bytes = {127, 0, 0, 1};
      card.addresses[color].port = silent_port_;
      card.send_ports[color] = silent_port_;
    }
    std::array<std::byte, udp::kMaxCardBytes> bytes{};
    const auto used = std::span(bytes).first(udp::encode_card(card, bytes));
    std::vector<std::byte> room(segment_.header().card_bytes);
    std::ranges::copy(used, room.begin());
    if (kind_.has_two_networks) {
      std::ranges::copy(used, room.end() - protocol::kShortCardBytes);
    }
    return room;
  }

  void write_host(protocol::ByteWriter& piece,
                  std::uint32_t host,
                  protocol::PublishedRecord::Values values) const {
    values.leader = host * kPerHost;
    if (kind_.has_two_networks && !kind_.has_device(host)) {
      values.proposal = runtime::kNoRdma;
    }
    for (const std::uint32_t proc : ranks_of(host)) {
      piece.number(proc);
      piece.number(values);
      piece.text({});  // its address card, which is fetched
    }
  }

  const protocol::HostSegment& segment_;
  const Kind& kind_;
  std::uint16_t silent_port_;
  std::atomic<int>& fetches_;
  std::vector<std::byte> fetched_;
};

/// Counts how often each host is started, and the levels of the tree.
void walk_tree(std::span<const HostRanks> hosts,
               std::size_t level,
               std::vector<int>& starts,
               std::size_t& levels) {
  if (hosts.empty()) return;
  levels = std::max(levels, level);
  const auto groups = launcher::divide_hosts(hosts, 32);
  CHECK(groups.size() <= 64);
  for (const auto& group : groups) {
    ++starts[group.front().number];
    walk_tree(std::span(group).subspan(1), level + 1, starts, levels);
  }
}

}  // namespace

TEST_CASE("a million ranks: three levels of daemons start each host once",
          "[scale]") {
  std::vector<HostRanks> hosts(kHosts);
  for (std::uint32_t host = 0; host < kHosts; ++host) {
    hosts[host].number = host;
  }
  std::vector<int> starts(kHosts, 0);
  std::size_t levels = 0;
  // acprun's own host needs no daemon.
  walk_tree(std::span(hosts).subspan(1), 1, starts, levels);
  CHECK(levels == 3);
  CHECK(starts[0] == 0);
  CHECK(std::count(starts.begin(), starts.end(), 1) == kHosts - 1);
}

/// A roll-call that looked at every rank for each message would take hours.
TEST_CASE("a million ranks: acprun's roll-call of a whole job", "[scale]") {
  using protocol::BootstrapType;
  launcher::Rollcall rollcall(kProcs);
  const auto all_say = [&](const protocol::BootstrapMessage& message) {
    std::uint32_t answers = 0;
    for (std::uint32_t rank = 0; rank < kProcs; ++rank) {
      const launcher::Answer answer = rollcall.on_message(rank, message);
      answers += std::holds_alternative<launcher::Nothing>(answer) ? 0 : 1;
    }
    return answers;
  };
  CHECK(all_say({BootstrapType::kHello, 7, {}}) == kProcs);
  for (const auto phase : {protocol::Phase::kNetwork, protocol::Phase::kInit,
                           protocol::Phase::kFinalize}) {
    CHECK(all_say({BootstrapType::kArrive,
                   static_cast<std::uint64_t>(phase),
                   {}}) == 1);
  }
  CHECK(all_say({BootstrapType::kFinalized, 0, {}}) == 0);
  std::uint32_t verdicts = 0;
  for (std::uint32_t rank = 0; rank < kProcs; ++rank) {
    verdicts += rollcall.is_meeting() || rollcall.on_exit(rank, 0) ? 1 : 0;
  }
  CHECK(verdicts == 0);
}

/// The rank begins copies to a host with a device and to one without, and then
/// a barrier. Its peers never answer.
TEST_CASE("a million ranks: what a host and a rank hold", "[scale]") {
  const auto kind = GENERATE(
      Kind{.name = "one address",
           .settings = {{SettingId::kUdpSecurity, "encrypt"}},
           .security = udp::Security::kEncrypt},
      Kind{.name = "two networks", .settings = {}, .has_two_networks = true},
      Kind{.name = "four colors",
           .settings = {{SettingId::kUdpInterfaces,
                         "127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1"}},
           .colors = 4});
  INFO(kind.name);
  Settings settings;
  for (const auto& [id, text] : kind.settings) {
    REQUIRE(settings.set(id, text, SettingSource::kOption) == Status::kOk);
  }
  protocol::HostPlan plan;
  plan.procs = kProcs;
  plan.local_procs = ranks_of(kMyHost);
  plan.sizes = protocol::host_sizes_for(settings);
  plan.sizes.card_table = protocol::card_table_for(settings, kProcs);
  REQUIRE(plan.sizes.card_table == protocol::CardTable::kOfHost);
  const auto memory = protocol::create_host_segment(plan);
  REQUIRE(memory.ok());
  const auto segment = protocol::HostSegment::map(memory->get());
  REQUIRE(segment.ok());
  for (std::uint32_t slot = 0; slot < kPerHost; ++slot) {
    segment->slice_header(slot).asleep = 0;  // touch what each rank touches
    segment->fetched_card(slot)[0] = std::byte{0};
  }

  const SilentAddress nobody;
  std::atomic<int> fetches{0};
  const auto open_network = test::fake_devices_factory(
      std::make_shared<test::FakeDevices>(), [&kind](transport::ProcId proc) {
        return std::string(kind.has_device(proc / kPerHost) ? "fabric" : "");
      });
  const std::uint64_t before = private_bytes();
  runtime::Modules modules;
  runtime::Task task(settings,
                     std::make_unique<SimulatedBootstrap>(
                         *segment, kind, nobody.port(), fetches),
                     modules);
  REQUIRE(task.join(open_network) == Status::kOk);
  const std::uint64_t joined = private_bytes();
  const std::uint64_t held = bytes_of_file(memory->get());
  UNSCOPED_INFO("segment " << held << " bytes, rank " << joined - before);
  CHECK((task.rdma() != nullptr) == kind.has_two_networks);
  CHECK(held > 25 * kMegabyte);

  for (const std::uint32_t host : {kMyHost + 1, kMyHost + 2}) {
    CHECK(task.engine()
              .copy(task.starter(host * kPerHost), task.starter(task.rank()), 8,
                    gma::kHandleNull)
              .ok());
  }
  // The other ranks of the host have come to the barrier, so the leader looks
  // for its partners, and tells the first.
  segment->header().barrier.gathered = 1;
  CHECK(task.sync(SteadyClock().now() + std::chrono::milliseconds(1)) ==
        Status::kTimedOut);
  const std::uint64_t synced = private_bytes();
  UNSCOPED_INFO("peers and barrier " << synced - joined << " bytes");
  // Each rank counts as if it had such peers and were the leader.
  const std::uint64_t of_host = held + kPerHost * (synced - before);
  UNSCOPED_INFO("host " << of_host << " bytes");
  CHECK(of_host <= kHostAim);
  CHECK(fetches >= 2);
  // A wait that lasts asks its peer, a third one, for a sign of life.
  CHECK(fetches <= 3);
}

}  // namespace acp
