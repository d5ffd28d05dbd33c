!> A job that one rank ends. What it has printed has to appear, though the
!> run-time library of Fortran may still have it in a buffer. With a word, the
!> line of the other rank has to appear too: acprun sets the variable for that.
program aborting
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t
  use acp
  implicit none
  integer(acp_ga_t) :: word
  logical :: has_signal

  if (acp_init() /= 0) stop 1
  word = acp_query_starter_ga(1_c_int)
  if (acp_rank() == 1) then
    if (acpx_command_argument_count() > 0) then
      if (acpx_wait_word(word, 0_c_int64_t, 60000_c_int) /= 0) stop 2
    end if
    print '(a)', 'printed before the end'
    call acp_abort('the end of the test')
  end if
  if (acpx_command_argument_count() > 0) then
    print '(a)', 'printed by another rank'
    has_signal = acpx_put_signal(word, word, 0_c_size_t, word, 1_c_int64_t, &
        ACP_HANDLE_NULL) /= ACP_HANDLE_NULL
    if (.not. has_signal) stop 4
  end if
  if (acp_sync() /= 0) stop 3
  print '(a)', 'not reached'
end program
