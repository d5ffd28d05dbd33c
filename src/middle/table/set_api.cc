// The functions of chapter 4.6, acp/set.h. Programs call them. Each makes one
// call and translates the result, and takes no lock.
#include "acp/set.h"
#include "middle/table/table_api.h"

namespace {

using acp::middle::structure::Kind;
using acp::middle::table::CopyMode;
using acp::middle::table::Extent;
using acp::middle::table::Outcome;
using Sets = acp::middle::table::
    TableApi<acp_set_t, acp_set_it_t, &acp_set_it_t::set, Kind::kSet>;

}  // namespace

extern "C" {

void acp_assign_local_set(acp_set_t set1, acp_set_t set2) {
  Sets::copy_elements("acp_assign_local_set", set1, set2, Extent::kLocal,
                      CopyMode::kAssign);
}

void acp_assign_set(acp_set_t set1, acp_set_t set2) {
  Sets::copy_elements("acp_assign_set", set1, set2, Extent::kAll,
                      CopyMode::kAssign);
}

acp_set_it_t acp_begin_local_set(acp_set_t set) {
  return Sets::first("acp_begin_local_set", set, Extent::kLocal);
}

acp_set_it_t acp_begin_set(acp_set_t set) {
  return Sets::first("acp_begin_set", set, Extent::kAll);
}

void acp_clear_local_set(acp_set_t set) {
  Sets::clear("acp_clear_local_set", set, Extent::kLocal);
}

void acp_clear_set(acp_set_t set) {
  Sets::clear("acp_clear_set", set, Extent::kAll);
}

acp_set_t acp_create_set(int num_ranks,
                         const int* ranks,
                         int num_slots,
                         int rank) {
  return Sets::create("acp_create_set", num_ranks, ranks, num_slots, rank);
}

void acp_destroy_set(acp_set_t set) {
  Sets::destroy("acp_destroy_set", set);
}

int acp_empty_local_set(acp_set_t set) {
  return Sets::size("acp_empty_local_set", set, Extent::kLocal) == 0 ? 1 : 0;
}

int acp_empty_set(acp_set_t set) {
  return Sets::size("acp_empty_set", set, Extent::kAll) == 0 ? 1 : 0;
}

acp_set_it_t acp_end_local_set(acp_set_t set) {
  return Sets::end(set, Extent::kLocal);
}

acp_set_it_t acp_end_set(acp_set_t set) {
  return Sets::end(set, Extent::kAll);
}

acp_set_it_t acp_find_set(acp_set_t set, acp_element_t key) {
  return Sets::find("acp_find_set", set, key);
}

int acp_insert_set(acp_set_t set, acp_element_t key) {
  return Sets::insert("acp_insert_set", set, key, {ACP_GA_NULL, 0}) ==
                 Outcome::kFailed
             ? 0
             : 1;
}

void acp_merge_local_set(acp_set_t set1, acp_set_t set2) {
  Sets::copy_elements("acp_merge_local_set", set1, set2, Extent::kLocal,
                      CopyMode::kMerge);
}

void acp_merge_set(acp_set_t set1, acp_set_t set2) {
  Sets::copy_elements("acp_merge_set", set1, set2, Extent::kAll,
                      CopyMode::kMerge);
}

void acp_move_local_set(acp_set_t set1, acp_set_t set2) {
  Sets::copy_elements("acp_move_local_set", set1, set2, Extent::kLocal,
                      CopyMode::kMove);
}

void acp_move_set(acp_set_t set1, acp_set_t set2) {
  Sets::copy_elements("acp_move_set", set1, set2, Extent::kAll,
                      CopyMode::kMove);
}

void acp_remove_set(acp_set_t set, acp_element_t key) {
  Sets::remove("acp_remove_set", set, key);
}

size_t acp_size_local_set(acp_set_t set) {
  return Sets::size("acp_size_local_set", set, Extent::kLocal);
}

size_t acp_size_set(acp_set_t set) {
  return Sets::size("acp_size_set", set, Extent::kAll);
}

void acp_swap_set(acp_set_t set1, acp_set_t set2) {
  Sets::swap("acp_swap_set", set1, set2);
}

acp_element_t acp_dereference_set_it(acp_set_it_t it) {
  return Sets::dereference("acp_dereference_set_it", it).first;
}

acp_set_it_t acp_increment_set_it(acp_set_it_t it) {
  return Sets::next("acp_increment_set_it", it);
}

}  // extern "C"
