!> A job of QMP that one node ends, with a status, and with a text when the
!> program has a word. What Fortran has in a buffer has to appear.
program qmp_aborting
  use qmp
  implicit none

  if (QMP_init_msg_passing(QMP_THREAD_SINGLE) /= QMP_SUCCESS) stop 1
  if (QMP_get_node_number() == 1) then
    print '(a)', 'printed before the end'
    if (acpx_command_argument_count() == 0) call QMP_abort(7)
    call QMP_abort_string(9, 'the end of the test')
  end if
  if (QMP_barrier() /= QMP_SUCCESS) stop 3
  print '(a)', 'not reached'
end program
