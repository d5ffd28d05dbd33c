// Claims of processors by locks, and which processors form a core. Called by
// bind_ranks before the keeper is forked. It may not wait for a lock: a
// processor that another job has claimed is left out.
#include "launcher/core_claims.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace acp::launcher {

namespace {

/// A name that hardware threads of one core share.
std::string core_name(unsigned cpu) {
  std::ifstream file(fmt::format(
      "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  std::string text;
  std::getline(file, text);
  return text.empty() ? fmt::format("cpu {}", cpu) : text;
}

/// Locks a processor's folder, or returns nothing. A failure that is no lock of
/// another job is an obstacle. The first obstacle is kept.
UniqueFd lock(const std::string& folder, std::string& obstacle) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (obstacle.empty() && (!fd || errno != EWOULDBLOCK)) {
    obstacle = fmt::format("{}({}): {}", fd ? "flock" : "open", folder,
                           std::strerror(errno));
  }
  return {};
}

/// Locks all processors of a set, or returns nothing.
std::vector<UniqueFd> lock_all(const std::string& cpus,
                               const Processors& processors,
                               std::string& obstacle) {
  std::vector<UniqueFd> locks;
  for (const unsigned cpu : processors) {
    locks.push_back(lock(fmt::format("{}/cpu{}", cpus, cpu), obstacle));
    if (!locks.back()) return {};
  }
  return locks;
}

}  // namespace

std::vector<Processors> cores_of(const CpuMask& cpus) {
  std::vector<Processors> cores;
  std::map<std::string, std::size_t> indices;  // Into `cores`, by name.
  for (unsigned cpu = 0; cpu < CpuMask::kMaxCpus; ++cpu) {
    if (!cpus.has(cpu)) continue;
    const auto [entry, is_new] = indices.emplace(core_name(cpu), cores.size());
    if (is_new) cores.emplace_back();
    cores[entry->second].push_back(cpu);
  }
  return cores;
}

std::vector<Processors> hardware_threads_of(const CpuMask& cpus) {
  const std::vector<Processors> cores = cores_of(cpus);
  std::size_t most = 0;
  for (const Processors& core : cores)
    most = std::max(most, core.size());
  std::vector<Processors> threads;
  for (std::size_t i = 0; i < most; ++i) {
    for (const Processors& core : cores) {
      if (i < core.size()) threads.push_back({core[i]});
    }
  }
  return threads;
}

Taken CoreClaims::take(const std::vector<Processors>& sets, std::size_t count) {
  Taken taken;
  std::vector<UniqueFd> locks;
  for (auto set = sets.begin(); set != sets.end() && taken.sets.size() < count;
       ++set) {
    std::vector<UniqueFd> own = lock_all(cpus_, *set, taken.obstacle);
    if (own.empty()) continue;
    taken.sets.push_back(*set);
    std::move(own.begin(), own.end(), std::back_inserter(locks));
  }
  if (taken.sets.size() == count) {
    taken.obstacle.clear();
    std::move(locks.begin(), locks.end(), std::back_inserter(locks_));
  }
  return taken;
}

}  // namespace acp::launcher
