!> A user's program of QMP: the nodes add up their numbers.
program qmp_consumer
  use, intrinsic :: iso_c_binding, only: c_int
  use qmp
  implicit none
  integer(c_int) :: sum

  if (QMP_init_msg_passing(QMP_THREAD_SINGLE) /= QMP_SUCCESS) stop 1
  sum = QMP_get_node_number()
  if (QMP_sum_int(sum) /= QMP_SUCCESS) stop 1
  if (QMP_is_primary_node() == QMP_TRUE) print '(2a, i0)', &
      QMP_version_str(), ': sum ', sum
  call QMP_finalize_msg_passing()
end program
