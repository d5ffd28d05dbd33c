!> The procedures of data structures by the name of the operation alone, as the
!> macros of acp/generic.h. Part of module acp. The type of the first argument
!> says which structure it is, so the word that C needs there is left out:
!>
!>   call acp_push_back(v, ga, size)  is  call acp_push_back_vector(v, ga, size)
!>
!> acp_create has no argument that tells the structures apart: programs call
!> acp_create_vector and its relatives.
module acp_generic
  use acp_deque
  use acp_list
  use acp_map
  use acp_set
  use acp_vector
  use acp_workspace
  implicit none

  interface acp_assign
    procedure :: acp_assign_vector, acp_assign_deque, acp_assign_list, &
        acp_assign_set, acp_assign_map
  end interface
  interface acp_assign_local
    procedure :: acp_assign_local_set, acp_assign_local_map
  end interface
  interface acp_assign_range
    procedure :: acp_assign_range_vector, acp_assign_range_deque, &
        acp_assign_range_list
  end interface
  interface acp_at
    procedure :: acp_at_vector, acp_at_deque
  end interface
  interface acp_back
    procedure :: acp_back_deque
  end interface
  interface acp_begin
    procedure :: acp_begin_vector, acp_begin_deque, acp_begin_list, &
        acp_begin_set, acp_begin_map
  end interface
  interface acp_begin_local
    procedure :: acp_begin_local_set, acp_begin_local_map
  end interface
  interface acp_capacity
    procedure :: acp_capacity_vector, acp_capacity_deque
  end interface
  interface acp_clear
    procedure :: acp_clear_vector, acp_clear_deque, acp_clear_list, &
        acp_clear_set, acp_clear_map
  end interface
  interface acp_clear_local
    procedure :: acp_clear_local_set, acp_clear_local_map
  end interface
  interface acp_destroy
    procedure :: acp_destroy_vector, acp_destroy_deque, acp_destroy_list, &
        acp_destroy_set, acp_destroy_map, acp_destroy_ws
  end interface
  interface acp_empty
    procedure :: acp_empty_vector, acp_empty_deque, acp_empty_list, &
        acp_empty_set, acp_empty_map
  end interface
  interface acp_empty_local
    procedure :: acp_empty_local_set, acp_empty_local_map
  end interface
  interface acp_end
    procedure :: acp_end_vector, acp_end_deque, acp_end_list, acp_end_set, &
        acp_end_map
  end interface
  interface acp_end_local
    procedure :: acp_end_local_set, acp_end_local_map
  end interface
  interface acp_erase
    procedure :: acp_erase_vector, acp_erase_deque, acp_erase_list
  end interface
  interface acp_erase_range
    procedure :: acp_erase_range_vector, acp_erase_range_deque, &
        acp_erase_range_list
  end interface
  interface acp_find
    procedure :: acp_find_set, acp_find_map
  end interface
  interface acp_front
    procedure :: acp_front_deque
  end interface
  interface acp_insert
    procedure :: acp_insert_vector, acp_insert_deque, acp_insert_list, &
        acp_insert_set, acp_insert_map
  end interface
  interface acp_insert_range
    procedure :: acp_insert_range_vector, acp_insert_range_deque, &
        acp_insert_range_list
  end interface
  interface acp_merge
    procedure :: acp_merge_list, acp_merge_set, acp_merge_map
  end interface
  interface acp_merge_local
    procedure :: acp_merge_local_set, acp_merge_local_map
  end interface
  interface acp_move
    procedure :: acp_move_set, acp_move_map
  end interface
  interface acp_move_local
    procedure :: acp_move_local_set, acp_move_local_map
  end interface
  interface acp_pop_back
    procedure :: acp_pop_back_vector, acp_pop_back_deque, acp_pop_back_list
  end interface
  interface acp_pop_front
    procedure :: acp_pop_front_deque, acp_pop_front_list
  end interface
  interface acp_push_back
    procedure :: acp_push_back_vector, acp_push_back_deque, &
        acp_push_back_list
  end interface
  interface acp_push_front
    procedure :: acp_push_front_deque, acp_push_front_list
  end interface
  interface acp_remove
    procedure :: acp_remove_list, acp_remove_set, acp_remove_map
  end interface
  interface acp_reserve
    procedure :: acp_reserve_vector, acp_reserve_deque
  end interface
  interface acp_retrieve
    procedure :: acp_retrieve_map
  end interface
  interface acp_reverse
    procedure :: acp_reverse_list
  end interface
  interface acp_size
    procedure :: acp_size_vector, acp_size_deque, acp_size_list, &
        acp_size_set, acp_size_map
  end interface
  interface acp_size_local
    procedure :: acp_size_local_set, acp_size_local_map
  end interface
  interface acp_sort
    procedure :: acp_sort_list
  end interface
  interface acp_splice
    procedure :: acp_splice_list
  end interface
  interface acp_splice_range
    procedure :: acp_splice_range_list
  end interface
  interface acp_swap
    procedure :: acp_swap_vector, acp_swap_deque, acp_swap_list, &
        acp_swap_set, acp_swap_map
  end interface
  interface acp_unique
    procedure :: acp_unique_list
  end interface
  interface acp_advance
    procedure :: acp_advance_vector_it, acp_advance_deque_it, &
        acp_advance_list_it
  end interface
  interface acp_advance_it
    procedure :: acp_advance_vector_it, acp_advance_deque_it, &
        acp_advance_list_it
  end interface
  interface acp_decrement
    procedure :: acp_decrement_list_it
  end interface
  interface acp_decrement_it
    procedure :: acp_decrement_list_it
  end interface
  interface acp_dereference
    procedure :: acp_dereference_vector_it, acp_dereference_deque_it, &
        acpx_dereference_deque_it, acp_dereference_list_it, &
        acp_dereference_set_it, acp_dereference_map_it
  end interface
  interface acp_dereference_it
    procedure :: acp_dereference_vector_it, acp_dereference_deque_it, &
        acpx_dereference_deque_it, acp_dereference_list_it, &
        acp_dereference_set_it, acp_dereference_map_it
  end interface
  interface acp_distance
    procedure :: acp_distance_vector_it, acp_distance_deque_it, &
        acp_distance_list_it
  end interface
  interface acp_distance_it
    procedure :: acp_distance_vector_it, acp_distance_deque_it, &
        acp_distance_list_it
  end interface
  interface acp_increment
    procedure :: acp_increment_list_it, acp_increment_set_it, &
        acp_increment_map_it
  end interface
  interface acp_increment_it
    procedure :: acp_increment_list_it, acp_increment_set_it, &
        acp_increment_map_it
  end interface

end module
