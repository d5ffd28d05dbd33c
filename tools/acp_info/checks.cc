// The checks of acp_info --check, each with the command that mends a failure.
// Called by main.cc. They use sockets and memory and read /proc and /sys, and
// may not change the machine.
#include "checks.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "probes.h"
#include "settings/module.h"
#include "settings/networks.h"
#include "tags.h"

namespace acp::info {

namespace {

/// Bytes of receive buffer that a rank's udp socket asks the kernel for, so
/// that bursts of many peers fit.
constexpr std::int64_t kReceiveBufferBytes = 4 << 20;

Check check_memfd() {
  const Probe probe = probe_memfd();
  if (probe.works) {
    return {"memfd", CheckState::kOk, probe.detail, ""};
  }
  return {"memfd", CheckState::kWarning, probe.detail,
          "allow memfd_create in the container's seccomp profile; without it "
          "no job can start"};
}

Check check_cross_memory() {
  constexpr const char* kScope = "/proc/sys/kernel/yama/ptrace_scope";
  const Probe probe = probe_cross_memory();
  const std::int64_t scope = number_in_file(kScope);
  const std::string found =
      scope < 0 ? probe.detail
                : fmt::format("{} (ptrace_scope {})", probe.detail, scope);
  if (probe.works) return {"cma", CheckState::kOk, found, ""};
  return {"cma", CheckState::kWarning, found,
          scope > 0 ? "sudo sysctl -w kernel.yama.ptrace_scope=0"
                    : "start the container with --cap-add=SYS_PTRACE; until "
                      "then copies between registered memories are slower"};
}

Check check_receive_buffer() {
  const std::int64_t most = number_in_file("/proc/sys/net/core/rmem_max");
  const std::string found = most < 0
                                ? "net.core.rmem_max cannot be read"
                                : fmt::format("net.core.rmem_max = {}", most);
  if (most >= kReceiveBufferBytes) {
    return {"udp buffers", CheckState::kOk, found, ""};
  }
  return {
      "udp buffers", CheckState::kWarning, found,
      fmt::format("sudo sysctl -w net.core.rmem_max={}", kReceiveBufferBytes)};
}

Check check_udp() {
  const Probe probe = probe_udp("127.0.0.1");
  return {"udp", probe.works ? CheckState::kOk : CheckState::kWarning,
          probe.detail, probe.works ? "" : "sudo ip link set lo up"};
}

const char* module_folders() {
  const char* folders = std::getenv("ACP_MODULE_PATH");
  return folders == nullptr ? "" : folders;
}

/// Optional, because it matters only for udp between hosts. Where the processor
/// has no AES instructions there is nothing to mend.
Check check_tags() {
  const TagFact tags = tag_fact("auto", module_folders());
  if (tags.why.empty()) {
    return {"udp tags", CheckState::kOk, "by " + tags.library, ""};
  }
  const bool is_mendable =
      tags.why.find("no AES instructions") == std::string::npos;
  return {"udp tags", is_mendable ? CheckState::kOptional : CheckState::kOk,
          "by libsodium: " + tags.why,
          is_mendable
              ? "install the package, or build ACP where libipsec-mb-dev is "
                "installed; tags of large packets between hosts then take a "
                "fifth of the time"
              : ""};
}

/// Optional, because it matters only with an RDMA adapter.
Check check_ib() {
  const LoadedModule module =
      load_module(module_of_network("ib"), module_folders());
  if (module.table == nullptr) {
    return {"ib", CheckState::kOptional, module.why,
            "install the package, or build ACP where libibverbs-dev and "
            "librdmacm-dev are installed"};
  }
  const Probe probe = probe_ib();
  if (probe.works) {
    return {"ib", CheckState::kOk, probe.detail, ""};
  }
  return {"ib", CheckState::kOptional, probe.detail,
          "what is said of each port; modprobe ib_uverbs rdma_ucm; a container "
          "needs --device=/dev/infiniband; without an adapter: rdma link add "
          "rxe0 type rxe netdev eth0"};
}

/// Optional, because only RDMA adapters need locked memory.
Check check_locked_memory() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return {"memlock", CheckState::kOk, "unlimited", ""};
  }
  return {"memlock", CheckState::kOptional,
          fmt::format("{} bytes; enough without RDMA adapters", limit.rlim_cur),
          "ulimit -l unlimited, or 'memlock unlimited' in "
          "/etc/security/limits.conf"};
}

Check check_huge_pages() {
  constexpr const char* kPath =
      "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  std::ifstream file(kPath);
  std::string words;
  std::getline(file, words);
  const bool is_on = words.find("[advise]") != std::string::npos ||
                     words.find("[always]") != std::string::npos ||
                     words.find("[within_size]") != std::string::npos;
  if (is_on) {
    return {"huge pages", CheckState::kOk, "shared memory may use them", ""};
  }
  return {"huge pages", CheckState::kOptional,
          "not for shared memory; random access to large tables is slower",
          fmt::format("echo advise | sudo tee {}", kPath)};
}

}  // namespace

std::vector<Check> run_checks() {
  return {check_memfd(),          check_cross_memory(), check_udp(),
          check_receive_buffer(), check_tags(),         check_ib(),
          check_locked_memory(),  check_huge_pages()};
}

const char* state_name(CheckState state) {
  switch (state) {
    case CheckState::kOk: return "ok";
    case CheckState::kOptional: return "optional";
    case CheckState::kWarning: return "warning";
  }
  return "";
}

}  // namespace acp::info
