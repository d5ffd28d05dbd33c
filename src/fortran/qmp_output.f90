!> Errors, output and time, as qmp.h has them; its conventions hold here too.
!> Part of module qmp.
!>
!> Differences to C: texts are Fortran's. QMP_printf, QMP_info and
!> QMP_print_error print one text, which a program makes by an internal write;
!> C has formats there. QMP_print_error is QMP_error in C. In Fortran that name
!> is the status code's, since upper and lower case are one.
module qmp_output
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_ptr
  use, intrinsic :: iso_fortran_env, only: output_unit
  use acp_text, only: to_c, to_fortran
  use qmp_types, only: QMP_comm_t, QMP_msghandle_t, QMP_status_t
  implicit none
  private
  public :: QMP_error_string, QMP_get_error_number, QMP_get_error_string, &
      QMP_get_hidden_comm, QMP_get_total_qmp_time, QMP_info, QMP_print_error, &
      QMP_printf, QMP_profcontrol, QMP_reset_total_qmp_time, QMP_time, &
      QMP_verbose

  interface
    !> The last failure of a handle, or, for NULL, of the calling thread.
    function QMP_get_error_number(mh) bind(C, name='QMP_get_error_number')
      import
      type(QMP_msghandle_t), value :: mh
      integer(QMP_status_t) :: QMP_get_error_number
    end function

    !> Sets how much QMP says to stderr: 0 errors; 1 also what job and machine
    !> it has joined, topologies, splits, and its end.
    function QMP_verbose(level) bind(C, name='QMP_verbose')
      import
      integer(c_int), value :: level
      integer(c_int) :: QMP_verbose
    end function

    !> Sets a profiling level: from 1 on the time in QMP is added up
    !> (QMP_get_total_qmp_time), at 0, as at first, not.
    function QMP_profcontrol(level) bind(C, name='QMP_profcontrol')
      import
      integer(c_int), value :: level
      integer(c_int) :: QMP_profcontrol
    end function

    !> Seconds since some time in the past, the same for the whole process.
    function QMP_time() bind(C, name='QMP_time')
      import
      real(c_double) :: QMP_time
    end function

    !> Seconds that this process has spent in QMP_wait, QMP_wait_all and the
    !> collective functions since the reset, while QMP_profcontrol was 1 or
    !> more.
    function QMP_get_total_qmp_time() bind(C, name='QMP_get_total_qmp_time')
      import
      real(c_double) :: QMP_get_total_qmp_time
    end function

    subroutine QMP_reset_total_qmp_time() bind(C, &
        name='QMP_reset_total_qmp_time')
    end subroutine

    !> Always fails: only implementations on top of MPI have a hidden
    !> communicator.
    function QMP_get_hidden_comm(comm, hidden) bind(C, &
        name='QMP_get_hidden_comm')
      import
      type(QMP_comm_t), value :: comm
      type(c_ptr), intent(inout) :: hidden
      integer(QMP_status_t) :: QMP_get_hidden_comm
    end function

    pure function c_error_string(code) bind(C, name='QMP_error_string')
      import
      integer(QMP_status_t), value :: code
      type(c_ptr) :: c_error_string
    end function

    function c_get_error_string(mh) bind(C, name='QMP_get_error_string')
      import
      type(QMP_msghandle_t), value :: mh
      type(c_ptr) :: c_get_error_string
    end function

    ! qmp_print.c: Fortran cannot call a function with three dots.
    function c_printf(text) bind(C, name='qmp_fortran_printf')
      import
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: c_printf
    end function

    function c_info(text) bind(C, name='qmp_fortran_info')
      import
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: c_info
    end function

    function c_error(text) bind(C, name='qmp_fortran_error')
      import
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: c_error
    end function
  end interface

contains

  !> A sentence for a code.
  function QMP_error_string(code) result(text)
    integer(QMP_status_t), intent(in) :: code
    character(:), allocatable :: text
    text = to_fortran(c_error_string(code))
  end function

  !> The text of the last failure of a handle, or, for QMP_MSGHANDLE_NULL, of
  !> the calling thread.
  function QMP_get_error_string(mh) result(text)
    type(QMP_msghandle_t), intent(in) :: mh
    character(:), allocatable :: text
    text = to_fortran(c_get_error_string(mh))
  end function

  !> Prints a line to stdout. What Fortran has in its buffer for that stream is
  !> written before, so that lines keep their order.
  function QMP_printf(text) result(count)
    character(*), intent(in) :: text
    integer(c_int) :: count

    flush (output_unit)
    count = c_printf(to_c(text))
  end function

  !> Prints a line to stdout, as ` info`.
  function QMP_info(text) result(count)
    character(*), intent(in) :: text
    integer(c_int) :: count

    flush (output_unit)
    count = c_info(to_c(text))
  end function

  !> Prints a line to stderr, as ` error`.
  function QMP_print_error(text) result(count)
    character(*), intent(in) :: text
    integer(c_int) :: count

    count = c_error(to_c(text))
  end function

end module
