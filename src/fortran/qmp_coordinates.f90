!> Sizes and coordinates of machine and lattice, as qmp.h has them. Part of
!> module qmp.
!>
!> Differences to C: functions that return memory of QMP return a pointer to an
!> array, whose size is the number of dimensions. Functions that return memory
!> to free return an allocatable array.
module qmp_coordinates
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_int, &
      c_ptr
  use qmp_machine, only: QMP_comm_get_logical_number_of_dimensions, &
      QMP_get_allocated_number_of_dimensions, &
      QMP_get_logical_number_of_dimensions, &
      QMP_get_number_of_job_geometry_dimensions
  use qmp_types, only: QMP_comm_t
  implicit none
  private
  public :: QMP_comm_get_logical_coordinates, &
      QMP_comm_get_logical_coordinates_from, QMP_comm_get_logical_dimensions, &
      QMP_get_allocated_coordinates, QMP_get_allocated_dimensions, &
      QMP_get_job_geometry, QMP_get_logical_coordinates, &
      QMP_get_logical_coordinates_from, QMP_get_logical_dimensions, &
      QMP_get_subgrid_dimensions

  interface
    function c_get_allocated_dimensions() &
        bind(C, name='QMP_get_allocated_dimensions')
      import
      type(c_ptr) :: c_get_allocated_dimensions
    end function

    function c_get_allocated_coordinates() &
        bind(C, name='QMP_get_allocated_coordinates')
      import
      type(c_ptr) :: c_get_allocated_coordinates
    end function

    function c_get_job_geometry() &
        bind(C, name='QMP_get_job_geometry')
      import
      type(c_ptr) :: c_get_job_geometry
    end function

    function c_get_logical_dimensions() &
        bind(C, name='QMP_get_logical_dimensions')
      import
      type(c_ptr) :: c_get_logical_dimensions
    end function

    function c_comm_get_logical_dimensions(comm) &
        bind(C, name='QMP_comm_get_logical_dimensions')
      import
      type(QMP_comm_t), value :: comm
      type(c_ptr) :: c_comm_get_logical_dimensions
    end function

    function c_get_logical_coordinates() &
        bind(C, name='QMP_get_logical_coordinates')
      import
      type(c_ptr) :: c_get_logical_coordinates
    end function

    function c_comm_get_logical_coordinates(comm) &
        bind(C, name='QMP_comm_get_logical_coordinates')
      import
      type(QMP_comm_t), value :: comm
      type(c_ptr) :: c_comm_get_logical_coordinates
    end function

    function c_get_subgrid_dimensions() &
        bind(C, name='QMP_get_subgrid_dimensions')
      import
      type(c_ptr) :: c_get_subgrid_dimensions
    end function

    function c_get_logical_coordinates_from(node) &
        bind(C, name='QMP_get_logical_coordinates_from')
      import
      integer(c_int), value :: node
      type(c_ptr) :: c_get_logical_coordinates_from
    end function

    function c_comm_get_logical_coordinates_from(comm, node) &
        bind(C, name='QMP_comm_get_logical_coordinates_from')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), value :: node
      type(c_ptr) :: c_comm_get_logical_coordinates_from
    end function

    subroutine c_free(memory) bind(C, name='free')
      import
      type(c_ptr), value :: memory
    end subroutine
  end interface

contains

  !> Sizes of the allocated grid; not associated on a switch.
  function QMP_get_allocated_dimensions() result(list)
    integer(c_int), pointer :: list(:)
    call point(list, c_get_allocated_dimensions(), &
        QMP_get_allocated_number_of_dimensions())
  end function

  !> Coordinates of this node in the allocated grid; not associated on a
  !> switch.
  function QMP_get_allocated_coordinates() result(list)
    integer(c_int), pointer :: list(:)
    call point(list, c_get_allocated_coordinates(), &
        QMP_get_allocated_number_of_dimensions())
  end function

  !> The values of -qmp-job; not associated without.
  function QMP_get_job_geometry() result(list)
    integer(c_int), pointer :: list(:)
    call point(list, c_get_job_geometry(), &
        QMP_get_number_of_job_geometry_dimensions())
  end function

  !> Sizes of the logical topology.
  function QMP_get_logical_dimensions() result(list)
    integer(c_int), pointer :: list(:)
    call point(list, c_get_logical_dimensions(), &
        QMP_get_logical_number_of_dimensions())
  end function

  !> Sizes of the logical topology of a communicator.
  function QMP_comm_get_logical_dimensions(comm) result(list)
    type(QMP_comm_t), intent(in) :: comm
    integer(c_int), pointer :: list(:)
    call point(list, c_comm_get_logical_dimensions(comm), &
        QMP_comm_get_logical_number_of_dimensions(comm))
  end function

  !> Coordinates of this node in the logical topology.
  function QMP_get_logical_coordinates() result(list)
    integer(c_int), pointer :: list(:)
    call point(list, c_get_logical_coordinates(), &
        QMP_get_logical_number_of_dimensions())
  end function

  !> Coordinates of this node in the logical topology of a communicator.
  function QMP_comm_get_logical_coordinates(comm) result(list)
    type(QMP_comm_t), intent(in) :: comm
    integer(c_int), pointer :: list(:)
    call point(list, c_comm_get_logical_coordinates(comm), &
        QMP_comm_get_logical_number_of_dimensions(comm))
  end function

  !> A node's part of the lattice; not associated before QMP_layout_grid. It
  !> has as many axes as the topology of the default communicator, which a
  !> program must not change between QMP_layout_grid and here.
  function QMP_get_subgrid_dimensions() result(list)
    integer(c_int), pointer :: list(:)
    call point(list, c_get_subgrid_dimensions(), &
        QMP_get_logical_number_of_dimensions())
  end function

  !> Coordinates of any node; of size 0 when it fails.
  function QMP_get_logical_coordinates_from(node) result(coordinates)
    integer(c_int), intent(in) :: node
    integer(c_int), allocatable :: coordinates(:)
    call take(coordinates, c_get_logical_coordinates_from(node), &
        QMP_get_logical_number_of_dimensions())
  end function

  !> Coordinates of any node of a communicator; of size 0 when it fails.
  function QMP_comm_get_logical_coordinates_from(comm, node) &
      result(coordinates)
    type(QMP_comm_t), intent(in) :: comm
    integer(c_int), intent(in) :: node
    integer(c_int), allocatable :: coordinates(:)
    call take(coordinates, c_comm_get_logical_coordinates_from(comm, node), &
        QMP_comm_get_logical_number_of_dimensions(comm))
  end function

  !> A pointer to count numbers of QMP's, not associated when there are none.
  subroutine point(list, numbers, count)
    integer(c_int), pointer, intent(out) :: list(:)
    type(c_ptr), intent(in) :: numbers
    integer(c_int), intent(in) :: count

    nullify (list)
    if (c_associated(numbers)) call c_f_pointer(numbers, list, [count])
  end subroutine

  !> A copy of count numbers, whose memory is then freed.
  subroutine take(copy, numbers, count)
    integer(c_int), allocatable, intent(out) :: copy(:)
    type(c_ptr), intent(in) :: numbers
    integer(c_int), intent(in) :: count
    integer(c_int), pointer :: list(:)

    if (.not. c_associated(numbers)) then
      allocate (copy(0))
      return
    end if
    call c_f_pointer(numbers, list, [count])
    copy = list
    call c_free(numbers)
  end subroutine

end module
