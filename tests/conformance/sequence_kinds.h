// The functions of vectors and of deques, by names that both share: the `S` of
// sequence_cases.h.
#pragma once

#include "acp.h"
#include "acp/extension.h"

namespace sequence {

// These constants are called as functions, and have names of functions.
// NOLINTBEGIN(readability-identifier-naming)

struct Vector {
  using Handle = acp_vector_t;
  using It = acp_vector_it_t;
  static constexpr bool kHasFront = false;
  static constexpr bool kHasSize = true;

  static constexpr auto create = acp_create_vector;
  static constexpr auto assign = acp_assign_vector;
  static constexpr auto assign_range = acp_assign_range_vector;
  static constexpr auto at = acp_at_vector;
  static constexpr auto begin = acp_begin_vector;
  static constexpr auto capacity = acp_capacity_vector;
  static constexpr auto clear = acp_clear_vector;
  static constexpr auto destroy = acp_destroy_vector;
  static constexpr auto empty = acp_empty_vector;
  static constexpr auto end = acp_end_vector;
  static constexpr auto erase = acp_erase_vector;
  static constexpr auto erase_range = acp_erase_range_vector;
  static constexpr auto insert = acp_insert_vector;
  static constexpr auto insert_range = acp_insert_range_vector;
  static constexpr auto pop_back = acp_pop_back_vector;
  static constexpr auto push_back = acp_push_back_vector;
  static constexpr auto reserve = acp_reserve_vector;
  static constexpr auto size = acp_size_vector;
  static constexpr auto swap = acp_swap_vector;
  static constexpr auto advance = acp_advance_vector_it;
  static constexpr auto dereference = acp_dereference_vector_it;
  static constexpr auto distance = acp_distance_vector_it;
};

struct Deque {
  using Handle = acp_deque_t;
  using It = acp_deque_it_t;
  static constexpr bool kHasFront = true;
  static constexpr bool kHasSize = false;

  static constexpr auto create = acp_create_deque;
  static constexpr auto assign = acp_assign_deque;
  static constexpr auto assign_range = acp_assign_range_deque;
  static constexpr auto at = acp_at_deque;
  static constexpr auto begin = acp_begin_deque;
  static constexpr auto capacity = acp_capacity_deque;
  static constexpr auto clear = acp_clear_deque;
  static constexpr auto destroy = acp_destroy_deque;
  static constexpr auto empty = acp_empty_deque;
  static constexpr auto end = acp_end_deque;
  static constexpr auto erase = acp_erase_deque;
  static constexpr auto erase_range = acp_erase_range_deque;
  static constexpr auto insert = acp_insert_deque;
  static constexpr auto insert_range = acp_insert_range_deque;
  static constexpr auto pop_back = acp_pop_back_deque;
  static constexpr auto push_back = acp_push_back_deque;
  static constexpr auto reserve = acp_reserve_deque;
  static constexpr auto size = acp_size_deque;
  static constexpr auto swap = acp_swap_deque;
  static constexpr auto advance = acp_advance_deque_it;
  static constexpr acp_ga_t (*dereference)(It) = acp_dereference_deque_it;
  static constexpr auto distance = acp_distance_deque_it;
  static constexpr auto push_front = acp_push_front_deque;
  static constexpr auto pop_front = acp_pop_front_deque;
  static constexpr auto take_front = acpx_take_front_deque;
  static constexpr auto take_back = acpx_take_back_deque;
};

// NOLINTEND(readability-identifier-naming)

}  // namespace sequence
