!> Chains, signals, waiting, and what layers above use: acp/extension.h. The
!> functions of data structures there are with the structures.
module extension_tests
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, &
      c_funloc, c_int, c_int64_t, c_loc, c_null_char, c_null_ptr, c_ptr, &
      c_size_t
  use acp
  use checks
  implicit none
  private
  public :: add_layers, check_fini, run_extension

  !> What the callbacks count, and the numbers of two layers above.
  integer(c_int), target :: inits = 0, finis = 0
  integer(c_int), target :: steps = 0, asked = 0
  integer(c_int) :: layer = -1, other_layer = -1
  character(kind=c_char), target, save :: other_name(6) = &
      ['o', 't', 'h', 'e', 'r', c_null_char]

contains

  !> Adds 1 to the number that arg points to: init and fini of a module.
  function count_call(arg) bind(C)
    type(c_ptr), value :: arg
    integer(c_int) :: count_call
    integer(c_int), pointer :: number

    call c_f_pointer(arg, number)
    number = number + 1
    count_call = 0
  end function

  !> A progress step: it has always made progress.
  function step(arg) bind(C)
    type(c_ptr), value :: arg
    integer(c_int) :: step
    integer(c_int), pointer :: number

    call c_f_pointer(arg, number)
    number = number + 1
    step = merge(ACPX_STEP_BUSY, 1_c_int, mod(number, 2) == 0)
  end function

  !> A condition: true when it is asked for the third time.
  function third_time(arg) bind(C)
    type(c_ptr), value :: arg
    integer(c_int) :: third_time
    integer(c_int), pointer :: number

    call c_f_pointer(arg, number)
    number = number + 1
    third_time = merge(1_c_int, 0_c_int, number >= 3)
  end function

  !> Before acp_init.
  subroutine add_layers()
    type(acpx_module_t) :: other

    layer = acpx_add_module('a layer', 128_c_size_t, &
        init=count_call, arg=c_loc(inits))
    call check(layer >= 0, 'acpx_add_module with a text')
    other%name = c_loc(other_name)
    other%bytes = 64
    other%fini = c_funloc(count_call)
    other%arg = c_loc(finis)
    other_layer = acpx_add_module(other)
    call check(other_layer > layer, 'acpx_add_module with a structure')
  end subroutine

  !> After acp_finalize; acp_reset was before it.
  subroutine check_fini()
    call check(inits == 2, 'calls of init')
    call check(finis == 2, 'calls of fini')
  end subroutine

  subroutine run_extension()
    call run_layers()
    call run_chain()
    call run_signals()
    call run_pointers()
    call run_waits()
    call run_names()
    call run_published()
  end subroutine

  subroutine run_layers()
    call check(inits == 1 .and. finis == 0, 'init was called')
    call check(acp_query_rank(acpx_module_ga(layer, next)) == next, &
        'acpx_module_ga')
    call check(word_at(acpx_module_ga(other_layer, next) + 56) == 0, &
        'memory of a module is zero')
    call check(acpx_module_ga(99_c_int, rank) == ACP_GA_NULL, 'no module')
    call acpx_set_errno(ACPX_OK)
    call check(acpx_add_module('late', 8_c_size_t) == -1, 'a late module')
    call check(acp_errno() == ACPX_ALREADY_INITIALIZED, 'its code')
    call acpx_set_errno(ACPX_OK)
  end subroutine

  !> A chain to the next rank: a put, a word, an addition, and reading it back.
  subroutine run_chain()
    type(acpx_op_t) :: ops(6)
    integer(acp_handle_t) :: handle

    scratch(40:45) = 0
    scratch(50) = 1234 + rank
    call check(acp_sync() == 0, 'acp_sync')
    ops(1) = acpx_op_t(ACPX_PUT, remote=word(next, 40), local=word(rank, 50), &
        size=8_c_size_t)
    ops(2) = acpx_op_t(ACPX_PUT8, remote=word(next, 41), operand=12_c_int64_t)
    ops(3) = acpx_op_t(ACPX_ADD8, flags=ACPX_MORE, remote=word(next, 41), &
        local=word(rank, 51), operand=3_c_int64_t)
    ops(4) = acpx_op_t(ACPX_CAS8, remote=word(next, 41), compare=15_c_int64_t, &
        operand=6_c_int64_t, local=word(rank, 52))
    ops(5) = acpx_op_t(ACPX_XOR8, remote=word(next, 41), operand=1_c_int64_t)
    ops(6) = acpx_op_t(ACPX_GET, remote=word(next, 41), local=word(rank, 53), &
        size=8_c_size_t)
    handle = acpx_post(ops, 6_c_size_t, ACP_HANDLE_NULL)
    call check(handle /= ACP_HANDLE_NULL, 'acpx_post')
    call acpx_flush()
    call check(acpx_complete_timeout(handle, 60000_c_int) == 0, &
        'acpx_complete_timeout')
    call check(scratch(51) == 12, 'the value before an addition')
    call check(scratch(52) == 15, 'the value before a comparison')
    call check(scratch(53) == 7, 'the word at the end')
    call check(acp_sync() == 0, 'acp_sync')
    call check(scratch(40) == 1234 + previous .and. scratch(41) == 7, &
        'what the previous rank has put')
    ops(1)%opcode = 99
    call check(acpx_post(ops, 1_c_size_t, ACP_HANDLE_NULL) == ACP_HANDLE_NULL &
        .and. acp_errno() == ACPX_INVALID_ARGUMENT, 'an unknown step')
    call acpx_set_errno(ACPX_OK)
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  !> A word for the next rank, with a signal; the previous one sends too.
  subroutine run_signals()
    integer(c_int64_t) :: seen

    scratch(60:61) = 0
    scratch(62) = 500 + rank
    call check(acp_sync() == 0, 'acp_sync')
    seen = -1
    call check(acpx_wait_word(word(rank, 3), scratch(3), 0_c_int, seen) == 1, &
        'acpx_wait_word of a word that stays')
    call check(seen == -1, 'a value is written on success only')
    call check(acpx_put_signal(word(next, 60), word(rank, 62), 8_c_size_t, &
        word(next, 61), 2_c_int64_t, ACP_HANDLE_NULL) /= ACP_HANDLE_NULL, &
        'acpx_put_signal')
    call check(acpx_wait_word(word(rank, 61), 0_c_int64_t, 60000_c_int, seen) &
        == 0, 'acpx_wait_word')
    call check(seen == 2 .and. scratch(60) == 500 + previous, &
        'what came with the signal')
    call check(acpx_wait_word(word(rank, 61), 0_c_int64_t, 0_c_int) == 0, &
        'acpx_wait_word without a value')
    call acp_complete(ACP_HANDLE_ALL)
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  subroutine run_pointers()
    integer(c_int64_t), pointer, asynchronous :: number
    integer(c_int) :: agree

    call c_f_pointer(acpx_pointer(word(rank, 70)), number)
    scratch(70) = 8
    call check(number == 8, 'acpx_pointer')
    call check(c_associated(acpx_pointer(word(rank, 70)), &
        acp_query_address(word(rank, 70))), 'acpx_pointer of own memory')
    call check(acpx_announce_memory(word(rank, 70), 8_c_size_t, next) == 0, &
        'acpx_announce_memory')
    agree = acpx_atomics_agree(next)
    call check(agree == 0 .or. agree == 1, 'acpx_atomics_agree')
    call check(acpx_atomics_agree(procs) == -1, 'acpx_atomics_agree of no rank')
    call check(acpx_pointers_agree(rank) == 1, 'acpx_pointers_agree of its own')
    call check(acpx_pointers_agree(procs) == -1, &
        'acpx_pointers_agree of no rank')
    call check(acpx_release_job() == -1, 'acpx_release_job, not held')
    call check(acpx_hold_job() == 0, 'acpx_hold_job')
    call check(acpx_release_job() == 0, 'acpx_release_job')
    call acpx_set_errno(ACPX_OK)
  end subroutine

  subroutine run_waits()
    integer(c_int) :: runs

    call check(acpx_wait_until(c_funloc(third_time), c_loc(asked), &
        60000_c_int) == 0, 'acpx_wait_until')
    call check(asked == 3, 'times that it asked')
    call check(acpx_add_progress(c_funloc(step), c_loc(steps)) == 0, &
        'acpx_add_progress')
    asked = -100
    call check(acpx_wait_until(c_funloc(third_time), c_loc(asked), &
        60000_c_int) == 0, 'acpx_wait_until with a step')
    runs = steps
    call acpx_hurry_progress()
    asked = -100
    call check(acpx_wait_until(c_funloc(third_time), c_loc(asked), &
        60000_c_int) == 0, 'acpx_wait_until after a wish')
    call check(steps > runs, 'acpx_hurry_progress')
    call check(acpx_remove_progress(c_funloc(step), c_loc(steps)) == 0, &
        'acpx_remove_progress')
    call check(steps > 0, 'the step has run')
    call check(acpx_remove_progress(c_funloc(step), c_loc(steps)) == -1, &
        'a step that is not there')
    call acpx_set_errno(ACPX_OK)
  end subroutine

  !> Each rank publishes under a name of its own, and looks the next one up.
  subroutine run_published()
    integer(c_int64_t), target :: mine, found
    integer(c_size_t) :: bytes

    mine = 7000 + rank
    found = -1
    call check(acpx_publish(text_of(rank), c_loc(mine), 8_c_size_t) == 0, &
        'acpx_publish')
    call check(acpx_publish(text_of(rank), c_loc(mine), 8_c_size_t) == 1, &
        'acpx_publish of a name that is taken')
    call check(acpx_lookup(text_of(next), c_loc(found), 8_c_size_t, &
        timeout_ms=60000_c_int) == 0, 'acpx_lookup')
    call check(found == 7000 + next, 'what the next rank has published')
    bytes = 0
    call check(acpx_lookup(text_of(rank), c_loc(found), 8_c_size_t, bytes, &
        0_c_int) == 0 .and. bytes == 8, 'acpx_lookup with a size')
    call check(acpx_publish('too large', c_loc(mine), &
        ACPX_MAX_PUBLISHED + 1_c_size_t) == -1, 'a value that is too large')
    call check(acp_errno() == ACPX_TOO_LARGE, 'its code')
    call acpx_set_errno(ACPX_OK)
    call check(acp_sync() == 0, 'acp_sync')
    call check(acpx_unpublish(text_of(rank)) == 0, 'acpx_unpublish')
    call check(acpx_unpublish(text_of(rank)) == 1, 'acpx_unpublish again')
    call check(acpx_lookup(text_of(rank), c_loc(found), 8_c_size_t, &
        timeout_ms=0_c_int) == 1, 'acpx_lookup of a removed name')
  end subroutine

  function text_of(number) result(text)
    integer(c_int), intent(in) :: number
    character(24) :: text
    write (text, '(a, i0)') 'of rank ', number
  end function

  !> Texts for people. Nothing is shown below the level of ACP_LOG.
  subroutine run_names()
    type(c_ptr) :: before
    before = acpx_enter_call(c_loc(other_name))
    call check(.not. c_associated(before), 'acpx_enter_call')
    call check(c_associated(acpx_enter_call(c_null_ptr), c_loc(other_name)), &
        'the outermost name counts')
    call acpx_leave_call(before)
    call check(.not. c_associated(acpx_enter_call(c_null_ptr)), &
        'acpx_leave_call')
    call acpx_leave_call(c_null_ptr)
    call check(acpx_enter_reserve() == 0, 'acpx_enter_reserve')
    call acpx_leave_reserve()
    if (rank == 0) call acpx_log(ACPX_LOG_ERROR, 'a line of acpx_log  ')
    call acpx_log(ACPX_LOG_TRACE, 'a line that is not shown')
  end subroutine

end module
