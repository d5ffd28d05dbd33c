// Chooses processors for ranks and claims them. Called by prepare_host, once on
// each host. It binds nothing: the ranks bind themselves in spawn.cc.
#include "launcher/binding.h"

#include <fmt/core.h>
#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/join_texts.h"

namespace acp::launcher {

namespace {

using Topology =
    std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

CpuSet set_of(const char* what, const Processors& processors) {
  CpuSet set;
  std::vector<std::string> numbers;
  for (const unsigned cpu : processors) {
    set.mask.set(cpu);
    numbers.push_back(std::to_string(cpu));
  }
  set.name = fmt::format("{} (cpus {})", what, join_texts(numbers, ","));
  return set;
}

/// Asks hwloc, which takes some 20 ms. Returns null when hwloc fails.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return {nullptr, hwloc_topology_destroy};
  }
  Topology topology(raw, hwloc_topology_destroy);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(raw) != 0) {
    topology.reset();
  }
  return topology;
}

/// Lists the NUMA nodes with processors that acprun may use.
std::vector<CpuSet> numa_nodes(const CpuMask& allowed) {
  std::vector<CpuSet> sets;
  const Topology topology = load_topology();
  if (!topology) return sets;
  const int count =
      hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj* node = hwloc_get_obj_by_type(
        topology.get(), HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
    Processors processors;
    for (unsigned cpu = 0; cpu < CpuMask::kMaxCpus; ++cpu) {
      if (allowed.has(cpu) && hwloc_bitmap_isset(node->cpuset, cpu) != 0) {
        processors.push_back(cpu);
      }
    }
    if (!processors.empty()) {
      const auto name = fmt::format("numa node {}", node->logical_index);
      sets.push_back(set_of(name.c_str(), processors));
    }
  }
  return sets;
}

/// Binds to NUMA nodes; ranks with neighbouring numbers share a node.
void bind_to_nodes(const CpuMask& allowed,
                   std::uint32_t ranks,
                   Bindings& bindings) {
  const std::vector<CpuSet> nodes = numa_nodes(allowed);
  const std::size_t cores = cores_of(allowed).size();
  if (nodes.empty() || cores < ranks) {
    bindings.why_unbound = fmt::format("{} ranks, {} cores", ranks, cores);
    return;
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    bindings.ranks[rank] = nodes[std::size_t{rank} * nodes.size() / ranks];
  }
}

/// Binds each rank to a set of its own. Returns false, and binds nothing, when
/// there are not enough free ones.
bool bind_to_own(const char* what,
                 const std::vector<Processors>& sets,
                 Bindings& bindings) {
  const std::size_t ranks = bindings.ranks.size();
  if (sets.size() < ranks) {
    bindings.why_unbound =
        fmt::format("{} ranks, {} {}s", ranks, sets.size(), what);
    return false;
  }
  const Taken taken = bindings.claims.take(sets, ranks);
  if (taken.sets.size() < ranks) {
    bindings.why_unbound =
        taken.obstacle.empty()
            ? fmt::format("{} ranks; other jobs leave {} of {} {}s", ranks,
                          taken.sets.size(), sets.size(), what)
            : fmt::format(
                  "{} ranks; {}s cannot be claimed: {}; mount sysfs on "
                  "/sys",
                  ranks, what, taken.obstacle);
    return false;
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    bindings.ranks[rank] = set_of(what, taken.sets[rank]);
  }
  bindings.why_unbound.clear();
  return true;
}

/// Binds as kAuto does. Each branch is a case in which bound ranks would be
/// slower than unbound ones, or gain nothing.
void bind_unless_harmful(const CpuMask& allowed,
                         std::span<const std::string> environment,
                         Bindings& bindings) {
  const std::size_t ranks = bindings.ranks.size();
  if (ranks == 1) {
    bindings.why_unbound = "a rank alone shares its core with no other";
  } else if (const std::string threads = asks_for_threads(environment);
             !threads.empty()) {
    bindings.why_unbound = fmt::format("{}: several threads a rank", threads);
  } else if (ranks > allowed_cores()) {
    bindings.why_unbound =
        fmt::format("{} ranks, {} cores", ranks, allowed_cores());
  } else if (!bind_to_own("core", cores_of(allowed), bindings)) {
    bind_to_own("hwthread", hardware_threads_of(allowed), bindings);
  }
}

/// Returns whether a number of a list like "4" or "1,4" is above 1.
bool has_several(std::string_view list) {
  while (!list.empty()) {
    unsigned number = 0;
    const auto [rest, failure] =
        std::from_chars(list.data(), list.data() + list.size(), number);
    if (failure == std::errc{} && number > 1) return true;
    list.remove_prefix(std::min(list.find(','), list.size() - 1) + 1);
  }
  return false;
}

}  // namespace

std::string asks_for_threads(std::span<const std::string> environment) {
  for (const std::string& entry : environment) {
    const std::string_view text = entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos &&
        text.substr(0, equals).ends_with("_NUM_THREADS") &&
        has_several(text.substr(equals + 1))) {
      return entry;
    }
  }
  return "";
}

/// The claims are a part of the result: they last as long as the job.
Bindings bind_ranks(Binding binding,
                    std::uint32_t ranks,
                    std::span<const std::string> environment) {
  Bindings bindings;
  bindings.ranks.resize(ranks);
  const CpuMask allowed = allowed_cpus();
  switch (binding) {
    case Binding::kNone: break;
    case Binding::kAuto:
      bind_unless_harmful(allowed, environment, bindings);
      break;
    case Binding::kCore:
      bind_to_own("core", cores_of(allowed), bindings);
      break;
    case Binding::kHwThread:
      bind_to_own("hwthread", hardware_threads_of(allowed), bindings);
      break;
    case Binding::kNuma: bind_to_nodes(allowed, ranks, bindings); break;
  }
  return bindings;
}

}  // namespace acp::launcher
