!> Global memory, its allocation, copies and atomics: acp/global_memory.h,
!> acp/malloc.h, acp/gma.h.
module memory_tests
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_int, &
      c_int32_t, c_int64_t, c_loc, c_ptr, c_size_t
  use acp
  use checks
  implicit none
  private
  public :: run_memory

  !> Words of the scratch memory: results come to 3, the next rank's 10 changes.
  integer, parameter :: old = 3, changed = 10

contains

  subroutine run_memory()
    call run_regions()
    call run_malloc()
    call run_atomics_of_8()
    call run_atomics_of_4()
  end subroutine

  !> A rank registers an array and tells the next rank its address, which reads
  !> and writes there.
  subroutine run_regions()
    integer(c_int64_t), target, asynchronous :: numbers(100)
    integer(acp_atkey_t) :: key
    integer(acp_ga_t) :: ga
    integer(acp_handle_t) :: handle
    type(c_ptr) :: address
    integer :: i

    numbers = [(1000_c_int64_t * rank + i, i = 1, size(numbers))]
    key = acp_register_memory(c_loc(numbers), 800_c_size_t, 0_c_int)
    call check(key /= ACP_ATKEY_NULL, 'acp_register_memory')
    ga = acp_query_ga(key, c_loc(numbers(2)))
    call check(acp_query_rank(ga) == rank, 'acp_query_rank')
    call check(acp_query_color(ga) == 0, 'acp_query_color')
    call check(acp_colors() >= 1, 'acp_colors')
    address = acp_query_address(ga)
    call check(c_associated(address, c_loc(numbers(2))), 'acp_query_address')
    scratch(changed) = ga
    call check(acp_sync() == 0, 'acp_sync')

    ga = word_at(word(next, changed))
    call check(acp_query_rank(ga) == next, 'the address of the next rank')
    call check(word_at(ga) == 1000 * next + 2, 'its second number')
    scratch(20) = -5 - rank
    handle = acp_copy(ga + 8, word(rank, 20), 8_c_size_t, ACP_HANDLE_NULL)
    call check(handle /= ACP_HANDLE_NULL, 'acp_copy')
    do while (acp_inquire(handle) /= 0)
    end do
    call acp_complete(handle)
    call check(acp_sync() == 0, 'acp_sync')
    call check(numbers(3) == -5 - previous, 'what the previous rank wrote')
    call check(numbers(2) == 1000 * rank + 2, 'the number before it')
    call check(acp_sync() == 0, 'acp_sync')

    call check(acp_unregister_memory(key) == 0, 'acp_unregister_memory')
    call check(acp_query_ga(key, c_loc(numbers)) == ACP_GA_NULL, 'a dead key')
    call check(acp_errno() == ACPX_BAD_KEY, 'its code')
    key = acp_register_memory(c_loc(numbers), 800_c_size_t, 0_c_int)
    call check(acpx_try_unregister_memory(key) == 1, &
        'acpx_try_unregister_memory of memory that nobody has used')
    ! 100 words, and not one byte more.
    key = acpx_try_register_memory(c_loc(numbers), 800_c_size_t, -1_c_int)
    call check(key == ACP_ATKEY_NULL .and. acp_errno() == ACPX_BAD_COLOR, &
        'acpx_try_register_memory in color -1')
    call acpx_set_errno(ACPX_OK)
  end subroutine

  subroutine run_malloc()
    integer(acp_ga_t) :: ga

    ga = acp_malloc(64_c_size_t, next)
    call check(ga /= ACP_GA_NULL, 'acp_malloc')
    call check(acp_query_rank(ga) == next, 'acp_malloc on the next rank')
    scratch(20) = 4711 + rank
    call acp_complete(acp_copy(ga + 56, word(rank, 20), 8_c_size_t, &
        ACP_HANDLE_NULL))
    call check(word_at(ga + 56) == 4711 + rank, 'a word of the block')
    call acp_free(ga)
    call check(acp_errno() == ACPX_OK, 'acp_free')
    call check(acp_malloc(64_c_size_t, procs) == ACP_GA_NULL, &
        'acp_malloc on no rank')
    call check(acp_errno() == ACPX_BAD_RANK, 'its code')
    call acpx_set_errno(ACPX_OK)
    call check(acpx_trim_malloc() == 0, 'acpx_trim_malloc')
  end subroutine

  !> Each operation on the next rank's word, which this rank alone changes.
  subroutine run_atomics_of_8()
    integer(acp_ga_t) :: dst, src
    integer(acp_handle_t), parameter :: now = ACP_HANDLE_NULL
    integer(c_int64_t), parameter :: large = huge(large)

    scratch(changed) = 7
    call check(acp_sync() == 0, 'acp_sync')
    dst = word(rank, old)
    src = word(next, changed)
    call expect(acp_add8(dst, src, 5_c_int64_t, now), 7_c_int64_t, &
        12_c_int64_t, 'acp_add8')
    call expect(acp_cas8(dst, src, 11_c_int64_t, 1_c_int64_t, now), &
        12_c_int64_t, 12_c_int64_t, 'acp_cas8 that finds another value')
    call expect(acp_cas8(dst, src, 12_c_int64_t, 14_c_int64_t, now), &
        12_c_int64_t, 14_c_int64_t, 'acp_cas8')
    call expect(acp_and8(dst, src, 10_c_int64_t, now), 14_c_int64_t, &
        10_c_int64_t, 'acp_and8')
    call expect(acp_or8(dst, src, 5_c_int64_t, now), 10_c_int64_t, &
        15_c_int64_t, 'acp_or8')
    call expect(acp_xor8(dst, src, 9_c_int64_t, now), 15_c_int64_t, &
        6_c_int64_t, 'acp_xor8')
    call expect(acp_swap8(dst, src, large, now), 6_c_int64_t, large, &
        'acp_swap8')
    ! Unsigned numbers in C: the sum wraps around to the lowest number here.
    call expect(acp_add8(dst, src, 1_c_int64_t, now), large, -large - 1, &
        'acp_add8 that wraps around')
    call check(acp_add8(dst, src + 1, 1_c_int64_t, now) == ACP_HANDLE_NULL &
        .and. acp_errno() == ACPX_MISALIGNED, 'acp_add8 on no word')
    call acpx_set_errno(ACPX_OK)
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  subroutine expect(handle, before, after, what)
    integer(acp_handle_t), intent(in) :: handle
    integer(c_int64_t), intent(in) :: before, after
    character(*), intent(in) :: what

    call check(handle /= ACP_HANDLE_NULL, what)
    call acp_complete(handle)
    call check(scratch(old) == before, what//': the value before')
    call check(word_at(word(next, changed)) == after, what//': the value after')
  end subroutine

  subroutine run_atomics_of_4()
    integer(acp_ga_t) :: dst, src
    integer(acp_handle_t), parameter :: now = ACP_HANDLE_NULL

    scratch(changed) = 0
    call check(acp_sync() == 0, 'acp_sync')
    dst = word(rank, old)
    src = word(next, changed) + 4
    call expect4(acp_add4(dst, src, 12_c_int32_t, now), 0, 12, 'acp_add4')
    call expect4(acp_cas4(dst, src, 12_c_int32_t, 14_c_int32_t, now), 12, 14, &
        'acp_cas4')
    call expect4(acp_and4(dst, src, 10_c_int32_t, now), 14, 10, 'acp_and4')
    call expect4(acp_or4(dst, src, 5_c_int32_t, now), 10, 15, 'acp_or4')
    call expect4(acp_xor4(dst, src, 9_c_int32_t, now), 15, 6, 'acp_xor4')
    call expect4(acp_swap4(dst, src, 3_c_int32_t, now), 6, 3, 'acp_swap4')
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  !> The word is the second half of 8 bytes; the first half stays 0.
  subroutine expect4(handle, before, after, what)
    integer(acp_handle_t), intent(in) :: handle
    integer, intent(in) :: before, after
    character(*), intent(in) :: what
    integer(c_int32_t), pointer, asynchronous :: half(:)

    call check(handle /= ACP_HANDLE_NULL, what)
    call acp_complete(handle)
    call c_f_pointer(acp_query_address(word(rank, 1)), half, [2 * old])
    call check(half(2 * old - 1) == before, what//': the value before')
    call acp_complete(acp_copy(word(rank, 1), word(next, changed), 8_c_size_t, &
        ACP_HANDLE_ALL))
    call check(half(1) == 0 .and. half(2) == after, what//': the value after')
  end subroutine

end module
