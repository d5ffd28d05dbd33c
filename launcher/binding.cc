#include "launcher/binding.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <memory>

namespace acp::launcher {

namespace {

using Topology =
    std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

/// Only what binding needs; null when there is nothing to be had.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return {nullptr, hwloc_topology_destroy};
  }
  Topology topology(raw, hwloc_topology_destroy);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE,
                                 HWLOC_TYPE_FILTER_KEEP_ALL);
  // By default the topology holds only what this process may use ...
  if (hwloc_topology_load(raw) != 0) {
    topology.reset();
  }
  return topology;
}

/// ... by its cgroup; the affinity mask has to be looked at besides.
hwloc_bitmap_t allowed_cpus(hwloc_topology_t topology) {
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology));
  }
  return allowed;
}

CpuSet describe(const char* what, unsigned index, hwloc_const_bitmap_t cpus) {
  CpuSet set;
  const int words = hwloc_bitmap_nr_ulongs(cpus);
  set.mask.resize(static_cast<std::size_t>(words > 0 ? words : 0));
  hwloc_bitmap_to_ulongs(cpus, static_cast<unsigned>(set.mask.size()),
                         set.mask.data());
  char* list = nullptr;
  if (hwloc_bitmap_list_asprintf(&list, cpus) >= 0) {
    set.name = fmt::format("{} {} (cpus {})", what, index, list);
    std::free(list);  // NOLINT: hwloc allocates with malloc
  }
  return set;
}

/// Every object of this type that has processors we may use.
std::vector<CpuSet> usable_sets(hwloc_topology_t topology,
                                hwloc_obj_type_t type,
                                const char* what) {
  std::vector<CpuSet> sets;
  hwloc_bitmap_t allowed = allowed_cpus(topology);
  hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  for (int i = 0; i < count; ++i) {
    const hwloc_obj* object =
        hwloc_get_obj_by_type(topology, type, static_cast<unsigned>(i));
    hwloc_bitmap_and(cpus, object->cpuset, allowed);
    if (!hwloc_bitmap_iszero(cpus)) {
      sets.push_back(describe(what, object->logical_index, cpus));
    }
  }
  hwloc_bitmap_free(cpus);
  hwloc_bitmap_free(allowed);
  return sets;
}

}  // namespace

std::vector<CpuSet> bind_ranks(Binding binding, std::uint32_t ranks) {
  std::vector<CpuSet> unbound(ranks);
  if (binding == Binding::kNone) {
    return unbound;
  }
  const Topology topology = load_topology();
  if (!topology) {
    return unbound;
  }
  const auto cores = usable_sets(topology.get(), HWLOC_OBJ_CORE, "core");
  if (cores.size() < ranks) {
    return unbound;
  }
  const std::vector<CpuSet> sets =
      binding == Binding::kCore ? cores
      : binding == Binding::kNuma
          ? usable_sets(topology.get(), HWLOC_OBJ_NUMANODE, "numa node")
          : usable_sets(topology.get(), HWLOC_OBJ_PU, "hwthread");
  if (sets.empty()) {
    return unbound;
  }
  std::vector<CpuSet> bound;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    // Neighbours in rank share a NUMA node; else one set for each.
    const std::size_t index = binding == Binding::kNuma
                                  ? std::size_t{rank} * sets.size() / ranks
                                  : rank;
    bound.push_back(sets[index]);
  }
  return bound;
}

}  // namespace acp::launcher
