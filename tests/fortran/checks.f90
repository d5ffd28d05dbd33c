!> What the Fortran tests share: an assertion, and scratch memory that every
!> rank reaches. A failed assertion ends the whole job with status 1.
module checks
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int64_t, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  use acp
  implicit none
  private
  public :: check, numbers_of, scratch, use_starter_memory, word, word_at
  public :: next, previous, procs, rank

  integer(c_int), protected :: rank = -1, procs = 0, next = 0, previous = 0

  !> The caller's starter memory as words of 8 bytes, from number 1. Number 1 is
  !> where word_at puts what it has read.
  integer(c_int64_t), pointer, asynchronous :: scratch(:)

  integer :: passed = 0

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what

    if (holds) then
      passed = passed + 1
      return
    end if
    write (error_unit, '(a, i0, 3a, i0, 2a)') 'rank ', rank, ': failed: ', &
        what, '; acp_errno ', acp_errno(), ': ', acpx_strerror(acp_errno())
    call acp_abort('a check failed: '//what)
  end subroutine

  !> How many checks have passed: a test without any has tested nothing.
  integer function numbers_of()
    numbers_of = passed
  end function

  !> Reads who this rank is, after acp_init and acp_reset.
  subroutine use_starter_memory()
    rank = acp_rank()
    procs = acp_procs()
    next = mod(rank + 1, procs)
    previous = mod(rank + procs - 1, procs)
    call c_f_pointer(acp_query_address(acp_query_starter_ga(rank)), scratch, &
        [1024])
  end subroutine

  !> The address of a word of a rank's scratch memory.
  integer(acp_ga_t) function word(of_rank, number)
    integer(c_int), intent(in) :: of_rank
    integer, intent(in) :: number
    word = acp_query_starter_ga(of_rank) + 8_acp_ga_t * (number - 1)
  end function

  !> The 8 bytes at an address of any rank.
  integer(c_int64_t) function word_at(ga)
    integer(acp_ga_t), intent(in) :: ga
    call acp_complete(acp_copy(word(rank, 1), ga, 8_c_size_t, ACP_HANDLE_ALL))
    word_at = scratch(1)
  end function

end module
