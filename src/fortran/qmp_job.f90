!> Begin and end of a job of QMP, and communicators, as qmp.h has them; its
!> conventions hold here too. Part of module qmp.
!>
!> Differences to C: QMP_init_msg_passing takes the command line by itself, and
!> texts are Fortran's.
module qmp_job
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  use acp_command_line, only: acpx_command_argument_count, &
      acpx_get_command_argument, begin_command_line
  use acp_text, only: to_c, to_fortran
  use qmp_types, only: QMP_bool_t, QMP_comm_t, QMP_status_t, &
      QMP_thread_level_t
  implicit none
  private
  public :: acpx_command_argument_count, acpx_get_command_argument
  public :: QMP_abort, QMP_abort_string, QMP_comm_free, &
      QMP_comm_get_allocated, QMP_comm_get_color, QMP_comm_get_default, &
      QMP_comm_get_job, QMP_comm_get_key, QMP_comm_get_number_of_colors, &
      QMP_comm_set_allocated, QMP_comm_set_default, QMP_comm_set_job, &
      QMP_comm_split, QMP_finalize_msg_passing, QMP_init_msg_passing, &
      QMP_is_initialized, QMP_version_int, QMP_version_str

  interface
    !> Whether QMP_init_msg_passing has succeeded and finalize was not called.
    function QMP_is_initialized() bind(C, name='QMP_is_initialized')
      import
      integer(QMP_bool_t) :: QMP_is_initialized
    end function

    !> Leaves the job; collective over all its nodes.
    subroutine QMP_finalize_msg_passing() bind(C, &
        name='QMP_finalize_msg_passing')
    end subroutine

    !> The version as a number, 20504.
    pure function QMP_version_int() bind(C, name='QMP_version_int')
      import
      integer(c_int) :: QMP_version_int
    end function

    !> The nodes that were allocated to this job: all, or a part by -qmp-job.
    function QMP_comm_get_allocated() bind(C, name='QMP_comm_get_allocated')
      import
      type(QMP_comm_t) :: QMP_comm_get_allocated
    end function

    !> The nodes of this job.
    function QMP_comm_get_job() bind(C, name='QMP_comm_get_job')
      import
      type(QMP_comm_t) :: QMP_comm_get_job
    end function

    !> The communicator that functions without one use; at first that of the
    !> job.
    function QMP_comm_get_default() bind(C, name='QMP_comm_get_default')
      import
      type(QMP_comm_t) :: QMP_comm_get_default
    end function

    !> Replace the communicators that the three functions above return, in this
    !> process.
    function QMP_comm_set_allocated(comm) bind(C, &
        name='QMP_comm_set_allocated')
      import
      type(QMP_comm_t), value :: comm
      integer(QMP_status_t) :: QMP_comm_set_allocated
    end function

    function QMP_comm_set_job(comm) bind(C, name='QMP_comm_set_job')
      import
      type(QMP_comm_t), value :: comm
      integer(QMP_status_t) :: QMP_comm_set_job
    end function

    function QMP_comm_set_default(comm) bind(C, name='QMP_comm_set_default')
      import
      type(QMP_comm_t), value :: comm
      integer(QMP_status_t) :: QMP_comm_set_default
    end function

    !> Makes new communicators: one of all nodes that give the same color.
    function QMP_comm_split(comm, color, key, newcomm) bind(C, &
        name='QMP_comm_split')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), value :: color, key
      type(QMP_comm_t), intent(inout) :: newcomm
      integer(QMP_status_t) :: QMP_comm_split
    end function

    !> Frees a communicator of QMP_comm_split.
    function QMP_comm_free(comm) bind(C, name='QMP_comm_free')
      import
      type(QMP_comm_t), value :: comm
      integer(QMP_status_t) :: QMP_comm_free
    end function

    !> The number of colors in the split that made comm; 1 when QMP made it.
    function QMP_comm_get_number_of_colors(comm) bind(C, &
        name='QMP_comm_get_number_of_colors')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int) :: QMP_comm_get_number_of_colors
    end function

    !> Color and key of this node in that split; 0 when QMP made comm.
    function QMP_comm_get_color(comm) bind(C, name='QMP_comm_get_color')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int) :: QMP_comm_get_color
    end function

    function QMP_comm_get_key(comm) bind(C, name='QMP_comm_get_key')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int) :: QMP_comm_get_key
    end function

    function c_init(argc, argv, required, provided) &
        bind(C, name='QMP_init_msg_passing')
      import
      integer(c_int), intent(inout) :: argc
      type(c_ptr), value :: argv
      integer(QMP_thread_level_t), value :: required
      integer(QMP_thread_level_t), intent(inout), optional :: provided
      integer(QMP_status_t) :: c_init
    end function

    subroutine c_abort(error_code) bind(C, name='QMP_abort')
      import
      integer(c_int), value :: error_code
    end subroutine

    subroutine c_abort_string(error_code, message) &
        bind(C, name='QMP_abort_string')
      import
      integer(c_int), value :: error_code
      character(kind=c_char), intent(in) :: message(*)
    end subroutine

    pure function c_version_str() bind(C, name='QMP_version_str')
      import
      type(c_ptr) :: c_version_str
    end function
  end interface

contains

  !> Joins the job. QMP takes its words, and those of acp_init, out of the
  !> command line; acpx_get_command_argument has the words that remain.
  function QMP_init_msg_passing(required, provided) result(status)
    integer(QMP_thread_level_t), intent(in) :: required
    integer(QMP_thread_level_t), intent(inout), optional :: provided
    integer(QMP_status_t) :: status
    integer(c_int), pointer :: argc
    type(c_ptr) :: argv

    call begin_command_line(argc, argv)
    status = c_init(argc, argv, required, provided)
  end function

  !> Ends the whole job. Does not return. Output that the run-time library of
  !> Fortran has in its buffers is written first.
  subroutine QMP_abort(error_code)
    integer(c_int), intent(in) :: error_code

    flush (output_unit)
    flush (error_unit)
    call c_abort(error_code)
  end subroutine

  !> QMP_abort, with a message to stderr before.
  subroutine QMP_abort_string(error_code, message)
    integer(c_int), intent(in) :: error_code
    character(*), intent(in) :: message

    flush (output_unit)
    flush (error_unit)
    call c_abort_string(error_code, to_c(message))
  end subroutine

  !> The version this interface has, "2.5.4".
  function QMP_version_str() result(text)
    character(:), allocatable :: text
    text = to_fortran(c_version_str())
  end function

end module
