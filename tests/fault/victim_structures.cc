// The operations on data structures that victim.cc runs until its job ends.
// Calls may fail here: when the job ends, they have to.
#include "fault/victim_structures.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "acp.h"
#include "acp/extension.h"

namespace {

/// Offsets in starter memory: the handles of all structures, a value to put in,
/// and a result.
constexpr std::size_t kHandles = 1024;
constexpr std::size_t kValue = 2048;
constexpr std::size_t kResult = 4096;

struct Handles {
  acp_vector_t vector;
  acp_deque_t deque;
  acp_list_t list;
  acp_set_t set;
  acp_map_t map;
  acp_ga_t bucket;  ///< Lock word of the map's first and only bucket.
};

Handles g_all;
acp_wsd_t g_workspace;
const std::function<void()>* g_die;  ///< Called by the comparator, unless null.

std::byte* starter(std::size_t at) {
  return static_cast<std::byte*>(
             acp_query_address(acp_query_starter_ga(acp_rank()))) +
         at;
}

acp_ga_t starter_ga(std::size_t at) {
  return acp_query_starter_ga(acp_rank()) + at;
}

acp_element_t put(std::uint64_t word, std::size_t bytes = 8) {
  std::memcpy(starter(kValue), &word, 8);
  return {starter_ga(kValue), bytes};
}

bool has_ended() {
  return acp_errno == ACPX_PEER_DEAD || acp_errno == ACPX_ABORTED;
}

/// The sync word of a handle (docs/containers.md).
acp_ga_t sync_word(acp_ga_t handle) {
  return (handle & ~acp_ga_t{63}) + 80 + (handle & 63) * 8;
}

int compare(const acp_element_t a, const acp_element_t b) {
  if (g_die != nullptr) {
    (*g_die)();
  }
  return a.size < b.size ? -1 : a.size > b.size ? 1 : 0;
}

void use_vector(std::uint64_t i) {
  const acp_vector_t vector = g_all.vector;
  acp_push_back_vector(vector, put(i).ga, 8 * (1 + i % 20));
  if (i % 5 == 0) acp_insert_vector(acp_begin_vector(vector), put(i).ga, 16);
  if (i % 7 == 0) acp_pop_back_vector(vector, 100);
  if (i % 50 == 0) acp_reserve_vector(vector, 64 * i);
  if (i % 100 == 0) acp_clear_vector(vector);
}

void use_deque(std::uint64_t i) {
  acp_push_back_deque(g_all.deque, put(i).ga, 8 * (1 + i % 20));
  acp_push_front_deque(g_all.deque, put(i).ga, 8);
  acpx_take_front_deque(g_all.deque, starter_ga(kResult), 8);
  if (i % 5 == 0) acp_pop_back_deque(g_all.deque, 300);
  if (i % 9 == 0) acp_erase_deque(acp_begin_deque(g_all.deque), 16);
}

void use_list(std::uint64_t i) {
  const int rank = static_cast<int>(i) % acp_procs();
  acp_push_back_list(g_all.list, put(i), rank);
  acp_erase_list(acp_insert_list(acp_end_list(g_all.list), put(i, 100), rank));
  if (i % 3 == 0) acp_pop_front_list(g_all.list);
  if (i % 10 == 0) acp_sort_list(g_all.list, compare);
  if (acp_size_list(g_all.list) > 50) acp_clear_list(g_all.list);
}

void use_set(std::uint64_t i) {
  acp_insert_set(g_all.set, put(i % 100, 8 * (1 + i % 9)));
  acp_find_set(g_all.set, put(i % 77));
  acp_remove_set(g_all.set, put(i % 50));
  if (i % 100 == 0) acp_clear_set(g_all.set);
}

void use_map(std::uint64_t i) {
  acpx_upsert_add8_map(g_all.map, put(i % 20), 1, nullptr);
  acp_insert_map(g_all.map, {put(100 + i % 100), {starter_ga(0), i % 200}});
  acp_retrieve_map(g_all.map, {put(i % 20), {starter_ga(kResult), 8}});
  acp_remove_map(g_all.map, put(100 + i % 90));
  if (i % 100 == 0) acp_clear_map(g_all.map);
}

void use_workspace(std::uint64_t i) {
  acp_write_ws(g_workspace, starter_ga(0), 1 + i % 4000, i % 1000);
  acp_read_ws(g_workspace, starter_ga(kResult), 1 + i % 4000, i % 2000);
}

/// Runs one operation on the structure that the name of the moment contains.
void use(std::string_view moment, std::uint64_t i) {
  const auto is_of = [&](std::string_view name) {
    return moment.find(name) != std::string_view::npos;
  };
  if (is_of("vector")) {
    use_vector(i);
  } else if (is_of("deque")) {
    use_deque(i);
  } else if (is_of("list")) {
    use_list(i);
  } else if (is_of("set")) {
    use_set(i);
  } else if (is_of("map")) {
    use_map(i);
  } else {
    use_workspace(i);
  }
}

}  // namespace

bool is_structure_moment(std::string_view moment) {
  constexpr std::array<std::string_view, 10> kAll = {
      "in_vector",     "in_deque",     "in_list",         "in_set",
      "in_map",        "in_workspace", "vector_reserved", "deque_locked",
      "list_compared", "map_locked"};
  for (const std::string_view one : kAll) {
    if (one == moment) return true;
  }
  return false;
}

void make_structures() {
  g_workspace = acp_create_ws(10'000);
  if (acp_rank() == 0) {
    std::vector<int> ranks;
    for (int rank = 0; rank < acp_procs(); ++rank) {
      ranks.push_back(rank);
    }
    // The structures are on rank 0, which does not die.
    g_all = {acp_create_vector(0, 0),
             acp_create_deque(0, 0),
             acp_create_list(0),
             acp_create_set(acp_procs(), ranks.data(), 10, 0),
             acp_create_map(1, ranks.data(), 1, 0),
             ACP_GA_NULL};
    for (std::uint64_t i = 0; i < 5; ++i) {
      acp_push_back_list(g_all.list, put(i), 0);
    }
    // An iterator names an entry, which is in the first 64 bytes of its bucket.
    acp_insert_map(g_all.map, {put(7), put(7)});
    g_all.bucket = acp_find_map(g_all.map, put(7)).elem & ~acp_ga_t{63};
    std::memcpy(starter(kHandles), &g_all, sizeof g_all);
  }
  acp_sync();
  acp_complete(acp_copy(starter_ga(kHandles),
                        acp_query_starter_ga(0) + kHandles, sizeof g_all,
                        ACP_HANDLE_NULL));
  std::memcpy(&g_all, starter(kHandles), sizeof g_all);
  acp_sync();
  acp_errno = 0;
}

void use_structures(std::string_view moment,
                    const std::function<void()>& on_step) {
  for (std::uint64_t i = 1; !has_ended(); ++i) {
    acp_errno = 0;
    use(moment, i);
    on_step();
  }
}

void die_with_structure(std::string_view moment,
                        const std::function<void()>& die) {
  const acp_ga_t result = starter_ga(kResult);
  const auto me = static_cast<std::uint64_t>(acp_rank()) + 1;
  if (moment == "vector_reserved") {
    acp_complete(
        acp_add8(result, sync_word(g_all.vector.ga), 8, ACP_HANDLE_NULL));
  } else if (moment == "deque_locked") {
    acp_complete(
        acp_cas8(result, sync_word(g_all.deque.ga), 0, me, ACP_HANDLE_NULL));
  } else if (moment == "map_locked") {
    acp_complete(acp_add8(result, g_all.bucket, me, ACP_HANDLE_NULL));
  } else {
    g_die = &die;
    acp_sort_list(g_all.list, compare);
  }
  die();
}
