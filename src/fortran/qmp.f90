!> QMP, message passing for lattice codes, for Fortran: everything that qmp.h
!> has. A program uses this module. docs/fortran.md explains it; qmp.h says what
!> each procedure does.
!>
!> Procedures, arguments and constants have their names of C. The modules here
!> follow the sections of qmp.h.
module qmp
  use qmp_coordinates
  use qmp_global
  use qmp_job
  use qmp_long_double
  use qmp_machine
  use qmp_message
  use qmp_output
  use qmp_types
  implicit none
end module
