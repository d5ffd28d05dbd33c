!> Start, end, ranks, synchronisation and errors, as acp/infrastructure.h has
!> them; its conventions hold here too. Part of module acp.
!>
!> Differences to C: acp_init takes the command line by itself, acp_errno is a
!> function and acpx_set_errno sets it, acp_abort takes a Fortran text.
module acp_infrastructure
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  use acp_c_texts, only: c_acp_abort
  use acp_command_line, only: acpx_command_argument_count, &
      acpx_get_command_argument, begin_command_line
  use acp_text, only: to_c
  implicit none
  private
  public :: acp_abort, acp_errno, acp_finalize, acp_init, acp_procs, &
      acp_rank, acp_reset, acp_sync
  public :: acpx_command_argument_count, acpx_errno_location, &
      acpx_get_command_argument, acpx_set_errno

  interface
    !> Where the calling thread's error number lives.
    function acpx_errno_location() bind(C, name='acpx_errno_location')
      import
      type(c_ptr) :: acpx_errno_location
    end function

    !> Leaves the job. Specification 4.1.2.
    function acp_finalize() bind(C, name='acp_finalize')
      import
      integer(c_int) :: acp_finalize
    end function

    !> The number of ranks. Specification 4.1.4.
    function acp_procs() bind(C, name='acp_procs')
      import
      integer(c_int) :: acp_procs
    end function

    !> The calling process's rank; acp_reset changes it. Specification 4.1.5.
    function acp_rank() bind(C, name='acp_rank')
      import
      integer(c_int) :: acp_rank
    end function

    !> A barrier. Specification 4.1.6.
    function acp_sync() bind(C, name='acp_sync')
      import
      integer(c_int) :: acp_sync
    end function

    !> Gives every process a new rank. Specification 4.1.7.
    function acp_reset(rank) bind(C, name='acp_reset')
      import
      integer(c_int), value :: rank
      integer(c_int) :: acp_reset
    end function

    function c_acp_init(argc, argv) bind(C, name='acp_init')
      import
      integer(c_int), intent(inout) :: argc
      type(c_ptr), value :: argv
      integer(c_int) :: c_acp_init
    end function
  end interface

contains

  !> Joins the job. Specification 4.1.1. The words --acp-* of the command line
  !> are options; acpx_get_command_argument has the words that remain.
  function acp_init() result(status)
    integer(c_int) :: status
    integer(c_int), pointer :: argc
    type(c_ptr) :: argv

    call begin_command_line(argc, argv)
    status = c_acp_init(argc, argv)
  end function

  !> Ends the whole job at once, with the text on stderr. Specification 4.1.3.
  !> Output that the run-time library of Fortran has in its buffers is written
  !> first: acp_abort runs no further code of the program.
  subroutine acp_abort(str)
    character(*), intent(in), optional :: str

    flush (output_unit)
    flush (error_unit)
    if (present(str)) then
      call c_acp_abort(to_c(str))
    else
      call c_acp_abort()
    end if
  end subroutine

  !> The calling thread's error number. It is a variable in C.
  function acp_errno() result(code)
    integer(c_int) :: code
    integer(c_int), pointer :: variable

    call c_f_pointer(acpx_errno_location(), variable)
    code = variable
  end function

  !> Sets the calling thread's error number: to ACPX_OK before acp_complete and
  !> before the subroutines of data structures, which report only there.
  subroutine acpx_set_errno(code)
    integer(c_int), intent(in) :: code
    integer(c_int), pointer :: variable

    call c_f_pointer(acpx_errno_location(), variable)
    variable = code
  end subroutine

end module
