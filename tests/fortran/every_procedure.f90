!> Calls every procedure of module acp, on 2 and 4 ranks, over shared memory and
!> over UDP. It runs as: every_procedure one --acp-heapsize=24M "two words".
program every_procedure
  use acp, only: acpx_version
  use checks, only: check, numbers_of, rank
  use extension_tests
  use list_tests
  use memory_tests
  use message_tests
  use sequence_tests
  use start_tests
  use table_tests
  implicit none

  call before_the_start()
  call add_layers()
  call run_start()
  call run_memory()
  call run_extension()
  call run_channels()
  call run_workspaces()
  call run_vector()
  call run_deque()
  call run_generic_sequences()
  call run_list()
  call run_generic_lists()
  call run_set()
  call run_map()
  call run_map_extensions()
  call run_generic_tables()
  call run_reset()
  call after_the_end()
  call check_fini()
  call check(numbers_of() > 400, 'number of checks')
  print '(a, i0, 3a)', 'rank ', rank, ', ACP ', acpx_version(), ': passed'
end program
