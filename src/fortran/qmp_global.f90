!> Barriers, broadcasts and reductions, as qmp.h has them; its conventions hold
!> here too. Part of module qmp.
!>
!> Values are variables of the kinds of iso_c_binding. A broadcast takes
!> c_loc(a), and a reduction by a function of the program c_funloc(f).
module qmp_global
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_funptr, c_int, &
      c_int64_t, c_long, c_ptr, c_size_t
  use qmp_types, only: QMP_comm_t, QMP_status_t
  implicit none
  private :: c_double, c_float, c_funptr, c_int, c_int64_t, c_long, c_ptr, &
      c_size_t, QMP_comm_t, QMP_status_t

  interface
    !> Waits for all nodes.
    function QMP_barrier() bind(C, name='QMP_barrier')
      import
      integer(QMP_status_t) :: QMP_barrier
    end function

    function QMP_comm_barrier(comm) bind(C, name='QMP_comm_barrier')
      import
      type(QMP_comm_t), value :: comm
      integer(QMP_status_t) :: QMP_comm_barrier
    end function

    !> Copies nbytes bytes of node 0 to all nodes.
    function QMP_broadcast(buffer, nbytes) bind(C, name='QMP_broadcast')
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: nbytes
      integer(QMP_status_t) :: QMP_broadcast
    end function

    function QMP_comm_broadcast(comm, buffer, nbytes) bind(C, &
        name='QMP_comm_broadcast')
      import
      type(QMP_comm_t), value :: comm
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: nbytes
      integer(QMP_status_t) :: QMP_comm_broadcast
    end function

    !> Block i of sendbuffer on node j becomes block j of recvbuffer on node i;
    !> count is the bytes of a block. c_loc(a) of arrays of the program.
    function QMP_comm_alltoall(comm, recvbuffer, sendbuffer, count) bind(C, &
        name='QMP_comm_alltoall')
      import
      type(QMP_comm_t), value :: comm
      type(c_ptr), value :: recvbuffer, sendbuffer
      integer(c_int), value :: count
      integer(QMP_status_t) :: QMP_comm_alltoall
    end function

    !> Sums.
    function QMP_sum_int(value) bind(C, name='QMP_sum_int')
      import
      integer(c_int), intent(inout) :: value
      integer(QMP_status_t) :: QMP_sum_int
    end function

    function QMP_comm_sum_int(comm, value) bind(C, name='QMP_comm_sum_int')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_sum_int
    end function

    function QMP_sum_uint64_t(value) bind(C, name='QMP_sum_uint64_t')
      import
      integer(c_int64_t), intent(inout) :: value
      integer(QMP_status_t) :: QMP_sum_uint64_t
    end function

    function QMP_comm_sum_uint64_t(comm, value) bind(C, &
        name='QMP_comm_sum_uint64_t')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int64_t), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_sum_uint64_t
    end function

    function QMP_sum_float(value) bind(C, name='QMP_sum_float')
      import
      real(c_float), intent(inout) :: value
      integer(QMP_status_t) :: QMP_sum_float
    end function

    function QMP_comm_sum_float(comm, value) bind(C, name='QMP_comm_sum_float')
      import
      type(QMP_comm_t), value :: comm
      real(c_float), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_sum_float
    end function

    function QMP_sum_double(value) bind(C, name='QMP_sum_double')
      import
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_sum_double
    end function

    function QMP_comm_sum_double(comm, value) bind(C, &
        name='QMP_comm_sum_double')
      import
      type(QMP_comm_t), value :: comm
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_sum_double
    end function

    !> A sum of doubles, added up in the longest type and rounded once.
    function QMP_sum_double_extended(value) bind(C, &
        name='QMP_sum_double_extended')
      import
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_sum_double_extended
    end function

    function QMP_comm_sum_double_extended(comm, value) bind(C, &
        name='QMP_comm_sum_double_extended')
      import
      type(QMP_comm_t), value :: comm
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_sum_double_extended
    end function

    !> Sums of arrays, element by element.
    function QMP_sum_float_array(value, length) bind(C, &
        name='QMP_sum_float_array')
      import
      real(c_float), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_sum_float_array
    end function

    function QMP_comm_sum_float_array(comm, value, length) bind(C, &
        name='QMP_comm_sum_float_array')
      import
      type(QMP_comm_t), value :: comm
      real(c_float), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_comm_sum_float_array
    end function

    function QMP_sum_double_array(value, length) bind(C, &
        name='QMP_sum_double_array')
      import
      real(c_double), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_sum_double_array
    end function

    function QMP_comm_sum_double_array(comm, value, length) bind(C, &
        name='QMP_comm_sum_double_array')
      import
      type(QMP_comm_t), value :: comm
      real(c_double), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_comm_sum_double_array
    end function

    function QMP_sum_double_extended_array(value, length) bind(C, &
        name='QMP_sum_double_extended_array')
      import
      real(c_double), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_sum_double_extended_array
    end function

    function QMP_comm_sum_double_extended_array(comm, value, length) bind(C, &
        name='QMP_comm_sum_double_extended_array')
      import
      type(QMP_comm_t), value :: comm
      real(c_double), intent(inout) :: value(*)
      integer(c_int), value :: length
      integer(QMP_status_t) :: QMP_comm_sum_double_extended_array
    end function

    !> Largest and smallest.
    function QMP_max_int(value) bind(C, name='QMP_max_int')
      import
      integer(c_int), intent(inout) :: value
      integer(QMP_status_t) :: QMP_max_int
    end function

    function QMP_comm_max_int(comm, value) bind(C, name='QMP_comm_max_int')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_max_int
    end function

    function QMP_max_float(value) bind(C, name='QMP_max_float')
      import
      real(c_float), intent(inout) :: value
      integer(QMP_status_t) :: QMP_max_float
    end function

    function QMP_comm_max_float(comm, value) bind(C, name='QMP_comm_max_float')
      import
      type(QMP_comm_t), value :: comm
      real(c_float), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_max_float
    end function

    function QMP_max_double(value) bind(C, name='QMP_max_double')
      import
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_max_double
    end function

    function QMP_comm_max_double(comm, value) bind(C, &
        name='QMP_comm_max_double')
      import
      type(QMP_comm_t), value :: comm
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_max_double
    end function

    function QMP_min_int(value) bind(C, name='QMP_min_int')
      import
      integer(c_int), intent(inout) :: value
      integer(QMP_status_t) :: QMP_min_int
    end function

    function QMP_comm_min_int(comm, value) bind(C, name='QMP_comm_min_int')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_min_int
    end function

    function QMP_min_float(value) bind(C, name='QMP_min_float')
      import
      real(c_float), intent(inout) :: value
      integer(QMP_status_t) :: QMP_min_float
    end function

    function QMP_comm_min_float(comm, value) bind(C, name='QMP_comm_min_float')
      import
      type(QMP_comm_t), value :: comm
      real(c_float), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_min_float
    end function

    function QMP_min_double(value) bind(C, name='QMP_min_double')
      import
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_min_double
    end function

    function QMP_comm_min_double(comm, value) bind(C, &
        name='QMP_comm_min_double')
      import
      type(QMP_comm_t), value :: comm
      real(c_double), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_min_double
    end function

    !> Exclusive or.
    function QMP_xor_ulong(value) bind(C, name='QMP_xor_ulong')
      import
      integer(c_long), intent(inout) :: value
      integer(QMP_status_t) :: QMP_xor_ulong
    end function

    function QMP_comm_xor_ulong(comm, value) bind(C, name='QMP_comm_xor_ulong')
      import
      type(QMP_comm_t), value :: comm
      integer(c_long), intent(inout) :: value
      integer(QMP_status_t) :: QMP_comm_xor_ulong
    end function

    !> A reduction by a function of the program: f(a, b) leaves a op b in a.
    function QMP_binary_reduction(lbuffer, buflen, bfunc) bind(C, &
        name='QMP_binary_reduction')
      import
      type(c_ptr), value :: lbuffer
      integer(c_size_t), value :: buflen
      type(c_funptr), value :: bfunc
      integer(QMP_status_t) :: QMP_binary_reduction
    end function

    function QMP_comm_binary_reduction(comm, lbuffer, buflen, bfunc) bind(C, &
        name='QMP_comm_binary_reduction')
      import
      type(QMP_comm_t), value :: comm
      type(c_ptr), value :: lbuffer
      integer(c_size_t), value :: buflen
      type(c_funptr), value :: bfunc
      integer(QMP_status_t) :: QMP_comm_binary_reduction
    end function
  end interface

end module
