!> Memory and messages, as qmp.h has them; its conventions hold here too. Part
!> of module qmp.
!>
!> Memory is named by type(c_ptr): c_loc(a) of a contiguous variable with the
!> attribute TARGET. It belongs to the message from QMP_start until QMP_wait or
!> QMP_is_complete says that the message is complete.
module qmp_message
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_ptrdiff_t, c_size_t
  use qmp_types, only: QMP_bool_t, QMP_clear_to_send_t, QMP_comm_t, &
      QMP_mem_t, QMP_msghandle_t, QMP_msgmem_t, QMP_status_t
  implicit none
  private :: c_int, c_ptr, c_ptrdiff_t, c_size_t
  private :: QMP_bool_t, QMP_clear_to_send_t, QMP_comm_t, QMP_mem_t, &
      QMP_msghandle_t, QMP_msgmem_t, QMP_status_t

  interface
    !> Allocates memory that other nodes on the host reach directly.
    function QMP_allocate_memory(nbytes) bind(C, name='QMP_allocate_memory')
      import
      integer(c_size_t), value :: nbytes
      type(QMP_mem_t) :: QMP_allocate_memory
    end function

    function QMP_allocate_aligned_memory(nbytes, alignment, flags) bind(C, &
        name='QMP_allocate_aligned_memory')
      import
      integer(c_size_t), value :: nbytes, alignment
      integer(c_int), value :: flags
      type(QMP_mem_t) :: QMP_allocate_aligned_memory
    end function

    !> The address of the memory; NULL for NULL.
    function QMP_get_memory_pointer(mem) bind(C, name='QMP_get_memory_pointer')
      import
      type(QMP_mem_t), value :: mem
      type(c_ptr) :: QMP_get_memory_pointer
    end function

    !> Frees memory of QMP.
    subroutine QMP_free_memory(mem) bind(C, name='QMP_free_memory')
      import
      type(QMP_mem_t), value :: mem
    end subroutine

    !> Describes nbytes bytes at mem.
    function QMP_declare_msgmem(mem, nbytes) bind(C, name='QMP_declare_msgmem')
      import
      type(c_ptr), value :: mem
      integer(c_size_t), value :: nbytes
      type(QMP_msgmem_t) :: QMP_declare_msgmem
    end function

    !> Describes nblocks blocks of blksize bytes, block i at base + i * stride.
    function QMP_declare_strided_msgmem(base, blksize, nblocks, stride) &
        bind(C, name='QMP_declare_strided_msgmem')
      import
      type(c_ptr), value :: base
      integer(c_size_t), value :: blksize
      integer(c_int), value :: nblocks
      integer(c_ptrdiff_t), value :: stride
      type(QMP_msgmem_t) :: QMP_declare_strided_msgmem
    end function

    !> Describes num strided memories, one after the other.
    function QMP_declare_strided_array_msgmem(base, blksize, nblocks, &
        stride, num) bind(C, name='QMP_declare_strided_array_msgmem')
      import
      type(c_ptr), intent(in) :: base(*)
      integer(c_size_t), intent(in) :: blksize(*)
      integer(c_int), intent(in) :: nblocks(*)
      integer(c_ptrdiff_t), intent(in) :: stride(*)
      integer(c_int), value :: num
      type(QMP_msgmem_t) :: QMP_declare_strided_array_msgmem
    end function

    !> Describes count blocks, block i of blocklen[i] elements at element
    !> index[i].
    function QMP_declare_indexed_msgmem(base, blocklen, index, elemsize, &
        count) bind(C, name='QMP_declare_indexed_msgmem')
      import
      type(c_ptr), value :: base
      integer(c_int), intent(in) :: blocklen(*), index(*)
      integer(c_int), value :: elemsize, count
      type(QMP_msgmem_t) :: QMP_declare_indexed_msgmem
    end function

    !> Frees the description; handles that use it go on.
    subroutine QMP_free_msgmem(m) bind(C, name='QMP_free_msgmem')
      import
      type(QMP_msgmem_t), value :: m
    end subroutine

    !> A receive from a neighbour.
    function QMP_declare_receive_relative(m, axis, dir, priority) bind(C, &
        name='QMP_declare_receive_relative')
      import
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: axis, dir, priority
      type(QMP_msghandle_t) :: QMP_declare_receive_relative
    end function

    function QMP_comm_declare_receive_relative(comm, m, axis, dir, priority) &
        bind(C, name='QMP_comm_declare_receive_relative')
      import
      type(QMP_comm_t), value :: comm
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: axis, dir, priority
      type(QMP_msghandle_t) :: QMP_comm_declare_receive_relative
    end function

    !> A send to a neighbour.
    function QMP_declare_send_relative(m, axis, dir, priority) bind(C, &
        name='QMP_declare_send_relative')
      import
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: axis, dir, priority
      type(QMP_msghandle_t) :: QMP_declare_send_relative
    end function

    function QMP_comm_declare_send_relative(comm, m, axis, dir, priority) &
        bind(C, name='QMP_comm_declare_send_relative')
      import
      type(QMP_comm_t), value :: comm
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: axis, dir, priority
      type(QMP_msghandle_t) :: QMP_comm_declare_send_relative
    end function

    !> A receive from a node, which may be this one.
    function QMP_declare_receive_from(m, rem_node_rank, priority) bind(C, &
        name='QMP_declare_receive_from')
      import
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: rem_node_rank, priority
      type(QMP_msghandle_t) :: QMP_declare_receive_from
    end function

    function QMP_comm_declare_receive_from(comm, m, rem_node_rank, priority) &
        bind(C, name='QMP_comm_declare_receive_from')
      import
      type(QMP_comm_t), value :: comm
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: rem_node_rank, priority
      type(QMP_msghandle_t) :: QMP_comm_declare_receive_from
    end function

    !> A send to a node, which may be this one.
    function QMP_declare_send_to(m, rem_node_rank, priority) bind(C, &
        name='QMP_declare_send_to')
      import
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: rem_node_rank, priority
      type(QMP_msghandle_t) :: QMP_declare_send_to
    end function

    function QMP_comm_declare_send_to(comm, m, rem_node_rank, priority) &
        bind(C, name='QMP_comm_declare_send_to')
      import
      type(QMP_comm_t), value :: comm
      type(QMP_msgmem_t), value :: m
      integer(c_int), value :: rem_node_rank, priority
      type(QMP_msghandle_t) :: QMP_comm_declare_send_to
    end function

    !> Makes one handle of several, which are started in this order.
    function QMP_declare_multiple(msgh, num) bind(C, &
        name='QMP_declare_multiple')
      import
      type(QMP_msghandle_t), intent(in) :: msgh(*)
      integer(c_int), value :: num
      type(QMP_msghandle_t) :: QMP_declare_multiple
    end function

    !> Does what QMP_declare_multiple does, for pairs of a send and a receive.
    function QMP_declare_send_recv_pairs(msgh, num) bind(C, &
        name='QMP_declare_send_recv_pairs')
      import
      type(QMP_msghandle_t), intent(in) :: msgh(*)
      integer(c_int), value :: num
      type(QMP_msghandle_t) :: QMP_declare_send_recv_pairs
    end function

    !> Moves the handle's message memory to another base address; its shape
    !> stays.
    function QMP_change_address(msg, addr) bind(C, name='QMP_change_address')
      import
      type(QMP_msghandle_t), value :: msg
      type(c_ptr), value :: addr
      integer(QMP_status_t) :: QMP_change_address
    end function

    !> Moves the message memories of a multiple, in declared order.
    function QMP_change_address_multiple(msg, addr, naddr) bind(C, &
        name='QMP_change_address_multiple')
      import
      type(QMP_msghandle_t), value :: msg
      type(c_ptr), intent(in) :: addr(*)
      integer(c_int), value :: naddr
      integer(QMP_status_t) :: QMP_change_address_multiple
    end function

    !> A hint that the peer may send soon.
    function QMP_clear_to_send(mh, cts) bind(C, name='QMP_clear_to_send')
      import
      type(QMP_msghandle_t), value :: mh
      integer(QMP_clear_to_send_t), value :: cts
      integer(QMP_status_t) :: QMP_clear_to_send
    end function

    !> Frees a handle.
    subroutine QMP_free_msghandle(h) bind(C, name='QMP_free_msghandle')
      import
      type(QMP_msghandle_t), value :: h
    end subroutine

    !> Starts a handle.
    function QMP_start(h) bind(C, name='QMP_start')
      import
      type(QMP_msghandle_t), value :: h
      integer(QMP_status_t) :: QMP_start
    end function

    !> Whether a started handle is complete: received, or the memory of a send
    !> may be changed.
    function QMP_is_complete(h) bind(C, name='QMP_is_complete')
      import
      type(QMP_msghandle_t), value :: h
      integer(QMP_bool_t) :: QMP_is_complete
    end function

    !> Waits until a started handle is complete.
    function QMP_wait(h) bind(C, name='QMP_wait')
      import
      type(QMP_msghandle_t), value :: h
      integer(QMP_status_t) :: QMP_wait
    end function

    !> Waits for several handles, in any order.
    function QMP_wait_all(h, num) bind(C, name='QMP_wait_all')
      import
      type(QMP_msghandle_t), intent(in) :: h(*)
      integer(c_int), value :: num
      integer(QMP_status_t) :: QMP_wait_all
    end function
  end interface

end module
