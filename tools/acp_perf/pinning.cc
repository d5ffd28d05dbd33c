// Binds ranks 0 and 1 to cores of their own; the main functions of acp_perf and
// qmp_perf call it before their rows run. A single core, or a refusal of the
// kernel, is no error.
#include "pinning.h"

#include <fmt/core.h>
#include <sched.h>

#include <fstream>
#include <vector>

namespace acp::perf {

namespace {

/// The kernel's list of the hardware threads that share a core with
/// `processor`. Hardware threads of one core have equal lists.
std::string core_of(int processor) {
  std::ifstream file(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list",
                  processor));
  std::string text;
  std::getline(file, text);
  return text.empty() ? std::to_string(processor) : text;
}

/// One processor of each of the first two allowed cores; a shorter list when
/// fewer cores are allowed.
std::vector<int> two_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> chosen;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return chosen;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(static_cast<std::size_t>(processor), &allowed)) continue;
    if (chosen.empty() || core_of(chosen[0]) != core_of(processor)) {
      chosen.push_back(processor);
    }
    if (chosen.size() == 2) break;
  }
  return chosen;
}

}  // namespace

std::string pin_rank(int rank) {
  const std::vector<int> cores = two_cores();
  // acprun has bound the ranks already, or there is no second core.
  if (cores.size() == 1) return fmt::format("rank {} to {}", rank, cores[0]);
  if (cores.empty()) return "no";
  if (rank < 2) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cores[static_cast<std::size_t>(rank)]),
            &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) return "no";
  }
  return fmt::format("{} and {}", cores[0], cores[1]);
}

}  // namespace acp::perf
