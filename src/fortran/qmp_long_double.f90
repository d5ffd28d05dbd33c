!> Sums of long double, as qmp.h has them. Part of module qmp.
!>
!> Alone in a file, since Fortran compilers without that kind cannot compile it:
!> they leave it out, and its line in module qmp.
module qmp_long_double
  use, intrinsic :: iso_c_binding, only: c_int, c_long_double
  use qmp_types, only: QMP_comm_t, QMP_status_t
  implicit none
  private :: c_int, c_long_double, QMP_comm_t, QMP_status_t

  interface
    function QMP_sum_long_double(value) bind(C, name='QMP_sum_long_double')
      import
      real(c_long_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_sum_long_double
    end function

    function QMP_comm_sum_long_double(comm, value) bind(C, &
        name='QMP_comm_sum_long_double')
      import
      type(QMP_comm_t), value :: comm
      real(c_long_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_sum_long_double
    end function

    function QMP_sum_long_double_array(value, length) bind(C, &
        name='QMP_sum_long_double_array')
      import
      real(c_long_double), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_sum_long_double_array
    end function

    function QMP_comm_sum_long_double_array(comm, value, length) bind(C, &
        name='QMP_comm_sum_long_double_array')
      import
      type(QMP_comm_t), value :: comm
      real(c_long_double), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_comm_sum_long_double_array
    end function
  end interface

end module
