!> Lists: acp/list.h. Each rank has its own, whose ends are on the next rank;
!> elements are on both. Elements are words of 8 bytes.
module list_tests
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_funloc, c_int, &
      c_int64_t, c_size_t
  use acp
  use checks
  implicit none
  private
  public :: run_generic_lists, run_list

  integer, parameter :: first_source = 100

contains

  !> An element with this number, from the scratch memory.
  type(acp_element_t) function number(value)
    integer, intent(in) :: value
    scratch(first_source + value) = value
    number = acp_element_t(word(rank, first_source + value), 8_c_size_t)
  end function

  !> Compares numbers: a function for acp_sort_list and acp_merge_list.
  function ascending(elem1, elem2) bind(C)
    type(acp_element_t), value :: elem1, elem2
    integer(c_int) :: ascending
    integer(c_int64_t), pointer :: a, b

    call c_f_pointer(acp_query_address(elem1%ga), a)
    call c_f_pointer(acp_query_address(elem2%ga), b)
    ascending = merge(1_c_int, merge(-1_c_int, 0_c_int, a < b), a > b)
  end function

  !> The list has these numbers, in this order.
  subroutine expect(list, numbers, what)
    type(acp_list_t), intent(in) :: list
    integer, intent(in) :: numbers(:)
    character(*), intent(in) :: what
    type(acp_list_it_t) :: it
    type(acp_element_t) :: element
    integer :: i

    call check(acp_errno() == ACPX_OK, what//': acp_errno')
    call check(acp_size_list(list) == size(numbers), what//': size')
    it = acp_begin_list(list)
    do i = 1, size(numbers)
      element = acp_dereference_list_it(it)
      call check(element%size == 8, what//': size of an element')
      call check(word_at(element%ga) == numbers(i), what//': an element')
      it = acp_increment_list_it(it)
    end do
    call check(it%elem == ACP_GA_NULL, what//': the end')
  end subroutine

  subroutine run_list()
    type(acp_list_t) :: list, other
    type(acp_list_it_t) :: it
    type(acp_element_t) :: element

    list = acp_create_list(next)
    call check(list%ga /= ACP_GA_NULL, 'acp_create_list')
    call check(acp_empty_list(list) == 1, 'acp_empty_list')
    call acp_push_back_list(list, number(3), rank)
    call acp_push_back_list(list, number(1), next)
    call acp_push_front_list(list, number(5), rank)
    call expect(list, [5, 3, 1], 'pushes')
    call acp_sort_list(list, c_funloc(ascending))
    call expect(list, [1, 3, 5], 'acp_sort_list')
    it = acp_advance_list_it(acp_begin_list(list), 1_c_int)
    call check(acp_distance_list_it(it, acp_end_list(list)) == 2, &
        'acp_distance_list_it')
    it = acp_insert_list(it, number(2), next)
    element = acp_dereference_list_it(it)
    call check(acp_query_rank(element%ga) == next, 'acp_insert_list')
    it = acp_decrement_list_it(it)
    element = acp_dereference_list_it(it)
    call check(word_at(element%ga) == 1, 'acp_decrement_list_it')
    call expect(list, [1, 2, 3, 5], 'acp_insert_list')
    it = acp_insert_range_list(acp_end_list(list), it, &
        acp_advance_list_it(it, 2_c_int))
    call expect(list, [1, 2, 3, 5, 1, 2], 'acp_insert_range_list')
    call acp_reverse_list(list)
    call expect(list, [2, 1, 5, 3, 2, 1], 'acp_reverse_list')
    call acp_remove_list(list, number(1))
    call expect(list, [2, 5, 3, 2], 'acp_remove_list')
    call acp_sort_list(list, c_funloc(ascending))
    call acp_unique_list(list)
    call expect(list, [2, 3, 5], 'acp_unique_list')

    other = acp_create_list(rank)
    call acp_assign_list(other, list)
    call expect(other, [2, 3, 5], 'acp_assign_list')
    call acp_merge_list(list, other, c_funloc(ascending))
    call expect(list, [2, 2, 3, 3, 5, 5], 'acp_merge_list')
    call expect(other, [integer ::], 'acp_merge_list, the other')
    call acp_pop_front_list(list)
    call acp_pop_back_list(list)
    call expect(list, [2, 3, 3, 5], 'pops')
    it = acp_erase_list(acp_begin_list(list))
    call expect(list, [3, 3, 5], 'acp_erase_list')
    it = acp_erase_range_list(it, acp_advance_list_it(it, 1_c_int))
    call expect(list, [3, 5], 'acp_erase_range_list')
    call acp_assign_range_list(other, acp_begin_list(list), &
        acp_end_list(list))
    call acp_splice_list(acp_begin_list(list), &
        acp_advance_list_it(acp_begin_list(other), 1_c_int))
    call expect(list, [5, 3, 5], 'acp_splice_list')
    call expect(other, [3], 'acp_splice_list, the other')
    it = acp_advance_list_it(acp_begin_list(list), 2_c_int)
    call acp_splice_range_list(acp_end_list(other), acp_begin_list(list), it)
    call expect(other, [3, 5, 3], 'acp_splice_range_list')
    call acp_swap_list(list, other)
    call expect(list, [3, 5, 3], 'acp_swap_list')
    call acp_clear_list(list)
    call check(acp_empty_list(list) == 1, 'acp_clear_list')
    call acp_destroy_list(list)
    call acp_destroy_list(other)
    call check(acp_errno() == ACPX_OK, 'acp_destroy_list')
    list = acp_create_list(procs)
    call check(list%ga == ACP_GA_NULL .and. acp_errno() == ACPX_BAD_RANK, &
        'acp_create_list on no rank')
    call acpx_set_errno(ACPX_OK)
  end subroutine

  !> The names without the structure that only lists have.
  subroutine run_generic_lists()
    type(acp_list_t) :: list, other
    type(acp_element_t) :: element

    list = acp_create_list(next)
    other = acp_create_list(rank)
    call acp_push_back(list, number(4), rank)
    call acp_push_back(list, number(2), next)
    call acp_push_front(other, number(3), next)
    call acp_sort(list, c_funloc(ascending))
    call acp_merge(list, other, c_funloc(ascending))
    call expect(list, [2, 3, 4], 'acp_merge')
    call acp_reverse(list)
    call acp_splice(acp_end(other), acp_begin(list))
    call expect(other, [4], 'acp_splice')
    call acp_splice_range(acp_begin(other), acp_begin(list), acp_end(list))
    call expect(other, [3, 2, 4], 'acp_splice_range')
    element = acp_dereference(acp_increment(acp_begin(other)))
    call check(word_at(element%ga) == 2, 'acp_increment')
    element = acp_dereference(acp_increment_it(acp_begin(other)))
    call check(word_at(element%ga) == 2, 'acp_increment_it')
    element = acp_dereference(acp_decrement(acp_end(other)))
    call check(word_at(element%ga) == 4, 'acp_decrement')
    element = acp_dereference(acp_decrement_it(acp_end(other)))
    call check(word_at(element%ga) == 4, 'acp_decrement_it')
    call acp_push_back(other, element, rank)
    call acp_unique(other)
    call acp_remove(other, number(3))
    call expect(other, [2, 4], 'acp_unique, acp_remove')
    call acp_destroy(list)
    call acp_destroy(other)
  end subroutine

end module
