!> The allocated and the logical machine, and the lattice, as qmp.h has them;
!> its conventions hold here too. Part of module qmp; qmp_coordinates has the
!> functions that return lists.
module qmp_machine
  use, intrinsic :: iso_c_binding, only: c_int
  use qmp_types, only: QMP_bool_t, QMP_comm_t, QMP_ictype_t, QMP_status_t
  implicit none
  private :: c_int, QMP_bool_t, QMP_comm_t, QMP_ictype_t, QMP_status_t

  interface
    !> QMP_GRID with -qmp-geom, else QMP_SWITCH.
    function QMP_get_msg_passing_type() bind(C, &
        name='QMP_get_msg_passing_type')
      import
      integer(QMP_ictype_t) :: QMP_get_msg_passing_type
    end function

    !> The number of nodes; 0 before init.
    function QMP_get_number_of_nodes() bind(C, name='QMP_get_number_of_nodes')
      import
      integer(c_int) :: QMP_get_number_of_nodes
    end function

    function QMP_comm_get_number_of_nodes(comm) bind(C, &
        name='QMP_comm_get_number_of_nodes')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int) :: QMP_comm_get_number_of_nodes
    end function

    !> This node's number; -1 before init.
    function QMP_get_node_number() bind(C, name='QMP_get_node_number')
      import
      integer(c_int) :: QMP_get_node_number
    end function

    function QMP_comm_get_node_number(comm) bind(C, &
        name='QMP_comm_get_node_number')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int) :: QMP_comm_get_node_number
    end function

    !> Whether this is node 0.
    function QMP_is_primary_node() bind(C, name='QMP_is_primary_node')
      import
      integer(QMP_bool_t) :: QMP_is_primary_node
    end function

    function QMP_comm_is_primary_node(comm) bind(C, &
        name='QMP_comm_is_primary_node')
      import
      type(QMP_comm_t), value :: comm
      integer(QMP_bool_t) :: QMP_comm_is_primary_node
    end function

    !> Dimensions, sizes and this node's coordinates of the grid given by -qmp-
    !> geom; 0 and NULL on a switch.
    function QMP_get_allocated_number_of_dimensions() bind(C, &
        name='QMP_get_allocated_number_of_dimensions')
      import
      integer(c_int) :: QMP_get_allocated_number_of_dimensions
    end function

    !> Into how many jobs -qmp-job splits the machine, and which this is.
    function QMP_get_number_of_jobs() bind(C, name='QMP_get_number_of_jobs')
      import
      integer(c_int) :: QMP_get_number_of_jobs
    end function

    function QMP_get_job_number() bind(C, name='QMP_get_job_number')
      import
      integer(c_int) :: QMP_get_job_number
    end function

    !> The values of -qmp-job; 0 and NULL without.
    function QMP_get_number_of_job_geometry_dimensions() bind(C, &
        name='QMP_get_number_of_job_geometry_dimensions')
      import
      integer(c_int) :: QMP_get_number_of_job_geometry_dimensions
    end function

    !> The node that does input and output for node: itself.
    function QMP_io_node(node) bind(C, name='QMP_io_node')
      import
      integer(c_int), value :: node
      integer(c_int) :: QMP_io_node
    end function

    !> The node that does input and output for all nodes: 0.
    function QMP_master_io_node() bind(C, name='QMP_master_io_node')
      import
      integer(c_int) :: QMP_master_io_node
    end function

    !> Declares the nodes to be a torus.
    function QMP_declare_logical_topology(dims, ndim) bind(C, &
        name='QMP_declare_logical_topology')
      import
      integer(c_int), intent(in) :: dims(*)
      integer(c_int), value :: ndim
      integer(QMP_status_t) :: QMP_declare_logical_topology
    end function

    function QMP_comm_declare_logical_topology(comm, dims, ndim) bind(C, &
        name='QMP_comm_declare_logical_topology')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), intent(in) :: dims(*)
      integer(c_int), value :: ndim
      integer(QMP_status_t) :: QMP_comm_declare_logical_topology
    end function

    function QMP_declare_logical_topology_map(dims, ndim, map, mapdim) &
        bind(C, name='QMP_declare_logical_topology_map')
      import
      integer(c_int), intent(in) :: dims(*)
      integer(c_int), value :: ndim
      integer(c_int), intent(in) :: map(*)
      integer(c_int), value :: mapdim
      integer(QMP_status_t) :: QMP_declare_logical_topology_map
    end function

    function QMP_comm_declare_logical_topology_map(comm, dims, ndim, map, &
        mapdim) bind(C, name='QMP_comm_declare_logical_topology_map')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), intent(in) :: dims(*)
      integer(c_int), value :: ndim
      integer(c_int), intent(in) :: map(*)
      integer(c_int), value :: mapdim
      integer(QMP_status_t) :: QMP_comm_declare_logical_topology_map
    end function

    !> Whether a logical topology was declared, by one of the functions above
    !> or by QMP_layout_grid.
    function QMP_logical_topology_is_declared() bind(C, &
        name='QMP_logical_topology_is_declared')
      import
      integer(QMP_bool_t) :: QMP_logical_topology_is_declared
    end function

    function QMP_comm_logical_topology_is_declared(comm) bind(C, &
        name='QMP_comm_logical_topology_is_declared')
      import
      type(QMP_comm_t), value :: comm
      integer(QMP_bool_t) :: QMP_comm_logical_topology_is_declared
    end function

    !> Dimensions and sizes of the logical topology, and the coordinates of
    !> this node.
    function QMP_get_logical_number_of_dimensions() bind(C, &
        name='QMP_get_logical_number_of_dimensions')
      import
      integer(c_int) :: QMP_get_logical_number_of_dimensions
    end function

    function QMP_comm_get_logical_number_of_dimensions(comm) bind(C, &
        name='QMP_comm_get_logical_number_of_dimensions')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int) :: QMP_comm_get_logical_number_of_dimensions
    end function

    !> Writes the coordinates of any node into memory of the caller; writes
    !> nothing on a failure.
    subroutine QMP_get_logical_coordinates_from2(coords, node) bind(C, &
        name='QMP_get_logical_coordinates_from2')
      import
      integer(c_int), intent(inout) :: coords(*)
      integer(c_int), value :: node
    end subroutine

    subroutine QMP_comm_get_logical_coordinates_from2(comm, coords, node) &
        bind(C, name='QMP_comm_get_logical_coordinates_from2')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), intent(inout) :: coords(*)
      integer(c_int), value :: node
    end subroutine

    !> The node at coordinates; they wrap around.
    function QMP_get_node_number_from(coordinates) bind(C, &
        name='QMP_get_node_number_from')
      import
      integer(c_int), intent(in) :: coordinates(*)
      integer(c_int) :: QMP_get_node_number_from
    end function

    function QMP_comm_get_node_number_from(comm, coordinates) bind(C, &
        name='QMP_comm_get_node_number_from')
      import
      type(QMP_comm_t), value :: comm
      integer(c_int), intent(in) :: coordinates(*)
      integer(c_int) :: QMP_comm_get_node_number_from
    end function

    !> Divides a lattice among the nodes of the default communicator, equally.
    function QMP_layout_grid(dimensions, ndims) bind(C, name='QMP_layout_grid')
      import
      integer(c_int), intent(in) :: dimensions(*)
      integer(c_int), value :: ndims
      integer(QMP_status_t) :: QMP_layout_grid
    end function

    function QMP_get_number_of_subgrid_sites() bind(C, &
        name='QMP_get_number_of_subgrid_sites')
      import
      integer(c_int) :: QMP_get_number_of_subgrid_sites
    end function
  end interface

end module
