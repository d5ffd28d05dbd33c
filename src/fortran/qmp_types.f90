!> Kinds, types and constants that the modules of QMP share. Used by all of
!> them; a program uses module qmp, which has everything here.
!>
!> Handles are pointers in C. A structure of one number is passed as the pointer
!> is, and keeps the kinds of handles apart. Its null value is what a function
!> returns that fails.
module qmp_types
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_ptr
  implicit none
  private

  !> Kinds of QMP's enumerations.
  integer, parameter, public :: QMP_bool_t = c_int
  integer, parameter, public :: QMP_status_t = c_int
  integer, parameter, public :: QMP_ictype_t = c_int
  integer, parameter, public :: QMP_thread_level_t = c_int
  integer, parameter, public :: QMP_clear_to_send_t = c_int

  integer(QMP_bool_t), parameter, public :: QMP_TRUE = 1, QMP_FALSE = 0

  !> Status codes; QMP_error_string has a sentence for each.
  integer(QMP_status_t), parameter, public :: &
      QMP_SUCCESS = 0, &
      QMP_ERROR = int(z'1001', QMP_status_t), &
      QMP_NOT_INITED = int(z'1002', QMP_status_t), &
      QMP_RTENV_ERR = int(z'1003', QMP_status_t), &
      QMP_CPUINFO_ERR = int(z'1004', QMP_status_t), &
      QMP_NODEINFO_ERR = int(z'1005', QMP_status_t), &
      QMP_NOMEM_ERR = int(z'1006', QMP_status_t), &
      QMP_MEMSIZE_ERR = int(z'1007', QMP_status_t), &
      QMP_HOSTNAME_ERR = int(z'1008', QMP_status_t), &
      QMP_INITSVC_ERR = int(z'1009', QMP_status_t), &
      QMP_TOPOLOGY_EXISTS = int(z'100a', QMP_status_t), &
      QMP_CH_TIMEOUT = int(z'100b', QMP_status_t), &
      QMP_NOTSUPPORTED = int(z'100c', QMP_status_t), &
      QMP_SVC_BUSY = int(z'100d', QMP_status_t), &
      QMP_BAD_MESSAGE = int(z'100e', QMP_status_t), &
      QMP_INVALID_ARG = int(z'100f', QMP_status_t), &
      QMP_INVALID_TOPOLOGY = int(z'1010', QMP_status_t), &
      QMP_NONEIGHBOR_INFO = int(z'1011', QMP_status_t), &
      QMP_MEMSIZE_TOOBIG = int(z'1012', QMP_status_t), &
      QMP_BAD_MEMORY = int(z'1013', QMP_status_t), &
      QMP_NO_PORTS = int(z'1014', QMP_status_t), &
      QMP_NODE_OUTRANGE = int(z'1015', QMP_status_t), &
      QMP_CHDEF_ERR = int(z'1016', QMP_status_t), &
      QMP_MEMUSED_ERR = int(z'1017', QMP_status_t), &
      QMP_INVALID_OP = int(z'1018', QMP_status_t), &
      QMP_TIMEOUT = int(z'1019', QMP_status_t), &
      QMP_MAX_STATUS = int(z'101a', QMP_status_t)

  !> Interconnect of the allocated machine.
  integer(QMP_ictype_t), parameter, public :: QMP_SWITCH = 0, QMP_GRID = 1, &
      QMP_MESH = 1, QMP_FATTREE = 2

  !> How many threads call QMP.
  integer(QMP_thread_level_t), parameter, public :: &
      QMP_THREAD_SINGLE = 0, &
      QMP_THREAD_FUNNELED = 1, &
      QMP_THREAD_SERIALIZED = 2, &
      QMP_THREAD_MULTIPLE = 3

  !> Values of QMP_clear_to_send.
  integer(QMP_clear_to_send_t), parameter, public :: &
      QMP_CTS_DISABLED = -1, &
      QMP_CTS_NOT_READY = 0, &
      QMP_CTS_READY = 1

  !> Alignments and flags of QMP_allocate_aligned_memory.
  integer(c_int), parameter, public :: QMP_ALIGN_ANY = 0, &
      QMP_ALIGN_DEFAULT = 64, QMP_MEM_NONCACHE = 1, QMP_MEM_COMMS = 2, &
      QMP_MEM_FAST = 4, QMP_MEM_DEFAULT = 6

  !> Memory that QMP allocated. In C it is a pointer to QMP_mem_t.
  type, bind(C), public :: QMP_mem_t
    integer(c_intptr_t) :: address = 0
  end type

  !> The blocks of memory that make a message.
  type, bind(C), public :: QMP_msgmem_t
    integer(c_intptr_t) :: address = 0
  end type

  !> A communicator: nodes, numbered from 0, and their logical topology.
  type, bind(C), public :: QMP_comm_t
    integer(c_intptr_t) :: address = 0
  end type

  !> A declared send or receive, or several.
  type, bind(C), public :: QMP_msghandle_t
    integer(c_intptr_t) :: address = 0
  end type

  !> Null handles, NULL in C.
  type(QMP_mem_t), parameter, public :: &
      QMP_MEM_NULL = QMP_mem_t(0_c_intptr_t)
  type(QMP_msgmem_t), parameter, public :: &
      QMP_MSGMEM_NULL = QMP_msgmem_t(0_c_intptr_t)
  type(QMP_comm_t), parameter, public :: &
      QMP_COMM_NULL = QMP_comm_t(0_c_intptr_t)
  type(QMP_msghandle_t), parameter, public :: &
      QMP_MSGHANDLE_NULL = QMP_msghandle_t(0_c_intptr_t)

  !> The shape of the function that QMP_binary_reduction takes by c_funloc. It
  !> leaves inout op in in inout; both are whole buffers.
  abstract interface
    subroutine QMP_binary_func(inout, in) bind(C)
      import
      type(c_ptr), value :: inout, in
    end subroutine
  end interface
  public :: QMP_binary_func

  !> Comparisons of two handles of one kind.
  interface operator(==)
    module procedure equal_mem, equal_msgmem, equal_comm, equal_msghandle
  end interface
  interface operator(/=)
    module procedure unequal_mem, unequal_msgmem, unequal_comm, &
        unequal_msghandle
  end interface
  public :: operator(==), operator(/=)

contains

  elemental logical function equal_mem(a, b)
    type(QMP_mem_t), intent(in) :: a, b
    equal_mem = a%address == b%address
  end function

  elemental logical function equal_msgmem(a, b)
    type(QMP_msgmem_t), intent(in) :: a, b
    equal_msgmem = a%address == b%address
  end function

  elemental logical function equal_comm(a, b)
    type(QMP_comm_t), intent(in) :: a, b
    equal_comm = a%address == b%address
  end function

  elemental logical function equal_msghandle(a, b)
    type(QMP_msghandle_t), intent(in) :: a, b
    equal_msghandle = a%address == b%address
  end function

  elemental logical function unequal_mem(a, b)
    type(QMP_mem_t), intent(in) :: a, b
    unequal_mem = a%address /= b%address
  end function

  elemental logical function unequal_msgmem(a, b)
    type(QMP_msgmem_t), intent(in) :: a, b
    unequal_msgmem = a%address /= b%address
  end function

  elemental logical function unequal_comm(a, b)
    type(QMP_comm_t), intent(in) :: a, b
    unequal_comm = a%address /= b%address
  end function

  elemental logical function unequal_msghandle(a, b)
    type(QMP_msghandle_t), intent(in) :: a, b
    unequal_msghandle = a%address /= b%address
  end function

end module
