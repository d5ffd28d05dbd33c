!> Kinds, types and constants that the modules of ACP share. Used by all of
!> them; a program uses module acp, which has everything here.
!>
!> The layout of each type is that of the C type of its name. Fortran has no
!> unsigned integers: a number above huge() is negative here, with the same
!> bits.
module acp_types
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, &
      c_intptr_t, c_size_t
  implicit none
  private

  !> Kinds of the plain numbers: acp/global_memory.h, acp/gma.h.
  integer, parameter, public :: acp_ga_t = c_int64_t
  integer, parameter, public :: acp_atkey_t = c_int64_t
  integer, parameter, public :: acp_handle_t = c_int64_t

  integer(acp_ga_t), parameter, public :: ACP_GA_NULL = 0
  integer(acp_atkey_t), parameter, public :: ACP_ATKEY_NULL = 0
  integer(acp_handle_t), parameter, public :: ACP_HANDLE_NULL = 0
  integer(acp_handle_t), parameter, public :: ACP_HANDLE_ALL = -1
  integer(acp_handle_t), parameter, public :: ACP_HANDLE_CONT = -2

  !> Codes of acp_errno: acp/infrastructure.h.
  integer(c_int), parameter, public :: &
      ACPX_OK = 0, &
      ACPX_AGAIN = 1, &
      ACPX_INVALID_ARGUMENT = 2, &
      ACPX_NOT_INITIALIZED = 3, &
      ACPX_ALREADY_INITIALIZED = 4, &
      ACPX_FINALIZED = 5, &
      ACPX_BAD_ADDRESS = 6, &
      ACPX_BAD_KEY = 7, &
      ACPX_BAD_RANK = 8, &
      ACPX_BAD_COLOR = 9, &
      ACPX_MISALIGNED = 10, &
      ACPX_NO_MEMORY = 11, &
      ACPX_NO_KEYS = 12, &
      ACPX_TOO_LARGE = 13, &
      ACPX_UNSUPPORTED = 14, &
      ACPX_PEER_DEAD = 15, &
      ACPX_ABORTED = 16, &
      ACPX_TIMED_OUT = 17, &
      ACPX_SYSTEM = 18, &
      ACPX_PROTOCOL = 19, &
      ACPX_ORDER_FAILED = 20, &
      ACPX_BAD_OPTION = 21, &
      ACPX_CLOSED = 22

  !> Bytes at an address of any rank: acp/element.h.
  type, bind(C), public :: acp_element_t
    integer(acp_ga_t) :: ga = ACP_GA_NULL
    integer(c_size_t) :: size = 0
  end type

  !> A key and its value: acp/element.h.
  type, bind(C), public :: acp_pair_t
    type(acp_element_t) :: first
    type(acp_element_t) :: second
  end type

  !> An end of a channel, and a request: acp/channel.h. In C both are numbers in
  !> the shape of a pointer. A structure of one such number is passed as the
  !> number is, and keeps the two apart.
  type, bind(C), public :: acp_ch_t
    integer(c_intptr_t) :: number = 0
  end type

  type, bind(C), public :: acp_request_t
    integer(c_intptr_t) :: number = 0
  end type

  !> A workspace, a number likewise: acp/workspace.h.
  type, bind(C), public :: acp_wsd_t
    integer(c_intptr_t) :: number = -1
  end type

  type(acp_ch_t), parameter, public :: &
      ACP_CH_NULL = acp_ch_t(0_c_intptr_t)
  type(acp_request_t), parameter, public :: &
      ACP_REQUEST_NULL = acp_request_t(0_c_intptr_t)
  type(acp_wsd_t), parameter, public :: &
      ACP_WSD_NULL = acp_wsd_t(-1_c_intptr_t)

  !> Comparisons of two channels, two requests, two workspaces.
  interface operator(==)
    module procedure equal_channels, equal_requests, equal_workspaces
  end interface
  interface operator(/=)
    module procedure unequal_channels, unequal_requests, unequal_workspaces
  end interface
  public :: operator(==), operator(/=)

contains

  elemental logical function equal_channels(a, b)
    type(acp_ch_t), intent(in) :: a, b
    equal_channels = a%number == b%number
  end function

  elemental logical function equal_requests(a, b)
    type(acp_request_t), intent(in) :: a, b
    equal_requests = a%number == b%number
  end function

  elemental logical function equal_workspaces(a, b)
    type(acp_wsd_t), intent(in) :: a, b
    equal_workspaces = a%number == b%number
  end function

  elemental logical function unequal_channels(a, b)
    type(acp_ch_t), intent(in) :: a, b
    unequal_channels = a%number /= b%number
  end function

  elemental logical function unequal_requests(a, b)
    type(acp_request_t), intent(in) :: a, b
    unequal_requests = a%number /= b%number
  end function

  elemental logical function unequal_workspaces(a, b)
    type(acp_wsd_t), intent(in) :: a, b
    unequal_workspaces = a%number /= b%number
  end function

end module
