!> Begin and end: acp/infrastructure.h, the command line, errors and texts.
module start_tests
  use, intrinsic :: iso_c_binding, only: c_associated, c_int, c_int64_t, &
      c_sizeof
  use acp
  use checks
  implicit none
  private
  public :: after_the_end, before_the_start, run_reset, run_start

contains

  subroutine before_the_start()
    character(8) :: argument
    integer :: length, status

    call check(acp_errno() == ACPX_OK, 'no error at first')
    call check(acp_procs() == -1, 'acp_procs before acp_init')
    call check(acp_errno() == ACPX_NOT_INITIALIZED, 'its code')
    call acpx_set_errno(ACPX_CLOSED)
    call check(acp_errno() == ACPX_CLOSED, 'a code that was set')
    call acpx_set_errno(ACPX_OK)
    call check(c_associated(acpx_errno_location()), 'acpx_errno_location')
    call check(acpx_version() == ACP_VERSION_TEXT(), 'acpx_version')
    call check(len(acpx_strerror(ACPX_BAD_RANK)) > 5, 'acpx_strerror')
    call check(acpx_strerror(ACPX_BAD_RANK) /= acpx_strerror(ACPX_BAD_KEY), &
        'a sentence for each code')
    ! one --acp-heapsize=24M "two words": acp_init has not taken its word yet.
    call check(acpx_command_argument_count() == 3, 'words before acp_init')
    call acpx_get_command_argument(1, argument, length, status)
    call check(argument == 'one' .and. length == 3 .and. status == 0, &
        'a word before acp_init')
  end subroutine

  !> The version is what the build says; CMake passes it in the environment.
  function ACP_VERSION_TEXT() result(text)
    character(:), allocatable :: text
    character(16) :: value
    call get_environment_variable('TEST_VERSION', value)
    text = trim(value)
  end function

  subroutine run_start()
    character(12) :: argument
    character(4) :: short
    integer :: length, status
    integer(c_int64_t) :: value

    call check(acp_init() == 0, 'acp_init')
    call use_starter_memory()
    call check(procs >= 2 .and. rank >= 0 .and. rank < procs, 'rank of procs')
    call check(acp_init() == -1, 'a second acp_init')
    call check(acp_errno() == ACPX_ALREADY_INITIALIZED, 'its code')

    call check(acpx_command_argument_count() == 2, 'words that remain')
    call acpx_get_command_argument(2, argument, length, status)
    call check(argument == 'two words' .and. length == 9 .and. status == 0, &
        'a word of two words')
    call acpx_get_command_argument(2, short, status=status)
    call check(short == 'two ' .and. status == -1, 'a truncated word')
    call acpx_get_command_argument(3, argument, length, status)
    call check(argument == '' .and. length == 0 .and. status == 1, 'no word')
    value = 0
    call check(acpx_setting('ACP_HEAP_SIZE  ', value) == 0, 'acpx_setting')
    call check(value == 24 * 1024 * 1024, 'the option was taken')
    call check(acpx_count('steps', 3_c_int64_t) == 0, 'acpx_count')
    call check(acpx_count('', 3_c_int64_t) == -1, 'a count without a name')
    call check(acpx_setting('ACP_NO_SUCH', value) == -1, 'no such setting')
    call check(acp_errno() == ACPX_INVALID_ARGUMENT, 'its code')

    call check(acp_sync() == 0, 'acp_sync')
    call check(acpx_sync_timeout(60000_c_int) == 0, 'acpx_sync_timeout')
    call check_layouts()
  end subroutine

  !> Sizes of the types of C, where they have padding and nesting.
  subroutine check_layouts()
    type(acp_deque_it_t) :: place
    type(acp_list_it_t) :: element
    type(acp_map_it_t) :: entry
    type(acp_map_ib_t) :: found
    type(acp_pair_t) :: pair
    type(acpx_op_t) :: op
    type(acpx_module_t) :: layer

    call check(c_sizeof(place) == 16, 'acp_deque_it_t')
    call check(c_sizeof(element) == 16, 'acp_list_it_t')
    call check(c_sizeof(entry) == 40, 'acp_map_it_t')
    call check(c_sizeof(found) == 48, 'acp_map_ib_t')
    call check(c_sizeof(pair) == 32, 'acp_pair_t')
    call check(c_sizeof(op) == 48, 'acpx_op_t')
    call check(c_sizeof(layer) == 40, 'acpx_module_t')
  end subroutine

  !> Every process gets the rank behind its own.
  subroutine run_reset()
    integer(c_int) :: wanted

    wanted = next
    scratch(5) = 77
    call check(acp_reset(wanted) == 0, 'acp_reset')
    call use_starter_memory()
    call check(rank == wanted, 'the rank that was asked for')
    call check(scratch(5) == 0, 'starter memory is zero again')
    ! All proposals are equal: no permutation.
    call check(acp_reset(0_c_int) == -1, 'acp_reset to one rank')
    call check(acp_errno() == ACPX_BAD_RANK, 'its code')
    call check(acp_rank() == wanted, 'the rank stays')
  end subroutine

  subroutine after_the_end()
    call check(acp_finalize() == 0, 'acp_finalize')
    call acpx_set_errno(ACPX_OK)
    call check(acp_rank() == -1 .and. acp_errno() == ACPX_FINALIZED, &
        'acp_rank after acp_finalize')
  end subroutine

end module
