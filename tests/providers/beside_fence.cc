// Asks a launcher for values while its fence is under way. One thread of each
// rank is in the fence, which rank 0 has not come to yet. Another thread gets
// the values of all ranks.
//
//   beside_fence INTERFACE FOLDER     INTERFACE: pmi1, pmi2 or pmix
//
// Each rank but rank 0 makes a file in FOLDER when it has all values. Rank 0
// comes to the fence when all of these files are there. The rank prints
// "all values came".
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/pmi_client.h"
#include "runtime/process_manager.h"
#ifdef HAS_PMIX
#include "runtime/pmix/pmix_client.h"
#endif

namespace {

using acp::Result;
using acp::Status;
using acp::SteadyClock;
using acp::runtime::FenceValues;
using acp::runtime::ProcessManager;
using acp::runtime::WaitLimit;

constexpr int kRounds = 20;

Result<std::unique_ptr<ProcessManager>> connect(std::string_view interface,
                                                const WaitLimit& limit) {
  if (interface == "pmi1") return acp::runtime::connect_by_pmi1(limit);
  if (interface == "pmi2") return acp::runtime::connect_by_pmi2(limit);
#ifdef HAS_PMIX
  if (interface == "pmix") return acp::runtime::connect_by_pmix(limit);
#endif
  return Status::kUnsupported;
}

std::string key_of(std::uint32_t rank) {
  return "value-" + std::to_string(rank);
}

/// A value that one message of the launcher can hold.
std::string value_of(std::uint32_t rank) {
  return std::string(900, static_cast<char>('a' + rank % 26)) +
         std::to_string(rank);
}

bool gets_all(ProcessManager& manager, const WaitLimit& limit) {
  for (int round = 0; round < kRounds; ++round) {
    for (std::uint32_t rank = 0; rank < manager.size(); ++rank) {
      const auto value = manager.get(rank, key_of(rank), limit);
      if (!value.ok() || *value != value_of(rank)) return false;
    }
  }
  return true;
}

/// Whether all ranks but rank 0 have made their files before the deadline.
bool wait_for_files(const std::filesystem::path& folder,
                    std::uint32_t ranks,
                    const WaitLimit& limit) {
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    while (!std::filesystem::exists(folder / std::to_string(rank))) {
      if (SteadyClock().now() > limit.deadline) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

/// The values come to other hosts on request: a rank that asks for one makes
/// the launcher's processes speak to each other beside the fence.
int run(ProcessManager& manager,
        const std::filesystem::path& folder,
        const WaitLimit& limit) {
  const std::uint32_t me = manager.rank();
  if (manager.put(key_of(me), value_of(me), limit) != Status::kOk ||
      manager.fence(FenceValues::kOnRequest, limit) != Status::kOk) {
    return 2;
  }
  Status met = Status::kOk;
  bool is_exact = true;
  if (me == 0) {
    if (!wait_for_files(folder, manager.size(), limit)) return 3;
    met = manager.fence(FenceValues::kToAllHosts, limit);
  } else {
    std::thread fence(
        [&] { met = manager.fence(FenceValues::kToAllHosts, limit); });
    is_exact = gets_all(manager, limit);
    std::ofstream(folder / std::to_string(me)) << me;
    fence.join();
  }
  if (met != Status::kOk || !is_exact) return 4;
  std::printf("all values came\n");
  manager.finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const WaitLimit limit{SteadyClock().now() + std::chrono::seconds(60), -1,
                        POLLIN};
  auto manager = connect(argv[1], limit);
  return manager.ok() ? run(**manager, argv[2], limit) : 1;
}
