!> Calls every procedure of module qmp, on 2 and 4 nodes, over shared memory and
!> over UDP. It runs as: every_qmp_procedure one -qmp-geom NODES 1 two.
program every_qmp_procedure
  use checks, only: check, numbers_of
  use qmp_global_tests
  use qmp_machine_tests
  use qmp_message_tests
  implicit none

  call before_the_start()
  call run_start()
  call run_machine()
  call run_lattice()
  call run_communicators()
  call run_memory()
  call run_messages()
  call run_multiples()
  call run_shapes()
  call run_broadcasts()
  call run_sums()
  call run_extremes()
  call run_others()
  call run_output()
  call after_the_end()
  call check(numbers_of() > 250, 'number of checks')
  print '(a, i0, a)', 'node ', me, ': passed'
end program
