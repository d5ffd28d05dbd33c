// Tests the parts of acp_info: global addresses, limits, settings, and the
// probes of --check.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "facts.h"
#include "gmm/global_address.h"
#include "hmpi/settings_table.h"
#include "job_report.h"
#include "json.h"
#include "probes.h"
#include "protocol/host_segment.h"
#include "rdma_ports.h"
#include "settings/networks.h"
#include "tags.h"
#include "text.h"

#include <nlohmann/json.hpp>

using namespace acp;
using namespace acp::info;

TEST_CASE("acp_info: takes apart what a job of that size puts together",
          "[info]") {
  for (const std::uint32_t ranks : {1U, 2U, 100U, 65'536U, gmm::kMaxProcs}) {
    const gmm::GlobalAddressCodec codec(ranks,
                                        protocol::key_entries_for(ranks));
    const auto address = codec.encode(ranks - 1, 1, 7, 0, 0x1240);
    const AddressFact fact = take_apart(address, ranks);
    CHECK(fact.is_rank_of_job);
    CHECK(fact.rank == std::int64_t{ranks} - 1);
    CHECK(fact.color == 1);
    CHECK(fact.key == 7);
    CHECK(fact.offset == 0x1240);
    CHECK(fact.region == "registered by the program");
  }
}

TEST_CASE("acp_info: says that an address is none of the job's", "[info]") {
  CHECK(take_apart(0, 4).is_null);
  const gmm::GlobalAddressCodec codec(7, protocol::key_entries_for(7));
  const AddressFact other = take_apart(codec.encode(6, 0, 0, 0, 64), 4);
  CHECK_FALSE(other.is_rank_of_job);
  CHECK_FALSE(take_apart(64, 4).is_rank_of_job);
}

TEST_CASE("acp_info: the fields of an address fill 64 bits", "[info]") {
  for (const std::uint32_t ranks : {1U, 255U, 4'096U, gmm::kMaxProcs}) {
    const Limits limits = limits_of(ranks);
    CHECK(limits.rank_bits + limits.color_bits + limits.generation_bits +
              limits.key_bits + limits.offset_bits ==
          64);
  }
  const Limits largest = limits_of(gmm::kMaxProcs);
  CHECK(largest.colors_at_most >= 4);
  CHECK(largest.region_bytes_at_most >= (std::uint64_t{16} << 30) - 64);
}

TEST_CASE("acp_info: shows every setting, its value and where that is from",
          "[info]") {
  Settings settings;
  REQUIRE(settings.set(SettingId::kNet, "udp", SettingSource::kEnvironment) ==
          Status::kOk);
  const auto facts = setting_facts(settings);
  REQUIRE(facts.size() == settings_table().size());
  const SettingFact& net = facts[static_cast<std::size_t>(SettingId::kNet)];
  CHECK(net.name == "ACP_NET");
  CHECK(net.option == "--acp-envnet");
  CHECK(net.value == "udp");
  CHECK(net.default_value == "auto");
  CHECK(net.source == "environment");
  for (const SettingFact& fact : facts) {
    CHECK_FALSE(fact.documentation.empty());
    CHECK(text_of(facts).find(fact.name + " = ") != std::string::npos);
  }
}

TEST_CASE("acp_info: shows the settings of HMPI", "[info]") {
  ::setenv("HMPI_COPY", "4K", 1);
  const std::vector<SettingFact> facts = hmpi_setting_facts();
  ::unsetenv("HMPI_COPY");
  REQUIRE(facts.size() == hmpi::kSettingRows.size());
  CHECK(facts[0].name == "HMPI_INLINE");
  CHECK(facts[0].value == "4K");
  CHECK(facts[0].source == "default");
  CHECK(facts[1].name == "HMPI_COPY");
  CHECK(facts[1].value == "4K");
  CHECK(facts[1].default_value == "8K");
  CHECK(facts[1].source == "environment");
}

TEST_CASE("acp_info: names only networks of this build", "[info]") {
  const std::vector<SettingFact> facts = setting_facts(Settings());
  const auto net = std::find_if(
      facts.begin(), facts.end(),
      [](const SettingFact& fact) { return fact.name == "ACP_NET"; });
  REQUIRE(net != facts.end());
  CHECK(net->choices == "auto|shm|udp|ib|ucx");
}

TEST_CASE("acp_info: says which library makes tags, and what is missing",
          "[info]") {
  const TagFact chosen = tag_fact("libsodium", "");
  CHECK(chosen.library == "libsodium");
  CHECK(chosen.is_usable);
  CHECK(chosen.why == "ACP_UDP_TAGS=libsodium");
  // No module lies beside this program.
  const TagFact missing = tag_fact("auto", "/nonexistent");
  CHECK(missing.library == "libsodium");
  CHECK(missing.is_usable);
  CHECK(missing.module.empty());
  CHECK(missing.why.find("install the package acp-ipsec-mb") !=
        std::string::npos);
  CHECK_FALSE(tag_fact("ipsec-mb", "/nonexistent").is_usable);
}

TEST_CASE("acp_info: counts the addresses of udp as colors", "[info]") {
  Settings settings;
  CHECK(udp_addresses(settings) == std::vector<std::string>{"127.0.0.1"});
  REQUIRE(settings.set(SettingId::kUdpInterfaces, "127.0.0.2,::1",
                       SettingSource::kOption) == Status::kOk);
  CHECK(udp_addresses(settings) ==
        std::vector<std::string>{"127.0.0.2", "::1"});
}

TEST_CASE("acp_info: a trial that fails says what was seen", "[info]") {
  CHECK(probe_udp("127.0.0.1").works);
  const Probe nonsense = probe_udp("localhost!");
  CHECK_FALSE(nonsense.works);
  CHECK(nonsense.detail == "'localhost!' is no IP address");
  // 192.0.2.0/24 is for documentation: no interface has it.
  const Probe elsewhere = probe_udp("192.0.2.1");
  CHECK_FALSE(elsewhere.works);
  CHECK(elsewhere.detail.find("bind to 192.0.2.1: ") == 0);
  CHECK(number_in_file("/nonexistent") == -1);
}

namespace {

/// A /sys with one RDMA device and one port.
class FakeSys {
 public:
  explicit FakeSys(const std::string& node_type, const std::string& state) {
    write("class/infiniband/mlx5_0/node_type", node_type);
    write("class/infiniband/mlx5_0/ports/1/state", state);
    write("class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet");
    write("class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)");
  }

  FakeSys(const FakeSys&) = delete;
  FakeSys& operator=(const FakeSys&) = delete;

  ~FakeSys() { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& line) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << line << '\n';
  }

  std::vector<RdmaPort> ports() const {
    return rdma_ports(root_, [](const std::string&) { return std::string(); });
  }

  /// The verdict on the port when eth4 has this address.
  Probe judge(const std::string& address) const {
    return judge_ports(rdma_ports(root_, [&](const std::string& interface) {
      return interface == "eth4" ? address : std::string();
    }));
  }

 private:
  std::filesystem::path root_ = std::filesystem::temp_directory_path() /
                                ("acp_info_test." + std::to_string(::getpid()));
};

constexpr const char* kGidInterface =
    "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1";

}  // namespace

TEST_CASE("acp_info: an RDMA port has to be active and to have an address",
          "[info]") {
  FakeSys sys("1: CA", "4: ACTIVE");
  sys.write(kGidInterface, "eth4");
  const Probe good = sys.judge("10.0.0.1");
  CHECK(good.works);
  CHECK(good.detail ==
        "mlx5_0 port 1 active (Ethernet, 100 Gb/sec (4X EDR)) at 10.0.0.1");
  const Probe bare = sys.judge("");
  CHECK_FALSE(bare.works);
  CHECK(bare.detail.find("left out: no IP address: sudo ip addr add "
                         "ADDRESS/BITS dev eth4, sudo ip link set eth4 up") !=
        std::string::npos);
  sys.write("class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  const Probe down = sys.judge("10.0.0.1");
  CHECK_FALSE(down.works);
  CHECK(down.detail.find("mlx5_0 port 1 down") == 0);
  CHECK(down.detail.find("left out: connect the cable") != std::string::npos);
}

TEST_CASE("acp_info: InfiniBand's ports have the address of IPoIB", "[info]") {
  FakeSys sys("1: CA", "4: ACTIVE");
  const Probe none = sys.judge("10.0.0.1");
  CHECK_FALSE(none.works);
  CHECK(none.detail.find("modprobe ib_ipoib") != std::string::npos);
  sys.write("class/net/eth4/device/infiniband/mlx5_0/name", "");
  sys.write("class/net/eth4/dev_port", "1");
  // The interface belongs to the second port of the device.
  CHECK_FALSE(sys.judge("10.0.0.1").works);
  sys.write("class/net/eth4/dev_port", "0");
  CHECK(sys.judge("10.0.0.1").works);
}

// The tree of /sys has an unused index between two used ones. On a port of
// InfiniBand the type of a GID is IB. The file's text does not count there.
TEST_CASE("acp_info: lists the GIDs in use with their types", "[info]") {
  const std::string port = "class/infiniband/mlx5_0/ports/1/";
  const FakeSys sys("1: CA", "4: ACTIVE");
  const auto add = [&](const char* index, const char* gid, const char* type) {
    sys.write(port + "gids/" + index, gid);
    sys.write(port + "gid_attrs/types/" + index, type);
    sys.write(port + "gid_attrs/ndevs/" + index, "eth4");
  };
  add("0", "fe80:0000:0000:0000:0202:c9ff:fe00:0001", "IB/RoCE v1");
  sys.write(port + "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  add("3", "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2");

  const auto gids = sys.ports().front().gids;
  REQUIRE(gids.size() == 2);
  CHECK(gids[0].index == 0);
  CHECK(gids[0].gid == "fe80:0000:0000:0000:0202:c9ff:fe00:0001");
  CHECK(gids[0].type == "RoCE v1");
  CHECK(gids[0].interface == "eth4");
  CHECK(gids[1].index == 3);
  CHECK(gids[1].type == "RoCE v2");

  sys.write(port + "link_layer", "InfiniBand");
  CHECK(sys.ports().front().gids.front().type == "IB");
}

// The text and the JSON document are made from the same facts, and both have to
// show them.
TEST_CASE("acp_info: prints GIDs and limits of RDMA devices", "[info]") {
  RdmaFact rdma;
  CHECK(text_of(rdma).empty());
  RdmaPort port;
  port.name = "mlx5_0 port 1";
  port.gids.push_back({3, "0000:...:0001", "RoCE v2", "eth4"});
  rdma.ports.push_back(port);
  RdmaLimits limits;
  limits.device = "mlx5_0";
  limits.max_qp = 262'144;
  limits.atomics = "between queue pairs";
  rdma.limits.push_back(limits);
  const std::string text = text_of(rdma);
  CHECK(text.find("GID 3   0000:...:0001 RoCE v2, eth4\n") !=
        std::string::npos);
  CHECK(text.find("max_qp 262144,") != std::string::npos);
  CHECK(text.find("atomics           between queue pairs;") !=
        std::string::npos);
  const nlohmann::json document = json_of(rdma);
  CHECK(document["ports"][0]["gids"][0]["type"] == "RoCE v2");
  CHECK(document["limits"][0]["max_qp"] == 262'144);
}

TEST_CASE("acp_info: ports of iWARP are left out, and why", "[info]") {
  FakeSys sys("4: RNIC", "4: ACTIVE");
  sys.write(kGidInterface, "eth4");
  const Probe probe = sys.judge("10.0.0.1");
  CHECK_FALSE(probe.works);
  CHECK(probe.detail.find("left out: iWARP has no sends with immediate data") !=
        std::string::npos);
}

TEST_CASE("acp_info: a job's table has a line for each host", "[info]") {
  const auto fact = [](std::uint32_t rank, std::uint32_t leader) {
    return RankFact{.rank = rank,
                    .host = "node" + std::to_string(leader),
                    .leader = leader,
                    .network = "udp",
                    .why = "ACP_NET=udp",
                    .colors = {"eth0 at 10.0.0." + std::to_string(leader)},
                    .protection = "authenticated (AES-256-GMAC)",
                    .atomics = "by the owner's agent"};
  };
  std::vector<RankFact> facts{fact(0, 0), fact(1, 0), fact(2, 2), fact(3, 0)};
  CHECK(text_of(facts) ==
        "4 ranks on 2 hosts\n\n"
        "host                 ranks        colors\n"
        "node0                0-1,3        0: eth0 at 10.0.0.0\n"
        "node2                2            0: eth0 at 10.0.0.2\n\n"
        "network      udp (ACP_NET=udp)\n"
        "protection   authenticated (AES-256-GMAC)\n"
        "atomics      by the owner's agent\n");
  // Ranks of one host may use different devices, and give different reasons.
  facts[1].colors.front() = "eth1 at 10.0.1.0";
  facts[2].why = "because";
  const std::string text = text_of(facts);
  CHECK(text.find("node0                0,3          0: eth0") !=
        std::string::npos);
  CHECK(text.find("node0                1            0: eth1") !=
        std::string::npos);
  CHECK(text.find("network      udp (ACP_NET=udp) (ranks 0-1,3)\n"
                  "network      udp (because) (ranks 2)\n") !=
        std::string::npos);
}

TEST_CASE("acp_info: a rank's facts survive the way to rank 0", "[info]") {
  const RankFact fact{.rank = 7,
                      .host = "node3",
                      .leader = 6,
                      .network = "verbs",
                      .why = "ACP_NET=ib",
                      .colors = {"a", "b"},
                      .protection = "",
                      .atomics = "by CPUs"};
  CHECK(json_of(rank_fact_of(json_of(fact))) == json_of(fact));
}

// The kernel takes any bytes as the name of a host.
TEST_CASE("acp_info: bytes of names are shown, and end no JSON", "[info]") {
  const nlohmann::json document{{"host", "a\x1b[2J\xff\x7f"}};
  CHECK(text_of(document, -1) == R"({"host":"a\u001b[2J\ufffd\u007f"})");
  RankFact fact;
  fact.host = "a\x1b[2J\nb";
  fact = rank_fact_of(nlohmann::json::parse(text_of(json_of(fact), -1)));
  CHECK(text_of({fact}).find("a\\x1b[2J\\nb ") != std::string::npos);
}

TEST_CASE("acp_info: jobs can start on a machine that runs these tests",
          "[info]") {
  CHECK(probe_memfd().works);
}

TEST_CASE("acp_info: a check that is not ok says what to type", "[info]") {
  for (const Check& check : run_checks()) {
    CHECK(check.fix.empty() == (check.state == CheckState::kOk));
    CHECK_FALSE(check.found.empty());
  }
}
