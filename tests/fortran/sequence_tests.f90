!> Vectors and deques: acp/vector.h, acp/deque.h. Each rank has its own, in the
!> memory of the next rank. Elements are words of 8 bytes.
module sequence_tests
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t
  use acp
  use checks
  implicit none
  private
  public :: run_deque, run_generic_sequences, run_vector

  !> Sources: scratch words from this number on have 0, 1, 2 ...
  integer, parameter :: first_source = 100
  integer(c_size_t), parameter :: one = 8

contains

  subroutine fill_sources()
    integer :: i
    do i = 0, 9
      scratch(first_source + i) = i
    end do
  end subroutine

  !> The address of a source with this number.
  integer(acp_ga_t) function source(number)
    integer, intent(in) :: number
    source = word(rank, first_source + number)
  end function

  !> The offset of a place in a deque.
  pure integer(c_int) function at(it)
    type(acp_deque_it_t), intent(in) :: it
    at = it%index
  end function

  !> The vector has these words, and no more.
  subroutine expect_vector(v, words, what)
    type(acp_vector_t), intent(in) :: v
    integer, intent(in) :: words(:)
    character(*), intent(in) :: what
    integer :: i

    call check(acp_errno() == ACPX_OK, what//': acp_errno')
    call check(acp_size_vector(v) == 8 * size(words), what//': size')
    do i = 1, size(words)
      call check(word_at(acp_at_vector(v, 8_c_int * (i - 1_c_int))) &
          == words(i), what//': words')
    end do
  end subroutine

  subroutine expect_deque(d, words, what)
    type(acp_deque_t), intent(in) :: d
    integer, intent(in) :: words(:)
    character(*), intent(in) :: what
    integer :: i

    call check(acp_errno() == ACPX_OK, what//': acp_errno')
    call check(acp_size_deque(d) == 8 * size(words), what//': size')
    do i = 1, size(words)
      call check(word_at(acp_at_deque(d, 8_c_int * (i - 1_c_int))) &
          == words(i), what//': words')
    end do
  end subroutine

  subroutine run_vector()
    type(acp_vector_t) :: v, other
    type(acp_vector_it_t) :: it

    call fill_sources()
    v = acp_create_vector(8_c_size_t, next)
    call check(v%ga /= ACP_GA_NULL, 'acp_create_vector')
    call expect_vector(v, [0], 'acp_create_vector')
    call acp_push_back_vector(v, source(4), 3 * one)
    call expect_vector(v, [0, 4, 5, 6], 'acp_push_back_vector')
    it = acp_advance_vector_it(acp_begin_vector(v), 8_c_int)
    call check(it%index == 8, 'acp_advance_vector_it')
    call check(word_at(acp_dereference_vector_it(it)) == 4, &
        'acp_dereference_vector_it')
    call check(acp_distance_vector_it(it, acp_end_vector(v)) == 24, &
        'acp_distance_vector_it')
    it = acp_insert_vector(it, source(9), one)
    call check(it%index == 8, 'acp_insert_vector')
    call expect_vector(v, [0, 9, 4, 5, 6], 'acp_insert_vector')
    it = acp_insert_range_vector(acp_end_vector(v), acp_begin_vector(v), it)
    call expect_vector(v, [0, 9, 4, 5, 6, 0], 'acp_insert_range_vector')
    it = acp_erase_vector(acp_begin_vector(v), one)
    call check(it%index == 0, 'acp_erase_vector')
    call expect_vector(v, [9, 4, 5, 6, 0], 'acp_erase_vector')
    it = acp_erase_range_vector(acp_begin_vector(v), &
        acp_advance_vector_it(acp_begin_vector(v), 16_c_int))
    call expect_vector(v, [5, 6, 0], 'acp_erase_range_vector')
    call acp_pop_back_vector(v, one)
    call expect_vector(v, [5, 6], 'acp_pop_back_vector')
    call acp_reserve_vector(v, 1000_c_size_t)
    call check(acp_capacity_vector(v) >= 1000, 'acp_reserve_vector')

    other = acp_create_vector(0_c_size_t, rank)
    call check(acp_empty_vector(other) == 1, 'acp_empty_vector')
    call acp_assign_vector(other, v)
    call expect_vector(other, [5, 6], 'acp_assign_vector')
    call acp_push_back_vector(other, source(1), one)
    call acp_swap_vector(v, other)
    call expect_vector(v, [5, 6, 1], 'acp_swap_vector')
    call expect_vector(other, [5, 6], 'acp_swap_vector, the other')
    call acp_assign_range_vector(other, &
        acp_advance_vector_it(acp_begin_vector(v), 16_c_int), &
        acp_end_vector(v))
    call expect_vector(other, [1], 'acp_assign_range_vector')
    call acp_clear_vector(v)
    call check(acp_empty_vector(v) == 1, 'acp_clear_vector')
    call acp_destroy_vector(v)
    call acp_destroy_vector(other)
    call check(acp_errno() == ACPX_OK, 'acp_destroy_vector')
    call check(acp_size_vector(v) == 0, 'a destroyed vector')
    call check(acp_errno() == ACPX_INVALID_ARGUMENT, 'its code')
    call acpx_set_errno(ACPX_OK)
  end subroutine

  subroutine run_deque()
    type(acp_deque_t) :: d, other
    type(acp_deque_it_t) :: it
    type(acp_pair_t) :: pieces

    call fill_sources()
    d = acp_create_deque(64_c_size_t, next)
    call check(d%ga /= ACP_GA_NULL, 'acp_create_deque')
    call check(acp_capacity_deque(d) >= 64, 'acp_capacity_deque')
    call check(acp_empty_deque(d) == 1, 'acp_empty_deque')
    call acp_push_back_deque(d, source(4), 2 * one)
    call acp_push_front_deque(d, source(1), 2 * one)
    call expect_deque(d, [1, 2, 4, 5], 'pushes')
    it = acp_front_deque(d)
    call check(it%index == -1, 'acp_front_deque')
    it = acp_back_deque(d)
    call check(it%index == 31, 'acp_back_deque')
    it = acp_advance_deque_it(acp_begin_deque(d), 16_c_int)
    call check(word_at(acp_dereference_deque_it(it)) == 4, &
        'acp_dereference_deque_it')
    pieces = acpx_dereference_deque_it(it, 9_c_size_t)
    call check(pieces%first%size == 9 .and. pieces%second%size == 0, &
        'acpx_dereference_deque_it')
    pieces = acp_dereference(it, one)
    call check(word_at(pieces%first%ga) == 4, 'acp_dereference with a size')
    call check(acp_distance_deque_it(it, acp_end_deque(d)) == 16, &
        'acp_distance_deque_it')
    pieces = acpx_dereference_range_deque(it, acp_end_deque(d))
    call check(pieces%first%size == 16 .and. pieces%second%size == 0, &
        'acpx_dereference_range_deque')
    call check(word_at(pieces%first%ga + 8) == 5, 'its second word')
    it = acp_insert_deque(it, source(9), one)
    call check(it%index == 16, 'acp_insert_deque')
    call expect_deque(d, [1, 2, 9, 4, 5], 'acp_insert_deque')
    it = acp_insert_range_deque(acp_end_deque(d), acp_begin_deque(d), it)
    call expect_deque(d, [1, 2, 9, 4, 5, 1, 2], 'acp_insert_range_deque')
    it = acp_erase_deque(acp_begin_deque(d), one)
    call expect_deque(d, [2, 9, 4, 5, 1, 2], 'acp_erase_deque')
    it = acp_erase_range_deque(it, acp_advance_deque_it(it, 16_c_int))
    call expect_deque(d, [4, 5, 1, 2], 'acp_erase_range_deque')
    call acp_pop_back_deque(d, one)
    call acp_pop_front_deque(d, one)
    call expect_deque(d, [5, 1], 'pops')
    call check(acpx_take_front_deque(d, word(rank, 30), one) == 1 .and. &
        scratch(30) == 5, 'acpx_take_front_deque')
    call check(acpx_take_back_deque(d, word(rank, 30), one) == 1 .and. &
        scratch(30) == 1, 'acpx_take_back_deque')
    call check(acpx_take_back_deque(d, word(rank, 30), one) == 0, &
        'acpx_take_back_deque of an empty deque')
    call acp_reserve_deque(d, 500_c_size_t)
    call check(acp_capacity_deque(d) >= 500, 'acp_reserve_deque')
    call acp_push_back_deque(d, source(7), 3 * one)

    other = acp_create_deque(8_c_size_t, rank)
    call acp_assign_deque(other, d)
    call expect_deque(other, [7, 8, 9], 'acp_assign_deque')
    call acp_assign_range_deque(other, &
        acp_advance_deque_it(acp_begin_deque(d), 8_c_int), acp_end_deque(d))
    call expect_deque(other, [8, 9], 'acp_assign_range_deque')
    call acp_swap_deque(d, other)
    call expect_deque(d, [8, 9], 'acp_swap_deque')
    call acp_clear_deque(d)
    call check(acp_empty_deque(d) == 1, 'acp_clear_deque')
    call acp_destroy_deque(d)
    call acp_destroy_deque(other)
    call check(acp_errno() == ACPX_OK, 'acp_destroy_deque')
    call check(acp_at_deque(d, 0_c_int) == ACP_GA_NULL, 'a destroyed deque')
    call acpx_set_errno(ACPX_OK)
  end subroutine

  !> The names without the structure.
  subroutine run_generic_sequences()
    type(acp_vector_t) :: v
    type(acp_deque_t) :: d, e

    call fill_sources()
    v = acp_create_vector(0_c_size_t, next)
    call acp_push_back(v, source(1), 3 * one)
    call check(acp_size(v) == 24 .and. acp_empty(v) == 0, 'acp_size')
    call acp_reserve(v, 400_c_size_t)
    call check(acp_capacity(v) >= 400, 'acp_reserve')
    call check(word_at(acp_at(v, 8_c_int)) == 2, 'acp_at')
    call check(acp_distance_it(acp_begin(v), acp_end(v)) == 24, 'acp_distance')
    call acp_destroy(v)

    d = acp_create_deque(0_c_size_t, next)
    e = acp_create_deque(0_c_size_t, rank)
    call acp_push_back(d, source(1), 2 * one)
    call acp_push_front(d, source(0), one)
    call expect_deque(d, [0, 1, 2], 'acp_push_front')
    call check(at(acp_advance(acp_front(d), 1_c_int)) == 0, 'acp_front')
    call check(at(acp_advance_it(acp_back(d), 1_c_int)) == 24, 'acp_back')
    call check(word_at(acp_dereference(acp_begin(d))) == 0, 'acp_dereference')
    call check(word_at(acp_dereference_it(acp_begin(d))) == 0, &
        'acp_dereference_it')
    call acp_assign(e, d)
    call acp_assign_range(e, acp_begin(d), acp_advance(acp_end(d), -8_c_int))
    call expect_deque(e, [0, 1], 'acp_assign_range')
    call acp_pop_front(e, one)
    call check(at(acp_insert(acp_begin(e), source(5), one)) == 0, &
        'acp_insert')
    call expect_deque(e, [5, 1], 'acp_insert')
    call check(at(acp_insert_range(acp_end(e), acp_begin(d), acp_end(d))) &
        == 16, 'acp_insert_range')
    call acp_pop_back(e, one)
    call expect_deque(e, [5, 1, 0, 1], 'acp_pop_back')
    call check(at(acp_erase(acp_begin(e), one)) == 0, 'acp_erase')
    call check(at(acp_erase_range(acp_begin(e), acp_advance(acp_begin(e), &
        8_c_int))) == 0, 'acp_erase_range')
    call acp_swap(d, e)
    call expect_deque(d, [0, 1], 'acp_swap')
    call check(acp_distance(acp_begin(d), acp_end(d)) == 16, 'acp_distance')
    call acp_clear(d)
    call check(acp_empty(d) == 1, 'acp_clear')
    call acp_destroy(d)
    call acp_destroy(e)
    call check(acp_errno() == ACPX_OK, 'acp_destroy')
  end subroutine

end module
