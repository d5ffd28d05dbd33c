// Tests the order of RDMA ports over folders that look like sysfs. They need no
// device.
#include "verbs/port_order.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using namespace acp;
using namespace acp::verbs;

namespace {

using Order = std::vector<std::size_t>;

/// A /sys with two NUMA nodes of four cores each.
class FakeSys {
 public:
  FakeSys() {
    write("devices/system/node/node0/cpulist", "0-1,4-5");
    write("devices/system/node/node1/cpulist", "2-3,6,7");
  }

  FakeSys(const FakeSys&) = delete;
  FakeSys& operator=(const FakeSys&) = delete;

  ~FakeSys() { std::filesystem::remove_all(root_); }

  void add_device(const std::string& device, int node) const {
    write("class/infiniband/" + device + "/device/numa_node",
          std::to_string(node));
  }

  PortChooser chooser(std::initializer_list<unsigned> cpus,
                      PortOrder order = PortOrder::kNear,
                      std::uint32_t local_rank = 0) const {
    PortChooser chooser{.order = order, .local_rank = local_rank, .sys = root_};
    for (const unsigned cpu : cpus) {
      chooser.cpus.set(cpu);
    }
    return chooser;
  }

 private:
  void write(const std::string& path, const std::string& line) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << line << '\n';
  }

  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() /
      ("port_order_test." + std::to_string(::getpid()));
};

/// Two devices at each node, all in one subnet.
class FourDevices : public FakeSys {
 public:
  FourDevices() {
    for (int i = 0; i < 4; ++i) {
      const std::string device = "mlx5_" + std::to_string(i);
      add_device(device, i / 2);
      ports.push_back({device, "roce 0a000000"});
    }
  }

  std::vector<PortKey> ports;
};

}  // namespace

TEST_CASE("verbs: ports near the cores of a rank come first", "[verbs]") {
  const FourDevices sys;
  CHECK(order_ports(sys.ports, sys.chooser({0})) == Order{0, 1, 2, 3});
  CHECK(order_ports(sys.ports, sys.chooser({7})) == Order{2, 3, 0, 1});
  // A rank that may run anywhere is near to all.
  CHECK(order_ports(sys.ports, sys.chooser({4, 6})) == Order{0, 1, 2, 3});
  CHECK(order_ports(sys.ports, sys.chooser({})) == Order{0, 1, 2, 3});
  CHECK(order_ports(sys.ports, sys.chooser({7}, PortOrder::kName)) ==
        Order{0, 1, 2, 3});
  CHECK(describe_distance("mlx5_0", sys.chooser({7})) == "node 0, far");
  CHECK(describe_distance("mlx5_3", sys.chooser({7})) == "node 1, near");
}

TEST_CASE("verbs: a device of no NUMA node is near to all cores", "[verbs]") {
  const FakeSys sys;
  sys.add_device("mlx5_0", 1);
  sys.add_device("mlx5_1", -1);
  const std::vector<PortKey> ports{
      {"mlx5_0", "a"}, {"mlx5_1", "a"}, {"rxe0", "a"}};  // without the file
  CHECK(order_ports(ports, sys.chooser({0})) == Order{1, 2, 0});
  CHECK(describe_distance("rxe0", sys.chooser({0})) == "node unknown, near");
}

TEST_CASE("verbs: only ports that reach each other change places", "[verbs]") {
  const FourDevices sys;
  std::vector<PortKey> ports = sys.ports;
  ports[1].group = ports[3].group = "roce 0a010000";
  // Colors 0 and 2 are in the one subnet on every rank, 1 and 3 in the other.
  CHECK(order_ports(ports, sys.chooser({7})) == Order{2, 3, 0, 1});
  CHECK(order_ports(ports, sys.chooser({0})) == Order{0, 1, 2, 3});
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i].group = "subnet " + std::to_string(i);
  }
  for (const PortOrder order :
       {PortOrder::kNear, PortOrder::kLocal, PortOrder::kName}) {
    CHECK(order_ports(ports, sys.chooser({7}, order, 1)) == Order{0, 1, 2, 3});
  }
}

TEST_CASE("verbs: ranks of a host begin at different near ports", "[verbs]") {
  const FourDevices sys;
  const auto order = [&](unsigned cpu, std::uint32_t local_rank) {
    return order_ports(sys.ports,
                       sys.chooser({cpu}, PortOrder::kLocal, local_rank));
  };
  CHECK(order(0, 0) == Order{0, 1, 2, 3});
  CHECK(order(0, 1) == Order{1, 0, 2, 3});
  CHECK(order(7, 2) == Order{2, 3, 0, 1});
  CHECK(order(7, 3) == Order{3, 2, 0, 1});
  // Without a near port, the far ports are shared in this way.
  const std::vector<PortKey> far(sys.ports.begin() + 2, sys.ports.end());
  CHECK(order_ports(far, sys.chooser({0}, PortOrder::kLocal, 1)) ==
        Order{1, 0});
}

TEST_CASE("verbs: the order of ports has three names", "[verbs]") {
  CHECK(port_order_named("near") == PortOrder::kNear);
  CHECK(port_order_named("local") == PortOrder::kLocal);
  CHECK(port_order_named("name") == PortOrder::kName);
}
