// Jobs in which some hosts have an RDMA device and some have none: which
// network two ranks use. The suite over all ways has such a job as well.
#include <random>

#include <catch2/catch.hpp>

#include "support/fake_devices.h"
#include "support/thread_job.h"

namespace acp::test {

namespace {

using runtime::Task;

constexpr std::uint32_t kHosts = 4;
constexpr std::uint32_t kRanks = 6;

/// Copies a word to every rank, so each rank needs a way to each other one.
void speak_to_all(Task& task) {
  for (std::uint32_t rank = 0; rank < task.procs(); ++rank) {
    RANK_CHECK(task.engine()
                   .copy(task.starter(rank) + 8 * task.rank(),
                         task.starter(task.rank()) + 1024, 8, gma::kHandleNull)
                   .ok());
  }
  RANK_CHECK(task.engine().complete(
                 gma::kHandleAll, SteadyClock().now() +
                                      std::chrono::seconds(60)) == Status::kOk);
  RANK_CHECK(task.sync() == Status::kOk);
}

bool are_hosts_alike(transport::ProcId one, transport::ProcId other) {
  return one % kHosts == other % kHosts;
}

/// Runs a job whose processes have devices on these fabrics, "": none. Returns
/// its devices.
std::shared_ptr<FakeDevices> run_job(
    const std::vector<std::string>& fabrics,
    const std::function<void(Task&)>& body,
    const std::vector<std::pair<SettingId, std::string>>& settings = {}) {
  auto devices = std::make_shared<FakeDevices>();
  run_thread_job(kRanks, settings, body,
                 fake_devices_factory(devices,
                                      [&fabrics](transport::ProcId proc) {
                                        return fabrics[proc];
                                      }),
                 kHosts);
  return devices;
}

}  // namespace

// Every rank gets one of three fabrics at random. The pairs that have an
// endpoint in the faster network are compared with the rule.
TEST_CASE("two networks: ranks of one fabric use it, and others udp",
          "[transport][network]") {
  std::mt19937 random(11);
  const std::string choices[] = {"", "one", "two"};
  for (int job = 0; job < 8; ++job) {
    std::vector<std::string> fabrics;
    for (std::uint32_t proc = 0; proc < kRanks; ++proc) {
      fabrics.push_back(choices[random() % 3]);
    }
    const auto pairs = run_job(fabrics, speak_to_all)->by_agents.endpoints();
    for (std::uint32_t from = 0; from < kRanks; ++from) {
      for (std::uint32_t to = 0; to < kRanks; ++to) {
        INFO("from '" << fabrics[from] << "' to '" << fabrics[to] << "'");
        const bool do_share = !are_hosts_alike(from, to) &&
                              !fabrics[from].empty() &&
                              fabrics[from] == fabrics[to];
        CHECK(pairs.contains({from, to}) == do_share);
      }
    }
  }
}

TEST_CASE("two networks: a job on one fabric opens no second one",
          "[transport][network]") {
  const auto devices =
      run_job({"one", "one", "one", "one", "one", "one"}, [](Task& task) {
        RANK_CHECK(task.rdma() == nullptr);
        RANK_CHECK(task.net()->name() == "posting");
        speak_to_all(task);
      });
  CHECK(devices->by_agents.endpoints().size() == 26);
}

TEST_CASE("two networks: ways stay as they are after acp_reset",
          "[transport][network]") {
  const std::vector<std::string> fabrics = {"one", "one", "", "", "one", ""};
  const auto devices = run_job(fabrics, [](Task& task) {
    const std::uint32_t procs = task.procs();
    RANK_CHECK(task.reset(static_cast<int>((task.rank() + 1) % procs)) ==
               Status::kOk);
    speak_to_all(task);
  });
  const std::set<PostingHub::Pair> expected = {{0, 1}, {1, 0}, {1, 4}, {4, 1}};
  CHECK(devices->by_agents.endpoints() == expected);
}

TEST_CASE("two networks: addresses that are fetched lead to equal ways",
          "[transport][network]") {
  const std::vector<std::string> fabrics = {"one", "one", "", "", "one", ""};
  for (const char* when : {"all", "fetch"}) {
    const auto devices =
        run_job(fabrics, speak_to_all, {{SettingId::kAddresses, when}});
    const std::set<PostingHub::Pair> expected = {
        {0, 1}, {1, 0}, {1, 4}, {4, 1}};
    CHECK(devices->by_agents.endpoints() == expected);
  }
}

TEST_CASE("two networks: agents execute the atomics then",
          "[transport][network]") {
  const auto devices =
      run_job({"one", "one", "", "", "one", ""},
              [](Task& task) {
                RANK_CHECK(!task.net()->capabilities().executes_atomics);
                RANK_CHECK(task.rdma() == nullptr ||
                           !task.rdma()->capabilities().executes_atomics);
                speak_to_all(task);
              },
              {{SettingId::kVerbsAtomics, "device"}});
  CHECK(devices->by_devices.endpoints().empty());
  CHECK(devices->by_agents.endpoints().size() == 4);
}

}  // namespace acp::test
