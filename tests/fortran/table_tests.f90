!> Sets and maps: acp/set.h, acp/map.h. Each rank has its own, over all ranks.
!> Keys and values are words of 8 bytes.
module table_tests
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t
  use acp
  use checks
  implicit none
  private
  public :: run_generic_tables, run_map, run_map_extensions, run_set

  integer, parameter :: first_source = 100
  integer(c_int), parameter :: slots = 16

contains

  type(acp_element_t) function number(value)
    integer, intent(in) :: value
    scratch(first_source + value) = value
    number = acp_element_t(word(rank, first_source + value), 8_c_size_t)
  end function

  type(acp_pair_t) function pair(key, value)
    integer, intent(in) :: key, value
    pair = acp_pair_t(number(key), number(value))
  end function

  function all_ranks() result(ranks)
    integer(c_int) :: ranks(procs)
    integer(c_int) :: i
    ranks = [(i, i = 0_c_int, procs - 1_c_int)]
  end function

  type(acp_set_t) function new_set()
    new_set = acp_create_set(procs, all_ranks(), slots, next)
    call check(new_set%ga /= ACP_GA_NULL, 'acp_create_set')
  end function

  type(acp_map_t) function new_map()
    new_map = acp_create_map(procs, all_ranks(), slots, next)
    call check(new_map%ga /= ACP_GA_NULL, 'acp_create_map')
  end function

  !> The set has the keys first .. last, and no more; a walk meets each once.
  subroutine expect_set(set, first, last, what)
    type(acp_set_t), intent(in) :: set
    integer, intent(in) :: first, last
    character(*), intent(in) :: what
    type(acp_set_it_t) :: it
    type(acp_element_t) :: key
    integer(c_int64_t) :: sum, count
    integer :: i

    call check(acp_errno() == ACPX_OK, what//': acp_errno')
    call check(acp_size_set(set) == last - first + 1, what//': size')
    sum = 0
    count = 0
    it = acp_begin_set(set)
    do while (it%elem /= ACP_GA_NULL)
      key = acp_dereference_set_it(it)
      sum = sum + word_at(key%ga)
      count = count + 1
      it = acp_increment_set_it(it)
    end do
    call check(count == last - first + 1, what//': keys of a walk')
    call check(sum == (first + last) * count / 2, what//': sum of the keys')
    do i = first, last
      it = acp_find_set(set, number(i))
      call check(it%elem /= ACP_GA_NULL, what//': acp_find_set')
    end do
  end subroutine

  subroutine run_set()
    type(acp_set_t) :: set, other
    type(acp_set_it_t) :: it, end_of_set
    integer(c_size_t) :: here
    integer :: i

    set = new_set()
    other = new_set()
    call check(set%num_ranks == procs .and. set%num_slots == slots, &
        'members of acp_set_t')
    call check(acp_empty_set(set) == 1 .and. acp_empty_local_set(set) == 1, &
        'acp_empty_set')
    do i = 1, 20
      call check(acp_insert_set(set, number(i)) == 1, 'acp_insert_set')
    end do
    call expect_set(set, 1, 20, 'acp_insert_set')
    here = 0
    it = acp_begin_local_set(set)
    end_of_set = acp_end_local_set(set)
    do while (it%elem /= end_of_set%elem)
      call check(it%rank == rank, 'a local key')
      here = here + 1
      it = acp_increment_set_it(it)
    end do
    call check(here == acp_size_local_set(set), 'acp_size_local_set')
    end_of_set = acp_end_set(set)
    call check(end_of_set%elem == ACP_GA_NULL .and. &
        end_of_set%set%ga == set%ga, 'acp_end_set')
    call acp_remove_set(set, number(20))
    call expect_set(set, 1, 19, 'acp_remove_set')
    call acp_assign_set(other, set)
    call expect_set(other, 1, 19, 'acp_assign_set')
    call acp_clear_set(set)
    call check(acp_insert_set(set, number(20)) == 1, 'acp_insert_set')
    call acp_merge_set(set, other)
    call expect_set(set, 1, 20, 'acp_merge_set')
    call acp_swap_set(set, other)
    call expect_set(set, 1, 19, 'acp_swap_set')
    call acp_move_set(set, other)
    call expect_set(set, 1, 20, 'acp_move_set')
    call expect_set(other, 1, 19, 'acp_move_set, the other')

    ! The local functions work on this rank's share.
    here = acp_size_local_set(set)
    call acp_clear_local_set(other)
    call check(acp_size_local_set(other) == 0, 'acp_clear_local_set')
    call acp_merge_local_set(other, set)
    call check(acp_size_local_set(other) == here, 'acp_merge_local_set')
    call acp_clear_set(other)
    call acp_move_local_set(other, set)
    call check(acp_size_local_set(set) == 0, 'acp_move_local_set')
    call check(acp_size_set(other) == here, 'acp_move_local_set, the other')
    call acp_assign_local_set(set, other)
    call check(acp_size_local_set(set) == here, 'acp_assign_local_set')
    call check(acp_size_set(set) == 20, 'all keys are there again')
    call acp_destroy_set(set)
    call acp_destroy_set(other)
    call check(acp_errno() == ACPX_OK, 'acp_destroy_set')
    call check(acp_insert_set(set, number(1)) == 0, 'a destroyed set')
    call check(acp_errno() == ACPX_INVALID_ARGUMENT, 'its code')
    call acpx_set_errno(ACPX_OK)
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  !> The map has the keys first .. last, each with ten times itself.
  subroutine expect_map(map, first, last, what)
    type(acp_map_t), intent(in) :: map
    integer, intent(in) :: first, last
    character(*), intent(in) :: what
    type(acp_map_it_t) :: it
    type(acp_pair_t) :: found
    integer(c_int64_t) :: count
    integer :: i

    call check(acp_errno() == ACPX_OK, what//': acp_errno')
    call check(acp_size_map(map) == last - first + 1, what//': size')
    count = 0
    it = acp_begin_map(map)
    do while (it%elem /= ACP_GA_NULL)
      found = acp_dereference_map_it(it)
      call check(word_at(found%second%ga) == 10 * word_at(found%first%ga), &
          what//': a value')
      count = count + 1
      it = acp_increment_map_it(it)
    end do
    call check(count == last - first + 1, what//': elements of a walk')
    do i = first, last
      it = acp_find_map(map, number(i))
      call check(it%elem /= ACP_GA_NULL, what//': acp_find_map')
    end do
  end subroutine

  subroutine run_map()
    type(acp_map_t) :: map, other
    type(acp_map_it_t) :: it, end_of_map
    integer(c_size_t) :: here
    integer :: i

    map = new_map()
    other = new_map()
    call check(map%num_ranks == procs .and. map%num_slots == slots, &
        'members of acp_map_t')
    call check(acp_empty_map(map) == 1 .and. acp_empty_local_map(map) == 1, &
        'acp_empty_map')
    do i = 1, 20
      call check(acp_insert_map(map, pair(i, 10 * i)) == 1, 'acp_insert_map')
    end do
    call check(acp_insert_map(map, pair(20, 1)) == 0, 'a key that is there')
    call expect_map(map, 1, 20, 'acp_insert_map')
    scratch(30) = 0
    call check(acp_retrieve_map(map, acp_pair_t(number(7), &
        acp_element_t(word(rank, 30), 8_c_size_t))) == 8, 'acp_retrieve_map')
    call check(scratch(30) == 70, 'its value')
    here = 0
    it = acp_begin_local_map(map)
    end_of_map = acp_end_local_map(map)
    do while (it%elem /= end_of_map%elem)
      call check(it%rank == rank, 'a local element')
      here = here + 1
      it = acp_increment_map_it(it)
    end do
    call check(here == acp_size_local_map(map), 'acp_size_local_map')
    end_of_map = acp_end_map(map)
    call check(end_of_map%elem == ACP_GA_NULL .and. &
        end_of_map%map%ga == map%ga, 'acp_end_map')
    call acp_remove_map(map, number(20))
    call expect_map(map, 1, 19, 'acp_remove_map')
    call acp_assign_map(other, map)
    call expect_map(other, 1, 19, 'acp_assign_map')
    call acp_clear_map(map)
    call check(acp_insert_map(map, pair(20, 200)) == 1, 'acp_insert_map')
    call acp_merge_map(map, other)
    call expect_map(map, 1, 20, 'acp_merge_map')
    call acp_swap_map(map, other)
    call expect_map(map, 1, 19, 'acp_swap_map')
    call acp_move_map(map, other)
    call expect_map(map, 1, 20, 'acp_move_map')

    here = acp_size_local_map(map)
    call acp_clear_local_map(other)
    call check(acp_size_local_map(other) == 0, 'acp_clear_local_map')
    call acp_merge_local_map(other, map)
    call check(acp_size_local_map(other) == here, 'acp_merge_local_map')
    call acp_clear_map(other)
    call acp_move_local_map(other, map)
    call check(acp_size_local_map(map) == 0, 'acp_move_local_map')
    call acp_assign_local_map(map, other)
    call expect_map(map, 1, 20, 'acp_assign_local_map')
    call acp_destroy_map(map)
    call acp_destroy_map(other)
    call check(acp_errno() == ACPX_OK, 'acp_destroy_map')
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  !> Several elements at once, and counting.
  subroutine run_map_extensions()
    type(acp_map_t) :: map
    type(acp_pair_t) :: pairs(3), found(4)
    integer(c_int) :: results(3)
    integer(c_int64_t) :: before

    map = new_map()
    pairs = [pair(1, 10), pair(2, 20), pair(3, 30)]
    call check(acpx_insert_map_n(map, pairs(:2), 2_c_size_t) == 2, &
        'acpx_insert_map_n without results')
    call check(acpx_insert_map_n(map, pairs, 3_c_size_t, results) == 1, &
        'acpx_insert_map_n')
    call check(all(results == [0, 0, 1]), 'its results')
    call check(acpx_find_map_n(map, [number(3), number(9), number(1), &
        number(2)], 4_c_size_t, found) == 3, 'acpx_find_map_n')
    call check(found(2)%first%ga == ACP_GA_NULL, 'a key that is not there')
    call check(word_at(found(1)%second%ga) == 30, 'a value that was found')
    call check(acpx_upsert_add8_map(map, number(9), 5_c_int64_t) == 1, &
        'acpx_upsert_add8_map of a new key')
    before = 0
    call check(acpx_upsert_add8_map(map, number(9), 2_c_int64_t, before) == 0 &
        .and. before == 5, 'acpx_upsert_add8_map')
    call check(acpx_upsert_add8_map(map, number(9), 0_c_int64_t, before) == 0 &
        .and. before == 7, 'what it has added')
    call acp_destroy_map(map)
    call check(acp_errno() == ACPX_OK, 'acp_destroy_map')
  end subroutine

  !> The names without the structure that only tables have.
  subroutine run_generic_tables()
    type(acp_set_t) :: set, other
    type(acp_set_it_t) :: it
    type(acp_map_t) :: map
    integer :: i

    set = new_set()
    other = new_set()
    do i = 1, 8
      call check(acp_insert(set, number(i)) == 1, 'acp_insert')
    end do
    it = acp_find(set, number(8))
    call check(it%elem /= ACP_GA_NULL, 'acp_find')
    call acp_assign_local(other, set)
    call check(acp_size(other) == acp_size_local(set), 'acp_assign_local')
    call acp_clear_local(other)
    call check(acp_empty_local(other) == 1, 'acp_clear_local')
    call acp_merge_local(other, set)
    call check(acp_size(other) == acp_size_local(set), 'acp_merge_local')
    it = acp_begin_local(set)
    do while (it%elem /= ACP_GA_NULL)
      it = acp_increment(it)
    end do
    call check(it%rank == rank_of_end(acp_end_local(set)), 'acp_end_local')
    call acp_clear(other)
    call acp_move_local(other, set)
    call check(acp_empty_local(set) == 1, 'acp_move_local')
    call acp_move(set, other)
    call expect_set(set, 1, 8, 'acp_move')
    call acp_destroy(set)
    call acp_destroy(other)

    map = new_map()
    call check(acp_insert(map, pair(6, 60)) == 1, 'acp_insert')
    scratch(30) = 0
    call check(acp_retrieve(map, acp_pair_t(number(6), &
        acp_element_t(word(rank, 30), 8_c_size_t))) == 8, 'acp_retrieve')
    call check(scratch(30) == 60, 'acp_retrieve: the value')
    call acp_destroy(map)
    call check(acp_errno() == ACPX_OK, 'acp_destroy')
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  integer(c_int) function rank_of_end(it)
    type(acp_set_it_t), intent(in) :: it
    rank_of_end = it%rank
  end function

end module
