!> Memory and messages of QMP. Nodes form a ring along axis 0; each sends to the
!> next and receives from the previous one.
module qmp_message_tests
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_int, &
      c_int64_t, c_loc, c_null_ptr, c_ptr, c_ptrdiff_t, c_size_t
  use checks, only: check
  use qmp
  use qmp_machine_tests, only: me, nodes
  implicit none
  private
  public :: run_memory, run_messages, run_multiples, run_shapes

  integer(c_int) :: next, previous
  integer(c_int), target, asynchronous :: sent(100), got(100)

contains

  subroutine run_memory()
    type(QMP_mem_t) :: memory
    integer(c_int64_t), pointer :: words(:)
    type(c_ptr) :: address

    memory = QMP_allocate_memory(80_c_size_t)
    call check(memory /= QMP_MEM_NULL, 'QMP_allocate_memory')
    call c_f_pointer(QMP_get_memory_pointer(memory), words, [10])
    words = 5
    call check(all(words == 5), 'QMP_get_memory_pointer')
    call QMP_free_memory(memory)
    memory = QMP_allocate_aligned_memory(100_c_size_t, 4096_c_size_t, &
        QMP_MEM_DEFAULT)
    address = QMP_get_memory_pointer(memory)
    call check(mod(transfer(address, 0_c_int64_t), 4096_c_int64_t) == 0, &
        'QMP_allocate_aligned_memory')
    call QMP_free_memory(memory)
    memory = QMP_allocate_aligned_memory(100_c_size_t, 24_c_size_t, &
        QMP_MEM_DEFAULT)
    call check(memory == QMP_MEM_NULL, 'an alignment of 24')
    call check(.not. c_associated(QMP_get_memory_pointer(memory)), 'NULL')
    call check(QMP_get_error_number(QMP_MSGHANDLE_NULL) == QMP_INVALID_ARG, &
        'QMP_get_error_number')
    call check(len(QMP_get_error_string(QMP_MSGHANDLE_NULL)) > 5, &
        'QMP_get_error_string')
  end subroutine

  !> Starts a send and a receive, waits for both, and frees what they had.
  subroutine exchange(out, in, out_memory, in_memory, what)
    type(QMP_msghandle_t), intent(in) :: out, in
    type(QMP_msgmem_t), intent(in) :: out_memory, in_memory
    character(*), intent(in) :: what

    call check(out /= QMP_MSGHANDLE_NULL .and. in /= QMP_MSGHANDLE_NULL, what)
    call check(QMP_start(in) == QMP_SUCCESS, what//': start of a receive')
    call check(QMP_start(out) == QMP_SUCCESS, what//': start of a send')
    call check(QMP_wait(in) == QMP_SUCCESS, what//': the receive')
    call check(QMP_wait(out) == QMP_SUCCESS, what//': the send')
    call QMP_free_msghandle(in)
    call QMP_free_msghandle(out)
    call QMP_free_msgmem(in_memory)
    call QMP_free_msgmem(out_memory)
  end subroutine

  !> Numbers that tell who sent them, and nothing that was received.
  subroutine prepare()
    integer(c_int) :: i
    next = mod(me + 1_c_int, nodes)
    previous = mod(me + nodes - 1_c_int, nodes)
    sent = [(1000 * me + i, i = 1_c_int, size(sent, kind=c_int))]
    got = -1
  end subroutine

  type(QMP_msgmem_t) function of(numbers, count)
    integer(c_int), target, intent(in) :: numbers(*)
    integer, intent(in) :: count
    of = QMP_declare_msgmem(c_loc(numbers), 4_c_size_t * count)
    call check(of /= QMP_MSGMEM_NULL, 'QMP_declare_msgmem')
  end function

  subroutine expect(count, what)
    integer, intent(in) :: count
    character(*), intent(in) :: what
    integer :: i
    call check(all(got(:count) == [(1000 * previous + i, i = 1, count)]), what)
    call check(all(got(count + 1:) == -1), what//': no more')
    call prepare()
  end subroutine

  subroutine run_messages()
    type(QMP_comm_t) :: comm
    type(QMP_msgmem_t) :: a, b
    type(QMP_msghandle_t) :: out, in

    call prepare()
    comm = QMP_comm_get_default()
    a = of(sent, 10)
    b = of(got, 10)
    call exchange(QMP_declare_send_to(a, next, 0_c_int), &
        QMP_declare_receive_from(b, previous, 0_c_int), a, b, 'send to')
    call expect(10, 'QMP_declare_send_to')
    a = of(sent, 11)
    b = of(got, 11)
    call exchange(QMP_comm_declare_send_to(comm, a, next, 0_c_int), &
        QMP_comm_declare_receive_from(comm, b, previous, 0_c_int), a, b, &
        'send in comm')
    call expect(11, 'QMP_comm_declare_send_to')
    a = of(sent, 12)
    b = of(got, 12)
    call exchange(QMP_declare_send_relative(a, 0_c_int, 1_c_int, 0_c_int), &
        QMP_declare_receive_relative(b, 0_c_int, -1_c_int, 0_c_int), a, b, &
        'send relative')
    call expect(12, 'QMP_declare_send_relative')
    a = of(sent, 13)
    b = of(got, 13)
    call exchange(QMP_comm_declare_send_relative(comm, a, 0_c_int, 1_c_int, &
        0_c_int), QMP_comm_declare_receive_relative(comm, b, 0_c_int, &
        -1_c_int, 0_c_int), a, b, 'send relative in comm')
    call expect(13, 'QMP_comm_declare_send_relative')

    ! Another address, a hint, and asking instead of waiting.
    a = of(sent(50:), 5)
    b = of(got, 5)
    out = QMP_declare_send_to(a, next, 0_c_int)
    in = QMP_declare_receive_from(b, previous, 0_c_int)
    call check(QMP_change_address(out, c_loc(sent)) == QMP_SUCCESS, &
        'QMP_change_address')
    call check(QMP_clear_to_send(in, QMP_CTS_READY) == QMP_SUCCESS, &
        'QMP_clear_to_send')
    call check(QMP_clear_to_send(in, 7_c_int) == QMP_INVALID_ARG, &
        'QMP_clear_to_send with 7')
    call check(QMP_is_complete(in) == QMP_TRUE, 'complete before its start')
    call check(QMP_start(in) == QMP_SUCCESS, 'QMP_start')
    call check(QMP_start(out) == QMP_SUCCESS, 'QMP_start')
    do while (QMP_is_complete(in) == QMP_FALSE)
    end do
    call check(QMP_wait_all([in, out], 2_c_int) == QMP_SUCCESS, 'QMP_wait_all')
    call expect(5, 'QMP_change_address')
    call QMP_free_msghandle(out)
    call QMP_free_msghandle(in)
    call QMP_free_msgmem(a)
    call QMP_free_msgmem(b)
    call check(QMP_declare_send_to(QMP_MSGMEM_NULL, next, 0_c_int) &
        == QMP_MSGHANDLE_NULL, 'a send of no memory')
  end subroutine

  !> Several handles in one, and moving their memory.
  subroutine run_multiples()
    type(QMP_msgmem_t) :: a, b
    type(QMP_msghandle_t) :: pair

    call prepare()
    a = of(sent(60:), 7)
    b = of(got(60:), 7)
    pair = QMP_declare_multiple([QMP_declare_receive_from(b, previous, &
        0_c_int), QMP_declare_send_to(a, next, 0_c_int)], 2_c_int)
    call check(pair /= QMP_MSGHANDLE_NULL, 'QMP_declare_multiple')
    call check(QMP_change_address_multiple(pair, [c_loc(got), c_loc(sent)], &
        2_c_int) == QMP_SUCCESS, 'QMP_change_address_multiple')
    call check(QMP_start(pair) == QMP_SUCCESS, 'QMP_start of a multiple')
    call check(QMP_wait(pair) == QMP_SUCCESS, 'QMP_wait of a multiple')
    call expect(7, 'QMP_declare_multiple')
    call QMP_free_msghandle(pair)
    call QMP_free_msgmem(a)
    call QMP_free_msgmem(b)

    a = of(sent, 8)
    b = of(got, 8)
    pair = QMP_declare_send_recv_pairs([QMP_declare_send_to(a, next, &
        0_c_int), QMP_declare_receive_from(b, previous, 0_c_int)], 2_c_int)
    call check(pair /= QMP_MSGHANDLE_NULL, 'QMP_declare_send_recv_pairs')
    call check(QMP_start(pair) == QMP_SUCCESS, 'QMP_start of pairs')
    call check(QMP_wait(pair) == QMP_SUCCESS, 'QMP_wait of pairs')
    call expect(8, 'QMP_declare_send_recv_pairs')
    call QMP_free_msghandle(pair)
    call QMP_free_msgmem(a)
    call QMP_free_msgmem(b)
  end subroutine

  !> Messages that are not in one piece: every second number, and others. The
  !> receive is in one piece, so it shows the order of the blocks.
  subroutine run_shapes()
    type(QMP_msgmem_t) :: a, b

    call prepare()
    a = QMP_declare_strided_msgmem(c_loc(sent), 4_c_size_t, 3_c_int, &
        8_c_ptrdiff_t)
    call check(a /= QMP_MSGMEM_NULL, 'QMP_declare_strided_msgmem')
    call pass_around(a, 3, [1, 3, 5], 'strided')
    a = QMP_declare_strided_array_msgmem([c_loc(sent), c_loc(sent(50))], &
        [4_c_size_t, 8_c_size_t], [2_c_int, 2_c_int], &
        [12_c_ptrdiff_t, -40_c_ptrdiff_t], 2_c_int)
    call check(a /= QMP_MSGMEM_NULL, 'QMP_declare_strided_array_msgmem')
    call pass_around(a, 6, [1, 4, 50, 51, 40, 41], 'strided array')
    a = QMP_declare_indexed_msgmem(c_loc(sent), [1_c_int, 2_c_int], &
        [9_c_int, 4_c_int], 4_c_int, 2_c_int)
    call check(a /= QMP_MSGMEM_NULL, 'QMP_declare_indexed_msgmem')
    call pass_around(a, 3, [10, 5, 6], 'indexed')
    b = QMP_declare_msgmem(c_null_ptr, 4_c_size_t)
    call check(b == QMP_MSGMEM_NULL, 'message memory at no address')
  end subroutine

  subroutine pass_around(a, count, places, what)
    type(QMP_msgmem_t), intent(in) :: a
    integer, intent(in) :: count, places(:)
    character(*), intent(in) :: what
    type(QMP_msgmem_t) :: b

    b = of(got, count)
    call exchange(QMP_declare_send_to(a, next, 0_c_int), &
        QMP_declare_receive_from(b, previous, 0_c_int), a, b, what)
    call check(all(got(:count) == 1000 * previous + places), what//': numbers')
    call prepare()
  end subroutine

end module
