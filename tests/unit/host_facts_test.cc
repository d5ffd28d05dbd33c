// The processors that this process may use, with folders of the test as control
// groups.
#include "base/host_facts.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

namespace acp {

namespace {

/// The files of control groups, in a folder that ends with the object.
class Groups {
 public:
  /// `membership` is the text of /proc/self/cgroup.
  explicit Groups(const std::string& membership) {
    std::string name =
        (std::filesystem::temp_directory_path() / "acp-groups-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(folder_ / "membership") << membership;
  }

  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  ~Groups() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void limit(const std::string& group, const std::string& cpu_max) const {
    const std::filesystem::path folder = folder_ / "root" / group;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cpu.max") << cpu_max << '\n';
  }

  std::uint32_t cores() const {
    return quota_cores(folder_ / "membership", folder_ / "root");
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace

TEST_CASE("host facts: the quota of a control group below the root counts") {
  const Groups groups("1:cpu:/other\n0::/system.slice/job.scope\n");
  CHECK(groups.cores() == UINT32_MAX);
  groups.limit("other", "100000 100000");
  groups.limit("system.slice", "max 100000");
  CHECK(groups.cores() == UINT32_MAX);
  groups.limit("system.slice/job.scope", "350000 100000");
  CHECK(groups.cores() == 3);
  groups.limit("system.slice", "200000 100000");
  CHECK(groups.cores() == 2);
  groups.limit("system.slice/job.scope", "50000 100000");
  CHECK(groups.cores() == 1);
}

TEST_CASE("host facts: a container's own group is the root") {
  const std::string membership = GENERATE("0::/\n", "0::/docker/1234\n", "");
  const Groups groups(membership);
  groups.limit("", "200000 100000");
  CHECK(groups.cores() == 2);
}

TEST_CASE("host facts: a set of processors counts them") {
  CpuMask cpus;
  CHECK(cpus.count() == 0);
  cpus.set(0);
  cpus.set(64);
  cpus.set(CpuMask::kMaxCpus - 1);
  CHECK(cpus.count() == 3);
}

}  // namespace acp
