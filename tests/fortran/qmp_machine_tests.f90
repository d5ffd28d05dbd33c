!> Jobs, communicators, machine and lattice of QMP: qmp.h from its beginning to
!> the lattice. The machine is a grid of NODES x 1 (-qmp-geom).
module qmp_machine_tests
  use, intrinsic :: iso_c_binding, only: c_int
  use checks, only: check
  use qmp
  implicit none
  private
  public :: after_the_end, before_the_start, me, nodes, run_communicators, &
      run_lattice, run_machine, run_start

  integer(c_int), protected :: me = -1, nodes = 0

contains

  subroutine before_the_start()
    call check(QMP_is_initialized() == QMP_FALSE, 'QMP_is_initialized')
    call check(QMP_version_str() == '2.5.4', 'QMP_version_str')
    call check(QMP_version_int() == 20504, 'QMP_version_int')
    call check(QMP_get_number_of_nodes() == 0, 'nodes before the start')
    call check(QMP_comm_get_job() == QMP_COMM_NULL, 'job before the start')
    call check(len(QMP_error_string(QMP_TIMEOUT)) > 5, 'QMP_error_string')
    call check(.not. associated(QMP_get_subgrid_dimensions()), &
        'no lattice before the start')
  end subroutine

  subroutine run_start()
    integer(QMP_thread_level_t) :: provided
    character(8) :: argument

    provided = -1
    call check(QMP_init_msg_passing(QMP_THREAD_FUNNELED, provided) &
        == QMP_SUCCESS, 'QMP_init_msg_passing')
    call check(provided == QMP_THREAD_FUNNELED, 'the level provided')
    call check(QMP_init_msg_passing(QMP_THREAD_SINGLE) == QMP_INVALID_OP, &
        'a second QMP_init_msg_passing')
    call check(QMP_is_initialized() == QMP_TRUE, 'QMP_is_initialized')
    me = QMP_get_node_number()
    nodes = QMP_get_number_of_nodes()
    call check(nodes >= 2 .and. me >= 0 .and. me < nodes, 'node of nodes')
    call check(acpx_command_argument_count() == 2, 'words that remain')
    call acpx_get_command_argument(2, argument)
    call check(argument == 'two', 'a word that remains')
  end subroutine

  subroutine run_machine()
    call check(QMP_get_msg_passing_type() == QMP_GRID, 'a grid')
    call check(QMP_is_primary_node() == merge(QMP_TRUE, QMP_FALSE, me == 0), &
        'QMP_is_primary_node')
    call check(QMP_get_allocated_number_of_dimensions() == 2, 'dimensions')
    call check(all(QMP_get_allocated_dimensions() == [nodes, 1_c_int]), &
        'QMP_get_allocated_dimensions')
    call check(all(QMP_get_allocated_coordinates() == [me, 0_c_int]), &
        'QMP_get_allocated_coordinates')
    call check(QMP_get_number_of_jobs() == 1, 'QMP_get_number_of_jobs')
    call check(QMP_get_job_number() == 0, 'QMP_get_job_number')
    call check(QMP_get_number_of_job_geometry_dimensions() == 0, &
        'no job geometry')
    call check(.not. associated(QMP_get_job_geometry()), &
        'QMP_get_job_geometry')
    call check(QMP_io_node(1_c_int) == 1, 'QMP_io_node')
    call check(QMP_master_io_node() == 0, 'QMP_master_io_node')
  end subroutine

  !> The lattice of 4 NODES x 6 sites, and the topology that it declares.
  subroutine run_lattice()
    integer(c_int) :: place(2)
    integer(c_int), pointer :: sizes(:)

    call check(QMP_logical_topology_is_declared() == QMP_FALSE, &
        'no topology at first')
    call check(QMP_layout_grid([3_c_int, 6_c_int], 2_c_int) &
        == QMP_INVALID_TOPOLOGY, 'a lattice that cannot be divided')
    call check(QMP_layout_grid([4 * nodes, 6_c_int], 2_c_int) == QMP_SUCCESS, &
        'QMP_layout_grid')
    sizes => QMP_get_subgrid_dimensions()
    call check(size(sizes) == 2, 'dimensions of the subgrid')
    call check(all(sizes == [4, 6]), 'QMP_get_subgrid_dimensions')
    call check(QMP_get_number_of_subgrid_sites() == 24, 'sites')
    call check(QMP_logical_topology_is_declared() == QMP_TRUE, 'a topology')
    call check(QMP_declare_logical_topology([nodes, 1_c_int], 2_c_int) &
        == QMP_TOPOLOGY_EXISTS, 'QMP_declare_logical_topology again')
    call check(QMP_get_logical_number_of_dimensions() == 2, 'its dimensions')
    call check(all(QMP_get_logical_dimensions() == [nodes, 1_c_int]), &
        'QMP_get_logical_dimensions')
    call check(all(QMP_get_logical_coordinates() == [me, 0_c_int]), &
        'QMP_get_logical_coordinates')
    call check(all(QMP_get_logical_coordinates_from(1_c_int) == [1, 0]), &
        'QMP_get_logical_coordinates_from')
    call check(size(QMP_get_logical_coordinates_from(nodes)) == 0, &
        'coordinates of no node')
    place = -1
    call QMP_get_logical_coordinates_from2(place, nodes - 1_c_int)
    call check(all(place == [nodes - 1, 0]), &
        'QMP_get_logical_coordinates_from2')
    call check(QMP_get_node_number_from([nodes + 1_c_int, 0_c_int]) == 1, &
        'QMP_get_node_number_from')
  end subroutine

  !> Communicators: halves of the job, and all nodes in the other order.
  subroutine run_communicators()
    type(QMP_comm_t) :: job, half, back

    job = QMP_comm_get_job()
    call check(job /= QMP_COMM_NULL, 'QMP_comm_get_job')
    call check(QMP_comm_get_default() == job, 'QMP_comm_get_default')
    call check(QMP_comm_get_allocated() /= QMP_COMM_NULL, &
        'QMP_comm_get_allocated')
    call check(QMP_comm_set_allocated(QMP_comm_get_allocated()) &
        == QMP_SUCCESS, 'QMP_comm_set_allocated')
    call check(QMP_comm_set_job(job) == QMP_SUCCESS, 'QMP_comm_set_job')
    call check(QMP_comm_set_job(QMP_COMM_NULL) == QMP_INVALID_ARG, &
        'QMP_comm_set_job of none')

    half = QMP_COMM_NULL
    call check(QMP_comm_split(job, mod(me, 2_c_int), 100 - me, half) &
        == QMP_SUCCESS, 'QMP_comm_split')
    call check(half /= QMP_COMM_NULL, 'a new communicator')
    call check(QMP_comm_get_number_of_nodes(half) == nodes / 2, 'its nodes')
    call check(QMP_comm_get_number_of_colors(half) == 2, 'its colors')
    call check(QMP_comm_get_color(half) == mod(me, 2_c_int), 'its color')
    call check(QMP_comm_get_key(half) == 100 - me, 'its key')
    call check(QMP_comm_get_node_number(half) == nodes / 2 - 1 - me / 2, &
        'the last has the lowest key')
    call check(QMP_comm_is_primary_node(half) == merge(QMP_TRUE, QMP_FALSE, &
        me >= nodes - 2), 'QMP_comm_is_primary_node')
    call check(QMP_comm_free(half) == QMP_SUCCESS, 'QMP_comm_free')

    call check(QMP_comm_split(job, 0_c_int, -me, back) == QMP_SUCCESS, &
        'QMP_comm_split of all')
    call run_topology(back)
    call check(QMP_comm_free(back) == QMP_SUCCESS, 'QMP_comm_free')
    call run_default_topologies(job)
  end subroutine

  !> A topology of a communicator in which node numbers run the other way.
  subroutine run_topology(back)
    type(QMP_comm_t), intent(in) :: back
    integer(c_int) :: here, place(2)

    here = nodes - 1_c_int - me
    call check(QMP_comm_logical_topology_is_declared(back) == QMP_FALSE, &
        'a new communicator has no topology')
    call check(QMP_comm_declare_logical_topology(back, [1_c_int, nodes], &
        2_c_int) == QMP_SUCCESS, 'QMP_comm_declare_logical_topology')
    call check(QMP_comm_logical_topology_is_declared(back) == QMP_TRUE, &
        'QMP_comm_logical_topology_is_declared')
    call check(QMP_comm_get_logical_number_of_dimensions(back) == 2, &
        'QMP_comm_get_logical_number_of_dimensions')
    call check(all(QMP_comm_get_logical_dimensions(back) == [1_c_int, nodes]), &
        'QMP_comm_get_logical_dimensions')
    call check(all(QMP_comm_get_logical_coordinates(back) == [0_c_int, here]), &
        'QMP_comm_get_logical_coordinates')
    call check(all(QMP_comm_get_logical_coordinates_from(back, 1_c_int) &
        == [0, 1]), 'QMP_comm_get_logical_coordinates_from')
    call QMP_comm_get_logical_coordinates_from2(back, place, here)
    call check(all(place == [0_c_int, here]), &
        'QMP_comm_get_logical_coordinates_from2')
    call check(QMP_comm_get_node_number_from(back, place) == here, &
        'QMP_comm_get_node_number_from')
  end subroutine

  !> Declarations with and without a map, on communicators that are the default
  !> one for that time.
  subroutine run_default_topologies(job)
    type(QMP_comm_t), intent(in) :: job
    type(QMP_comm_t) :: comm

    call check(QMP_comm_split(job, 0_c_int, 0_c_int, comm) == QMP_SUCCESS, &
        'QMP_comm_split')
    call check(QMP_comm_set_default(comm) == QMP_SUCCESS, &
        'QMP_comm_set_default')
    call check(QMP_declare_logical_topology([nodes], 1_c_int) == QMP_SUCCESS, &
        'QMP_declare_logical_topology')
    call check(all(QMP_get_logical_dimensions() == [nodes]), 'its dimensions')
    call check(QMP_comm_free(comm) == QMP_SUCCESS, 'QMP_comm_free')
    call check(QMP_comm_get_default() == job, 'the default is back')

    call check(QMP_comm_split(job, 0_c_int, 0_c_int, comm) == QMP_SUCCESS, &
        'QMP_comm_split')
    call check(QMP_comm_declare_logical_topology_map(comm, &
        [2_c_int, nodes / 2_c_int], 2_c_int, [1_c_int, 0_c_int], 2_c_int) &
        == QMP_SUCCESS, 'QMP_comm_declare_logical_topology_map')
    ! The second axis is the fastest in node numbers.
    call check(all(QMP_comm_get_logical_coordinates(comm) &
        == [me / (nodes / 2), mod(me, nodes / 2)]), 'coordinates by the map')
    call check(QMP_comm_free(comm) == QMP_SUCCESS, 'QMP_comm_free')

    call check(QMP_comm_split(job, 0_c_int, 0_c_int, comm) == QMP_SUCCESS, &
        'QMP_comm_split')
    call check(QMP_comm_set_default(comm) == QMP_SUCCESS, 'as the default')
    call check(QMP_declare_logical_topology_map([2_c_int, nodes / 2_c_int], &
        2_c_int, [0_c_int, 1_c_int], 2_c_int) == QMP_SUCCESS, &
        'QMP_declare_logical_topology_map')
    call check(all(QMP_get_logical_coordinates() == [mod(me, 2_c_int), &
        me / 2]), 'coordinates by the other map')
    call check(QMP_comm_free(comm) == QMP_SUCCESS, 'QMP_comm_free')
  end subroutine

  subroutine after_the_end()
    call QMP_finalize_msg_passing()
    call check(QMP_is_initialized() == QMP_FALSE, 'QMP_finalize_msg_passing')
  end subroutine

end module
