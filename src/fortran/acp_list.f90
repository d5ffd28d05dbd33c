!> Lists whose elements are on any ranks, as acp/list.h has
!> them; its conventions hold here too. Part of module acp.
module acp_list
  use, intrinsic :: iso_c_binding, only: c_funptr, c_int, c_size_t
  use acp_types, only: acp_element_t, acp_ga_t, ACP_GA_NULL
  implicit none
  private :: c_funptr, c_int, c_size_t, acp_element_t, acp_ga_t, ACP_GA_NULL

  !> A list; no list when ga is ACP_GA_NULL.
  type, bind(C) :: acp_list_t
    integer(acp_ga_t) :: ga = ACP_GA_NULL
  end type

  !> A position in a list.
  type, bind(C) :: acp_list_it_t
    type(acp_list_t) :: list
    integer(acp_ga_t) :: elem = ACP_GA_NULL
  end type

  !> The shape of a comparison for acp_merge_list and acp_sort_list, which take
  !> c_funloc of one. It is called with elements that the caller can read.
  abstract interface
    function acp_comparison(elem1, elem2) bind(C)
      import
      type(acp_element_t), value :: elem1, elem2
      integer(c_int) :: acp_comparison
    end function
  end interface

  interface
    !> Makes list1 equal to list2, with new elements on the ranks of those of
    !> list2. Specification 4.5.2.
    subroutine acp_assign_list(list1, list2) bind(C, name='acp_assign_list')
      import
      type(acp_list_t), value :: list1, list2
    end subroutine

    !> Makes a list equal to a range, as acp_assign_list. Specification 4.5.3.
    subroutine acp_assign_range_list(list, start, end) bind(C, &
        name='acp_assign_range_list')
      import
      type(acp_list_t), value :: list
      type(acp_list_it_t), value :: start, end
    end subroutine

    !> The first element. Specification 4.5.4.
    function acp_begin_list(list) bind(C, name='acp_begin_list')
      import
      type(acp_list_t), value :: list
      type(acp_list_it_t) :: acp_begin_list
    end function

    !> Erases all elements. Specification 4.5.5.
    subroutine acp_clear_list(list) bind(C, name='acp_clear_list')
      import
      type(acp_list_t), value :: list
    end subroutine

    !> Creates an empty list. Specification 4.5.6.
    function acp_create_list(rank) bind(C, name='acp_create_list')
      import
      integer(c_int), value :: rank
      type(acp_list_t) :: acp_create_list
    end function

    !> Ends a list and frees its elements. Specification 4.5.7.
    subroutine acp_destroy_list(list) bind(C, name='acp_destroy_list')
      import
      type(acp_list_t), value :: list
    end subroutine

    !> Whether there is no element. Specification 4.5.8.
    function acp_empty_list(list) bind(C, name='acp_empty_list')
      import
      type(acp_list_t), value :: list
      integer(c_int) :: acp_empty_list
    end function

    !> The position behind the last element. Specification 4.5.9.
    function acp_end_list(list) bind(C, name='acp_end_list')
      import
      type(acp_list_t), value :: list
      type(acp_list_it_t) :: acp_end_list
    end function

    !> Takes an element out and frees it. Specification 4.5.10.
    function acp_erase_list(it) bind(C, name='acp_erase_list')
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t) :: acp_erase_list
    end function

    !> Takes a range out and frees it. Specification 4.5.11.
    function acp_erase_range_list(start, end) bind(C, &
        name='acp_erase_range_list')
      import
      type(acp_list_it_t), value :: start, end
      type(acp_list_it_t) :: acp_erase_range_list
    end function

    !> Puts a new element in. Specification 4.5.12.
    function acp_insert_list(it, elem, rank) bind(C, name='acp_insert_list')
      import
      type(acp_list_it_t), value :: it
      type(acp_element_t), value :: elem
      integer(c_int), value :: rank
      type(acp_list_it_t) :: acp_insert_list
    end function

    !> Puts copies of a range in, on the ranks of the originals. Specification
    !> 4.5.13.
    function acp_insert_range_list(it, start, end) bind(C, &
        name='acp_insert_range_list')
      import
      type(acp_list_it_t), value :: it, start, end
      type(acp_list_it_t) :: acp_insert_range_list
    end function

    !> Moves the elements of a sorted list into another, which stays sorted; of
    !> equal ones those of list1 come first. Specification 4.5.14.
    subroutine acp_merge_list(list1, list2, comp) bind(C, &
        name='acp_merge_list')
      import
      type(acp_list_t), value :: list1, list2
      type(c_funptr), value :: comp
    end subroutine

    !> Erases the last element. Specification 4.5.15.
    subroutine acp_pop_back_list(list) bind(C, name='acp_pop_back_list')
      import
      type(acp_list_t), value :: list
    end subroutine

    !> Erases the first element. Specification 4.5.16.
    subroutine acp_pop_front_list(list) bind(C, name='acp_pop_front_list')
      import
      type(acp_list_t), value :: list
    end subroutine

    !> Adds an element at the end. Specification 4.5.17.
    subroutine acp_push_back_list(list, elem, rank) bind(C, &
        name='acp_push_back_list')
      import
      type(acp_list_t), value :: list
      type(acp_element_t), value :: elem
      integer(c_int), value :: rank
    end subroutine

    !> Adds an element at the front. Specification 4.5.18.
    subroutine acp_push_front_list(list, elem, rank) bind(C, &
        name='acp_push_front_list')
      import
      type(acp_list_t), value :: list
      type(acp_element_t), value :: elem
      integer(c_int), value :: rank
    end subroutine

    !> Erases all elements that have the same bytes. Specification 4.5.19.
    subroutine acp_remove_list(list, elem) bind(C, name='acp_remove_list')
      import
      type(acp_list_t), value :: list
      type(acp_element_t), value :: elem
    end subroutine

    !> Turns the order around. Specification 4.5.20.
    subroutine acp_reverse_list(list) bind(C, name='acp_reverse_list')
      import
      type(acp_list_t), value :: list
    end subroutine

    !> Number of elements. Specification 4.5.21.
    function acp_size_list(list) bind(C, name='acp_size_list')
      import
      type(acp_list_t), value :: list
      integer(c_size_t) :: acp_size_list
    end function

    !> Sorts; equal elements keep their order. Specification 4.5.22.
    subroutine acp_sort_list(list, comp) bind(C, name='acp_sort_list')
      import
      type(acp_list_t), value :: list
      type(c_funptr), value :: comp
    end subroutine

    !> Moves an element. Specification 4.5.23.
    subroutine acp_splice_list(it1, it2) bind(C, name='acp_splice_list')
      import
      type(acp_list_it_t), value :: it1, it2
    end subroutine

    !> Moves a range, as acp_splice_list. Specification 4.5.24.
    subroutine acp_splice_range_list(it, start, end) bind(C, &
        name='acp_splice_range_list')
      import
      type(acp_list_it_t), value :: it, start, end
    end subroutine

    !> Exchanges the elements. Specification 4.5.25.
    subroutine acp_swap_list(list1, list2) bind(C, name='acp_swap_list')
      import
      type(acp_list_t), value :: list1, list2
    end subroutine

    !> Erases elements that have the same bytes as the one before them.
    !> Specification 4.5.26.
    subroutine acp_unique_list(list) bind(C, name='acp_unique_list')
      import
      type(acp_list_t), value :: list
    end subroutine

    !> Moves an iterator. Specification 4.5.27.
    function acp_advance_list_it(it, n) bind(C, name='acp_advance_list_it')
      import
      type(acp_list_it_t), value :: it
      integer(c_int), value :: n
      type(acp_list_it_t) :: acp_advance_list_it
    end function

    !> The element before. Specification 4.5.28.
    function acp_decrement_list_it(it) bind(C, name='acp_decrement_list_it')
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t) :: acp_decrement_list_it
    end function

    !> Where an element's data is. Specification 4.5.29.
    function acp_dereference_list_it(it) bind(C, &
        name='acp_dereference_list_it')
      import
      type(acp_list_it_t), value :: it
      type(acp_element_t) :: acp_dereference_list_it
    end function

    !> Elements from one position to another. Specification 4.5.30.
    function acp_distance_list_it(first, last) bind(C, &
        name='acp_distance_list_it')
      import
      type(acp_list_it_t), value :: first, last
      integer(c_int) :: acp_distance_list_it
    end function

    !> The next element. Specification 4.5.31.
    function acp_increment_list_it(it) bind(C, name='acp_increment_list_it')
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t) :: acp_increment_list_it
    end function
  end interface

end module
