!> Maps: values under keys, spread over ranks, as acp/map.h has
!> them; its conventions hold here too. Part of module acp.
module acp_map
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t
  use acp_types, only: acp_element_t, acp_ga_t, ACP_GA_NULL, &
      acp_pair_t
  implicit none
  private :: c_int, c_int64_t, c_size_t, acp_element_t, acp_ga_t, ACP_GA_NULL, &
      acp_pair_t

  !> A map; no map when ga is ACP_GA_NULL. The other two members are the
  !> arguments of its creation, for the program.
  type, bind(C) :: acp_map_t
    integer(acp_ga_t) :: ga = ACP_GA_NULL
    integer(c_int64_t) :: num_ranks = 0
    integer(c_int64_t) :: num_slots = 0
  end type

  !> A position in a map. elem is ACP_GA_NULL at the end.
  type, bind(C) :: acp_map_it_t
    type(acp_map_t) :: map
    integer(c_int) :: rank = 0
    integer(c_int) :: slot = 0
    integer(acp_ga_t) :: elem = ACP_GA_NULL
  end type

  !> A position, and whether there is one; for programs' own functions.
  type, bind(C) :: acp_map_ib_t
    type(acp_map_it_t) :: it
    integer(c_int) :: success = 0
  end type

  interface
    !> The caller's part of making map1 equal to map2. Specification 4.7.2.
    subroutine acp_assign_local_map(map1, map2) bind(C, &
        name='acp_assign_local_map')
      import
      type(acp_map_t), value :: map1, map2
    end subroutine

    !> Makes map1 equal to map2. Specification 4.7.3.
    subroutine acp_assign_map(map1, map2) bind(C, name='acp_assign_map')
      import
      type(acp_map_t), value :: map1, map2
    end subroutine

    !> The first element on the caller's rank. Specification 4.7.4.
    function acp_begin_local_map(map) bind(C, name='acp_begin_local_map')
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_begin_local_map
    end function

    !> The first element, in no particular order. Specification 4.7.5.
    function acp_begin_map(map) bind(C, name='acp_begin_map')
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_begin_map
    end function

    !> Removes the elements on the caller's rank. Specification 4.7.6.
    subroutine acp_clear_local_map(map) bind(C, name='acp_clear_local_map')
      import
      type(acp_map_t), value :: map
    end subroutine

    !> Removes all elements. Specification 4.7.7.
    subroutine acp_clear_map(map) bind(C, name='acp_clear_map')
      import
      type(acp_map_t), value :: map
    end subroutine

    !> Creates an empty map. Specification 4.7.8.
    function acp_create_map(num_ranks, ranks, num_slots, rank) bind(C, &
        name='acp_create_map')
      import
      integer(c_int), value :: num_ranks
      integer(c_int), intent(in) :: ranks(*)
      integer(c_int), value :: num_slots, rank
      type(acp_map_t) :: acp_create_map
    end function

    !> Ends a map and frees its memory. Specification 4.7.9.
    subroutine acp_destroy_map(map) bind(C, name='acp_destroy_map')
      import
      type(acp_map_t), value :: map
    end subroutine

    !> Whether no element is on the caller's rank. Specification 4.7.10.
    function acp_empty_local_map(map) bind(C, name='acp_empty_local_map')
      import
      type(acp_map_t), value :: map
      integer(c_int) :: acp_empty_local_map
    end function

    !> Whether there is no element. Specification 4.7.11.
    function acp_empty_map(map) bind(C, name='acp_empty_map')
      import
      type(acp_map_t), value :: map
      integer(c_int) :: acp_empty_map
    end function

    !> Where iterators over the caller's elements end. Specification 4.7.12.
    pure function acp_end_local_map(map) bind(C, name='acp_end_local_map')
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_end_local_map
    end function

    !> Where iterators end. Specification 4.7.13.
    pure function acp_end_map(map) bind(C, name='acp_end_map')
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_end_map
    end function

    !> Looks a key up. Specification 4.7.14.
    function acp_find_map(map, key) bind(C, name='acp_find_map')
      import
      type(acp_map_t), value :: map
      type(acp_element_t), value :: key
      type(acp_map_it_t) :: acp_find_map
    end function

    !> Puts a value under a key that is not there yet. Specification 4.7.15.
    function acp_insert_map(map, pair) bind(C, name='acp_insert_map')
      import
      type(acp_map_t), value :: map
      type(acp_pair_t), value :: pair
      integer(c_int) :: acp_insert_map
    end function

    !> Copies the elements of map2 that are on the caller's rank and that map1
    !> does not have. Specification 4.7.16.
    subroutine acp_merge_local_map(map1, map2) bind(C, &
        name='acp_merge_local_map')
      import
      type(acp_map_t), value :: map1, map2
    end subroutine

    !> Copies the elements of map2 that map1 does not have. Specification
    !> 4.7.17.
    subroutine acp_merge_map(map1, map2) bind(C, name='acp_merge_map')
      import
      type(acp_map_t), value :: map1, map2
    end subroutine

    !> Moves the elements of map2 that are on the caller's rank and that map1
    !> does not have. Specification 4.7.18.
    subroutine acp_move_local_map(map1, map2) bind(C, &
        name='acp_move_local_map')
      import
      type(acp_map_t), value :: map1, map2
    end subroutine

    !> Moves the elements of map2 that map1 does not have; the rest stays.
    !> Specification 4.7.19.
    subroutine acp_move_map(map1, map2) bind(C, name='acp_move_map')
      import
      type(acp_map_t), value :: map1, map2
    end subroutine

    !> Takes a key out, with its value. Specification 4.7.20.
    subroutine acp_remove_map(map, key) bind(C, name='acp_remove_map')
      import
      type(acp_map_t), value :: map
      type(acp_element_t), value :: key
    end subroutine

    !> Copies the value under a key. Specification 4.7.21.
    function acp_retrieve_map(map, pair) bind(C, name='acp_retrieve_map')
      import
      type(acp_map_t), value :: map
      type(acp_pair_t), value :: pair
      integer(c_size_t) :: acp_retrieve_map
    end function

    !> Number of elements on the caller's rank. Specification 4.7.22.
    function acp_size_local_map(map) bind(C, name='acp_size_local_map')
      import
      type(acp_map_t), value :: map
      integer(c_size_t) :: acp_size_local_map
    end function

    !> Number of elements. Specification 4.7.23.
    function acp_size_map(map) bind(C, name='acp_size_map')
      import
      type(acp_map_t), value :: map
      integer(c_size_t) :: acp_size_map
    end function

    !> Exchanges the contents, with the ranks and slots that they have; nothing
    !> is copied. Specification 4.7.24.
    subroutine acp_swap_map(map1, map2) bind(C, name='acp_swap_map')
      import
      type(acp_map_t), value :: map1, map2
    end subroutine

    !> Where an element is. Specification 4.7.25.
    function acp_dereference_map_it(it) bind(C, name='acp_dereference_map_it')
      import
      type(acp_map_it_t), value :: it
      type(acp_pair_t) :: acp_dereference_map_it
    end function

    !> The next element. Specification 4.7.26.
    function acp_increment_map_it(it) bind(C, name='acp_increment_map_it')
      import
      type(acp_map_it_t), value :: it
      type(acp_map_it_t) :: acp_increment_map_it
    end function
  end interface

end module
