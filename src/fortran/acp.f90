!> ACP, Advanced Communication Primitives, for Fortran: everything that acp.h
!> and acp/extension.h have. A program uses this module. docs/fortran.md explains
!> it; the C headers say what each procedure does.
!>
!> Procedures, arguments and constants have their names of C. A module for each
!> C header has the interfaces; here they come together.
module acp
  use acp_channel
  use acp_deque
  use acp_extension
  use acp_generic
  use acp_global_memory
  use acp_gma
  use acp_infrastructure
  use acp_list
  use acp_map
  use acp_set
  use acp_types
  use acp_vector
  use acp_workspace
  implicit none
end module
