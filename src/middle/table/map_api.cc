// The functions of chapter 4.7, acp/map.h, and the extensions for maps.
// Programs call them. Each makes one call and translates the result, and takes
// no lock.
#include "acp/extension.h"
#include "acp/map.h"
#include "middle/table/several.h"
#include "middle/table/table_api.h"

namespace {

using acp::middle::structure::Kind;
using acp::middle::table::CopyMode;
using acp::middle::table::Extent;
using acp::middle::table::Outcome;
using Maps = acp::middle::table::
    TableApi<acp_map_t, acp_map_it_t, &acp_map_it_t::map, Kind::kMap>;

}  // namespace

extern "C" {

void acp_assign_local_map(acp_map_t map1, acp_map_t map2) {
  Maps::copy_elements("acp_assign_local_map", map1, map2, Extent::kLocal,
                      CopyMode::kAssign);
}

void acp_assign_map(acp_map_t map1, acp_map_t map2) {
  Maps::copy_elements("acp_assign_map", map1, map2, Extent::kAll,
                      CopyMode::kAssign);
}

acp_map_it_t acp_begin_local_map(acp_map_t map) {
  return Maps::first("acp_begin_local_map", map, Extent::kLocal);
}

acp_map_it_t acp_begin_map(acp_map_t map) {
  return Maps::first("acp_begin_map", map, Extent::kAll);
}

void acp_clear_local_map(acp_map_t map) {
  Maps::clear("acp_clear_local_map", map, Extent::kLocal);
}

void acp_clear_map(acp_map_t map) {
  Maps::clear("acp_clear_map", map, Extent::kAll);
}

acp_map_t acp_create_map(int num_ranks,
                         const int* ranks,
                         int num_slots,
                         int rank) {
  return Maps::create("acp_create_map", num_ranks, ranks, num_slots, rank);
}

void acp_destroy_map(acp_map_t map) {
  Maps::destroy("acp_destroy_map", map);
}

int acp_empty_local_map(acp_map_t map) {
  return Maps::size("acp_empty_local_map", map, Extent::kLocal) == 0 ? 1 : 0;
}

int acp_empty_map(acp_map_t map) {
  return Maps::size("acp_empty_map", map, Extent::kAll) == 0 ? 1 : 0;
}

acp_map_it_t acp_end_local_map(acp_map_t map) {
  return Maps::end(map, Extent::kLocal);
}

acp_map_it_t acp_end_map(acp_map_t map) {
  return Maps::end(map, Extent::kAll);
}

acp_map_it_t acp_find_map(acp_map_t map, const acp_element_t key) {
  return Maps::find("acp_find_map", map, key);
}

int acp_insert_map(acp_map_t map, acp_pair_t pair) {
  return Maps::insert("acp_insert_map", map, pair.first, pair.second) ==
                 Outcome::kInserted
             ? 1
             : 0;
}

void acp_merge_local_map(acp_map_t map1, acp_map_t map2) {
  Maps::copy_elements("acp_merge_local_map", map1, map2, Extent::kLocal,
                      CopyMode::kMerge);
}

void acp_merge_map(acp_map_t map1, acp_map_t map2) {
  Maps::copy_elements("acp_merge_map", map1, map2, Extent::kAll,
                      CopyMode::kMerge);
}

void acp_move_local_map(acp_map_t map1, acp_map_t map2) {
  Maps::copy_elements("acp_move_local_map", map1, map2, Extent::kLocal,
                      CopyMode::kMove);
}

void acp_move_map(acp_map_t map1, acp_map_t map2) {
  Maps::copy_elements("acp_move_map", map1, map2, Extent::kAll,
                      CopyMode::kMove);
}

void acp_remove_map(acp_map_t map, acp_element_t key) {
  Maps::remove("acp_remove_map", map, key);
}

size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair) {
  Maps::Call call;
  std::size_t bytes = 0;
  return Maps::begin(call, "acp_retrieve_map", map) &&
                 acp::middle::table::retrieve(call, pair, bytes)
             ? bytes
             : 0;
}

size_t acp_size_local_map(acp_map_t map) {
  return Maps::size("acp_size_local_map", map, Extent::kLocal);
}

size_t acp_size_map(acp_map_t map) {
  return Maps::size("acp_size_map", map, Extent::kAll);
}

void acp_swap_map(acp_map_t map1, acp_map_t map2) {
  Maps::swap("acp_swap_map", map1, map2);
}

acp_pair_t acp_dereference_map_it(acp_map_it_t it) {
  return Maps::dereference("acp_dereference_map_it", it);
}

acp_map_it_t acp_increment_map_it(acp_map_it_t it) {
  return Maps::next("acp_increment_map_it", it);
}

int acpx_insert_map_n(acp_map_t map,
                      const acp_pair_t* pairs,
                      size_t n,
                      int* results) {
  Maps::Call call;
  return Maps::begin(call, "acpx_insert_map_n", map)
             ? acp::middle::table::insert_all(call, pairs, n, results)
             : -1;
}

int acpx_find_map_n(acp_map_t map,
                    const acp_element_t* keys,
                    size_t n,
                    acp_pair_t* pairs) {
  Maps::Call call;
  return Maps::begin(call, "acpx_find_map_n", map)
             ? acp::middle::table::find_all(call, keys, n, pairs)
             : -1;
}

int acpx_upsert_add8_map(acp_map_t map,
                         acp_element_t key,
                         uint64_t add,
                         uint64_t* old) {
  Maps::Call call;
  return Maps::begin(call, "acpx_upsert_add8_map", map)
             ? acp::middle::table::upsert(call, key, add, old)
             : -1;
}

}  // extern "C"
