// The functions of chapter 4.5, acp/list.h. Programs call them. Each makes one
// call and translates the result, and takes no lock.
#include "acp/list.h"
#include "middle/list/list.h"

namespace list = acp::middle::list;

namespace {

list::Ends read(const char* function, acp_list_t handle) {
  list::Ends ends;
  list::read(function, handle.ga, ends);
  return ends;
}

}  // namespace

extern "C" {

void acp_assign_list(acp_list_t list1, acp_list_t list2) {
  if (list1.ga == list2.ga) {
    read("acp_assign_list", list1);
  } else {
    list::assign("acp_assign_list", list1.ga, list::Extent::kWhole,
                 {list2, ACP_GA_NULL}, {list2, ACP_GA_NULL});
  }
}

void acp_assign_range_list(acp_list_t list,
                           acp_list_it_t start,
                           acp_list_it_t end) {
  list::assign("acp_assign_range_list", list.ga, list::Extent::kRange, start,
               end);
}

acp_list_it_t acp_begin_list(acp_list_t list) {
  return list::first_of(list);
}

void acp_clear_list(acp_list_t list) {
  list::clear(list.ga);
}

acp_list_t acp_create_list(int rank) {
  return {list::create(rank)};
}

void acp_destroy_list(acp_list_t list) {
  list::destroy(list.ga);
}

int acp_empty_list(acp_list_t list) {
  return read("acp_empty_list", list).count == 0 ? 1 : 0;
}

acp_list_it_t acp_end_list(acp_list_t list) {
  return {list, ACP_GA_NULL};
}

acp_list_it_t acp_erase_list(acp_list_it_t it) {
  list::erase(it);
  return it;
}

acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end) {
  list::erase_range(start, end);
  return end;
}

acp_list_it_t acp_insert_list(acp_list_it_t it,
                              const acp_element_t elem,
                              int rank) {
  list::insert(it, elem, rank);
  return it;
}

acp_list_it_t acp_insert_range_list(acp_list_it_t it,
                                    acp_list_it_t start,
                                    acp_list_it_t end) {
  list::insert_range(it, start, end);
  return it;
}

void acp_merge_list(acp_list_t list1,
                    acp_list_t list2,
                    int (*comp)(const acp_element_t elem1,
                                const acp_element_t elem2)) {
  list::merge(list1.ga, list2.ga, comp);
}

void acp_pop_back_list(acp_list_t list) {
  list::pop("acp_pop_back_list", list.ga, list::End::kBack);
}

void acp_pop_front_list(acp_list_t list) {
  list::pop("acp_pop_front_list", list.ga, list::End::kFront);
}

void acp_push_back_list(acp_list_t list, const acp_element_t elem, int rank) {
  list::push("acp_push_back_list", list.ga, list::End::kBack, elem, rank);
}

void acp_push_front_list(acp_list_t list, const acp_element_t elem, int rank) {
  list::push("acp_push_front_list", list.ga, list::End::kFront, elem, rank);
}

void acp_remove_list(acp_list_t list, const acp_element_t elem) {
  list::remove(list.ga, elem);
}

void acp_reverse_list(acp_list_t list) {
  list::reverse(list.ga);
}

size_t acp_size_list(acp_list_t list) {
  return read("acp_size_list", list).count;
}

void acp_sort_list(acp_list_t list,
                   int (*comp)(const acp_element_t elem1,
                               const acp_element_t elem2)) {
  list::sort(list.ga, comp);
}

void acp_splice_list(acp_list_it_t it1, acp_list_it_t it2) {
  list::splice(it1, it2);
}

void acp_splice_range_list(acp_list_it_t it,
                           acp_list_it_t start,
                           acp_list_it_t end) {
  list::splice_range(it, start, end);
}

void acp_swap_list(acp_list_t list1, acp_list_t list2) {
  list::swap(list1.ga, list2.ga);
}

void acp_unique_list(acp_list_t list) {
  list::unique(list.ga);
}

acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n) {
  return list::advance(it, n);
}

acp_list_it_t acp_decrement_list_it(acp_list_it_t it) {
  return list::previous_of("acp_decrement_list_it", it);
}

acp_element_t acp_dereference_list_it(acp_list_it_t it) {
  return list::element_at(it);
}

int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last) {
  return list::distance(first, last);
}

acp_list_it_t acp_increment_list_it(acp_list_it_t it) {
  return list::next_of("acp_increment_list_it", it);
}

}  // extern "C"
