!> Barriers, broadcasts and reductions of QMP, by both names of each. Node n
!> gives n + 1; sums are then nodes (nodes + 1) / 2.
module qmp_global_tests
  use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_float, &
      c_funloc, c_int, c_int64_t, c_loc, c_long, c_long_double, c_null_ptr, &
      c_ptr, c_size_t
  use checks, only: check
  use qmp
  use qmp_machine_tests, only: me, nodes
  implicit none
  private
  public :: run_broadcasts, run_extremes, run_others, run_output, run_sums

contains

  !> Leaves the larger number in inout: a function for QMP_binary_reduction.
  subroutine larger(inout, in) bind(C)
    type(c_ptr), value :: inout, in
    integer(c_int), pointer :: a, b

    call c_f_pointer(inout, a)
    call c_f_pointer(in, b)
    a = max(a, b)
  end subroutine

  subroutine run_broadcasts()
    integer(c_int), target :: numbers(4), blocks(16), received(16)
    integer :: node

    call check(QMP_barrier() == QMP_SUCCESS, 'QMP_barrier')
    call check(QMP_comm_barrier(QMP_comm_get_default()) == QMP_SUCCESS, &
        'QMP_comm_barrier')
    numbers = me + 5
    call check(QMP_broadcast(c_loc(numbers), 16_c_size_t) == QMP_SUCCESS, &
        'QMP_broadcast')
    call check(all(numbers == 5), 'numbers of node 0')
    numbers = me + 7
    call check(QMP_comm_broadcast(QMP_comm_get_default(), c_loc(numbers), &
        8_c_size_t) == QMP_SUCCESS, 'QMP_comm_broadcast')
    call check(all(numbers(:2) == 7) .and. all(numbers(3:) == me + 7), &
        'the first two numbers of node 0')
    blocks = me
    received = -1
    call check(QMP_comm_alltoall(QMP_comm_get_default(), c_loc(received), &
        c_loc(blocks), 4_c_int) == QMP_SUCCESS, 'QMP_comm_alltoall')
    call check(all(received(:nodes) == [(node, node = 0, nodes - 1)]) .and. &
        all(received(nodes + 1:) == -1), 'the numbers of all nodes')
  end subroutine

  subroutine run_sums()
    type(QMP_comm_t) :: comm
    integer(c_int) :: i
    integer(c_int64_t) :: u
    real(c_float) :: f, fs(3)
    real(c_double) :: d, ds(3)
    real(c_long_double) :: l, ls(3)
    integer :: sum

    comm = QMP_comm_get_default()
    sum = nodes * (nodes + 1) / 2
    i = me + 1_c_int
    call check(QMP_sum_int(i) == QMP_SUCCESS, 'QMP_sum_int')
    call check(i == sum, 'QMP_sum_int: the sum')
    i = me + 1_c_int
    call check(QMP_comm_sum_int(comm, i) == QMP_SUCCESS, 'QMP_comm_sum_int')
    call check(i == sum, 'QMP_comm_sum_int: the sum')
    u = me + 1_c_int64_t
    call check(QMP_sum_uint64_t(u) == QMP_SUCCESS, 'QMP_sum_uint64_t')
    call check(u == sum, 'QMP_sum_uint64_t: the sum')
    u = me + 1_c_int64_t
    call check(QMP_comm_sum_uint64_t(comm, u) == QMP_SUCCESS, &
        'QMP_comm_sum_uint64_t')
    call check(u == sum, 'QMP_comm_sum_uint64_t: the sum')
    f = me + 1.0_c_float
    call check(QMP_sum_float(f) == QMP_SUCCESS, 'QMP_sum_float')
    call check(nint(f) == sum, 'QMP_sum_float: the sum')
    f = me + 1.0_c_float
    call check(QMP_comm_sum_float(comm, f) == QMP_SUCCESS, &
        'QMP_comm_sum_float')
    call check(nint(f) == sum, 'QMP_comm_sum_float: the sum')
    d = me + 1.0_c_double
    call check(QMP_sum_double(d) == QMP_SUCCESS, 'QMP_sum_double')
    call check(nint(d) == sum, 'QMP_sum_double: the sum')
    d = me + 1.0_c_double
    call check(QMP_comm_sum_double(comm, d) == QMP_SUCCESS, &
        'QMP_comm_sum_double')
    call check(nint(d) == sum, 'QMP_comm_sum_double: the sum')
    d = me + 1.0_c_double
    call check(QMP_sum_double_extended(d) == QMP_SUCCESS, &
        'QMP_sum_double_extended')
    call check(nint(d) == sum, 'QMP_sum_double_extended: the sum')
    d = me + 1.0_c_double
    call check(QMP_comm_sum_double_extended(comm, d) == QMP_SUCCESS, &
        'QMP_comm_sum_double_extended')
    call check(nint(d) == sum, 'QMP_comm_sum_double_extended: the sum')
    l = me + 1.0_c_long_double
    call check(QMP_sum_long_double(l) == QMP_SUCCESS, 'QMP_sum_long_double')
    call check(nint(l) == sum, 'QMP_sum_long_double: the sum')
    l = me + 1.0_c_long_double
    call check(QMP_comm_sum_long_double(comm, l) == QMP_SUCCESS, &
        'QMP_comm_sum_long_double')
    call check(nint(l) == sum, 'QMP_comm_sum_long_double: the sum')
    fs = [1, 2, 3] * (me + 1.0_c_float)
    call check(QMP_sum_float_array(fs, 3_c_int) == QMP_SUCCESS, &
        'QMP_sum_float_array')
    call check(all(nint(fs) == [1, 2, 3] * sum), &
        'QMP_sum_float_array: the sum')
    fs = [1, 2, 3] * (me + 1.0_c_float)
    call check(QMP_comm_sum_float_array(comm, fs, 3_c_int) == QMP_SUCCESS, &
        'QMP_comm_sum_float_array')
    call check(all(nint(fs) == [1, 2, 3] * sum), &
        'QMP_comm_sum_float_array: the sum')
    ds = [1, 2, 3] * (me + 1.0_c_double)
    call check(QMP_sum_double_array(ds, 3_c_int) == QMP_SUCCESS, &
        'QMP_sum_double_array')
    call check(all(nint(ds) == [1, 2, 3] * sum), &
        'QMP_sum_double_array: the sum')
    ds = [1, 2, 3] * (me + 1.0_c_double)
    call check(QMP_comm_sum_double_array(comm, ds, 3_c_int) == QMP_SUCCESS, &
        'QMP_comm_sum_double_array')
    call check(all(nint(ds) == [1, 2, 3] * sum), &
        'QMP_comm_sum_double_array: the sum')
    ds = [1, 2, 3] * (me + 1.0_c_double)
    call check(QMP_sum_double_extended_array(ds, 3_c_int) == QMP_SUCCESS, &
        'QMP_sum_double_extended_array')
    call check(all(nint(ds) == [1, 2, 3] * sum), &
        'QMP_sum_double_extended_array: the sum')
    ds = [1, 2, 3] * (me + 1.0_c_double)
    call check(QMP_comm_sum_double_extended_array(comm, ds, 3_c_int) &
        == QMP_SUCCESS, 'QMP_comm_sum_double_extended_array')
    call check(all(nint(ds) == [1, 2, 3] * sum), &
        'QMP_comm_sum_double_extended_array: the sum')
    ls = [1, 2, 3] * (me + 1.0_c_long_double)
    call check(QMP_sum_long_double_array(ls, 3_c_int) == QMP_SUCCESS, &
        'QMP_sum_long_double_array')
    call check(all(nint(ls) == [1, 2, 3] * sum), &
        'QMP_sum_long_double_array: the sum')
    ls = [1, 2, 3] * (me + 1.0_c_long_double)
    call check(QMP_comm_sum_long_double_array(comm, ls, 3_c_int) &
        == QMP_SUCCESS, 'QMP_comm_sum_long_double_array')
    call check(all(nint(ls) == [1, 2, 3] * sum), &
        'QMP_comm_sum_long_double_array: the sum')
  end subroutine

  !> Largest and smallest of 1 .. nodes.
  subroutine run_extremes()
    type(QMP_comm_t) :: comm
    integer(c_int) :: i
    real(c_float) :: f
    real(c_double) :: d

    comm = QMP_comm_get_default()
    i = me + 1_c_int
    call check(QMP_max_int(i) == QMP_SUCCESS, 'QMP_max_int')
    call check(i == nodes, 'QMP_max_int: the value')
    i = me + 1_c_int
    call check(QMP_comm_max_int(comm, i) == QMP_SUCCESS, 'QMP_comm_max_int')
    call check(i == nodes, 'QMP_comm_max_int: the value')
    f = me + 1.0_c_float
    call check(QMP_max_float(f) == QMP_SUCCESS, 'QMP_max_float')
    call check(nint(f) == nodes, 'QMP_max_float: the value')
    f = me + 1.0_c_float
    call check(QMP_comm_max_float(comm, f) == QMP_SUCCESS, &
        'QMP_comm_max_float')
    call check(nint(f) == nodes, 'QMP_comm_max_float: the value')
    d = me + 1.0_c_double
    call check(QMP_max_double(d) == QMP_SUCCESS, 'QMP_max_double')
    call check(nint(d) == nodes, 'QMP_max_double: the value')
    d = me + 1.0_c_double
    call check(QMP_comm_max_double(comm, d) == QMP_SUCCESS, &
        'QMP_comm_max_double')
    call check(nint(d) == nodes, 'QMP_comm_max_double: the value')
    i = me + 1_c_int
    call check(QMP_min_int(i) == QMP_SUCCESS, 'QMP_min_int')
    call check(i == 1, 'QMP_min_int: the value')
    i = me + 1_c_int
    call check(QMP_comm_min_int(comm, i) == QMP_SUCCESS, 'QMP_comm_min_int')
    call check(i == 1, 'QMP_comm_min_int: the value')
    f = me + 1.0_c_float
    call check(QMP_min_float(f) == QMP_SUCCESS, 'QMP_min_float')
    call check(nint(f) == 1, 'QMP_min_float: the value')
    f = me + 1.0_c_float
    call check(QMP_comm_min_float(comm, f) == QMP_SUCCESS, &
        'QMP_comm_min_float')
    call check(nint(f) == 1, 'QMP_comm_min_float: the value')
    d = me + 1.0_c_double
    call check(QMP_min_double(d) == QMP_SUCCESS, 'QMP_min_double')
    call check(nint(d) == 1, 'QMP_min_double: the value')
    d = me + 1.0_c_double
    call check(QMP_comm_min_double(comm, d) == QMP_SUCCESS, &
        'QMP_comm_min_double')
    call check(nint(d) == 1, 'QMP_comm_min_double: the value')
  end subroutine

  subroutine run_others()
    type(QMP_comm_t) :: comm
    integer(c_long) :: bits
    integer(c_int), target :: number
    type(c_ptr) :: hidden

    comm = QMP_comm_get_default()
    bits = ibset(0_c_long, 40 + me)
    call check(QMP_xor_ulong(bits) == QMP_SUCCESS, 'QMP_xor_ulong')
    call check(bits == ishft(ibset(0_c_long, nodes) - 1, 40), 'all bits')
    bits = 3
    call check(QMP_comm_xor_ulong(comm, bits) == QMP_SUCCESS, &
        'QMP_comm_xor_ulong')
    call check(bits == merge(0, 3, mod(nodes, 2) == 0), 'bits of all nodes')
    number = 10 * me
    call check(QMP_binary_reduction(c_loc(number), 4_c_size_t, &
        c_funloc(larger)) == QMP_SUCCESS, 'QMP_binary_reduction')
    call check(number == 10 * (nodes - 1), 'the largest')
    number = -me
    call check(QMP_comm_binary_reduction(comm, c_loc(number), 4_c_size_t, &
        c_funloc(larger)) == QMP_SUCCESS, 'QMP_comm_binary_reduction')
    call check(number == 0, 'the largest of the others')
    hidden = c_null_ptr
    call check(QMP_get_hidden_comm(comm, hidden) == QMP_NOTSUPPORTED, &
        'QMP_get_hidden_comm')
  end subroutine

  !> Levels, times and lines; the test of the job looks for the lines.
  subroutine run_output()
    real(c_double) :: begin

    call check(QMP_verbose(0_c_int) == 0, 'QMP_verbose')
    call check(QMP_profcontrol(1_c_int) == 0, 'QMP_profcontrol')
    call check(QMP_profcontrol(1_c_int) == 1, 'the level before')
    call QMP_reset_total_qmp_time()
    begin = QMP_time()
    call check(QMP_barrier() == QMP_SUCCESS, 'QMP_barrier')
    call check(QMP_get_total_qmp_time() > 0, 'QMP_get_total_qmp_time')
    call check(QMP_get_total_qmp_time() <= QMP_time() - begin, 'QMP_time')
    call check(QMP_profcontrol(0_c_int) == 1, 'QMP_profcontrol to 0')
    if (me /= 0) return
    print '(a)', 'a line of Fortran, first'
    call check(QMP_printf('100% of a line  ') > 0, 'QMP_printf')
    call check(QMP_info('in 50% %s') > 0, 'QMP_info')
    call check(QMP_print_error('no failure, 5%') > 0, 'QMP_print_error')
  end subroutine

end module
