!> Sets: keys spread over ranks by hash, as acp/set.h has
!> them; its conventions hold here too. Part of module acp.
module acp_set
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t
  use acp_types, only: acp_element_t, acp_ga_t, ACP_GA_NULL
  implicit none
  private :: c_int, c_int64_t, c_size_t, acp_element_t, acp_ga_t, ACP_GA_NULL

  !> A set; no set when ga is ACP_GA_NULL. The other two members are the
  !> arguments of its creation, for the program.
  type, bind(C) :: acp_set_t
    integer(acp_ga_t) :: ga = ACP_GA_NULL
    integer(c_int64_t) :: num_ranks = 0
    integer(c_int64_t) :: num_slots = 0
  end type

  !> A position in a set. elem is ACP_GA_NULL at the end.
  type, bind(C) :: acp_set_it_t
    type(acp_set_t) :: set
    integer(c_int) :: rank = 0
    integer(c_int) :: slot = 0
    integer(acp_ga_t) :: elem = ACP_GA_NULL
  end type

  !> A position, and whether there is one; for programs' own functions.
  type, bind(C) :: acp_set_ib_t
    type(acp_set_it_t) :: it
    integer(c_int) :: success = 0
  end type

  interface
    !> The caller's part of making set1 equal to set2. Specification 4.6.2.
    subroutine acp_assign_local_set(set1, set2) bind(C, &
        name='acp_assign_local_set')
      import
      type(acp_set_t), value :: set1, set2
    end subroutine

    !> Makes set1 equal to set2. Specification 4.6.3.
    subroutine acp_assign_set(set1, set2) bind(C, name='acp_assign_set')
      import
      type(acp_set_t), value :: set1, set2
    end subroutine

    !> The first key on the caller's rank. Specification 4.6.4.
    function acp_begin_local_set(set) bind(C, name='acp_begin_local_set')
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_begin_local_set
    end function

    !> The first key, in no particular order. Specification 4.6.5.
    function acp_begin_set(set) bind(C, name='acp_begin_set')
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_begin_set
    end function

    !> Removes the keys on the caller's rank. Specification 4.6.6.
    subroutine acp_clear_local_set(set) bind(C, name='acp_clear_local_set')
      import
      type(acp_set_t), value :: set
    end subroutine

    !> Removes all keys. Specification 4.6.7.
    subroutine acp_clear_set(set) bind(C, name='acp_clear_set')
      import
      type(acp_set_t), value :: set
    end subroutine

    !> Creates an empty set. Specification 4.6.8.
    function acp_create_set(num_ranks, ranks, num_slots, rank) bind(C, &
        name='acp_create_set')
      import
      integer(c_int), value :: num_ranks
      integer(c_int), intent(in) :: ranks(*)
      integer(c_int), value :: num_slots, rank
      type(acp_set_t) :: acp_create_set
    end function

    !> Ends a set and frees its memory. Specification 4.6.9.
    subroutine acp_destroy_set(set) bind(C, name='acp_destroy_set')
      import
      type(acp_set_t), value :: set
    end subroutine

    !> Whether no key is on the caller's rank. Specification 4.6.10.
    function acp_empty_local_set(set) bind(C, name='acp_empty_local_set')
      import
      type(acp_set_t), value :: set
      integer(c_int) :: acp_empty_local_set
    end function

    !> Whether there is no key. Specification 4.6.11.
    function acp_empty_set(set) bind(C, name='acp_empty_set')
      import
      type(acp_set_t), value :: set
      integer(c_int) :: acp_empty_set
    end function

    !> Where iterators over the caller's keys end. Specification 4.6.12.
    pure function acp_end_local_set(set) bind(C, name='acp_end_local_set')
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_end_local_set
    end function

    !> Where iterators end. Specification 4.6.13.
    pure function acp_end_set(set) bind(C, name='acp_end_set')
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_end_set
    end function

    !> Looks a key up. Specification 4.6.14.
    function acp_find_set(set, key) bind(C, name='acp_find_set')
      import
      type(acp_set_t), value :: set
      type(acp_element_t), value :: key
      type(acp_set_it_t) :: acp_find_set
    end function

    !> Puts a key in. Specification 4.6.15.
    function acp_insert_set(set, key) bind(C, name='acp_insert_set')
      import
      type(acp_set_t), value :: set
      type(acp_element_t), value :: key
      integer(c_int) :: acp_insert_set
    end function

    !> Copies the keys of set2 that are on the caller's rank and that set1 does
    !> not have. Specification 4.6.16.
    subroutine acp_merge_local_set(set1, set2) bind(C, &
        name='acp_merge_local_set')
      import
      type(acp_set_t), value :: set1, set2
    end subroutine

    !> Copies the keys of set2 that set1 does not have. Specification 4.6.17.
    subroutine acp_merge_set(set1, set2) bind(C, name='acp_merge_set')
      import
      type(acp_set_t), value :: set1, set2
    end subroutine

    !> Moves the keys of set2 that are on the caller's rank and that set1 does
    !> not have. Specification 4.6.18.
    subroutine acp_move_local_set(set1, set2) bind(C, &
        name='acp_move_local_set')
      import
      type(acp_set_t), value :: set1, set2
    end subroutine

    !> Moves the keys of set2 that set1 does not have; the rest stays.
    !> Specification 4.6.19.
    subroutine acp_move_set(set1, set2) bind(C, name='acp_move_set')
      import
      type(acp_set_t), value :: set1, set2
    end subroutine

    !> Takes a key out. Specification 4.6.20.
    subroutine acp_remove_set(set, key) bind(C, name='acp_remove_set')
      import
      type(acp_set_t), value :: set
      type(acp_element_t), value :: key
    end subroutine

    !> Number of keys on the caller's rank. Specification 4.6.21.
    function acp_size_local_set(set) bind(C, name='acp_size_local_set')
      import
      type(acp_set_t), value :: set
      integer(c_size_t) :: acp_size_local_set
    end function

    !> Number of keys. Specification 4.6.22.
    function acp_size_set(set) bind(C, name='acp_size_set')
      import
      type(acp_set_t), value :: set
      integer(c_size_t) :: acp_size_set
    end function

    !> Exchanges the contents, with the ranks and slots that they have; nothing
    !> is copied. Specification 4.6.23.
    subroutine acp_swap_set(set1, set2) bind(C, name='acp_swap_set')
      import
      type(acp_set_t), value :: set1, set2
    end subroutine

    !> Where a key is. Specification 4.6.24.
    function acp_dereference_set_it(it) bind(C, name='acp_dereference_set_it')
      import
      type(acp_set_it_t), value :: it
      type(acp_element_t) :: acp_dereference_set_it
    end function

    !> The next key. Specification 4.6.25.
    function acp_increment_set_it(it) bind(C, name='acp_increment_set_it')
      import
      type(acp_set_it_t), value :: it
      type(acp_set_it_t) :: acp_increment_set_it
    end function
  end interface

end module
