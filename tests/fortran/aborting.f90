!> A job that one rank ends: what it has printed has to appear, though the
!> run-time library of Fortran still has it in a buffer.
program aborting
  use acp
  implicit none

  if (acp_init() /= 0) stop 1
  if (acp_rank() == 1) then
    print '(a)', 'printed before the end'
    call acp_abort('the end of the test')
  end if
  if (acp_sync() /= 0) stop 3
  print '(a)', 'not reached'
end program
