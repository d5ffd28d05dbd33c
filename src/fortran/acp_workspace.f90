!> Workspaces: memory of all ranks together, read and written at offsets, as
!> acp/workspace.h has them; its conventions hold here too. Part of module acp.
module acp_workspace
  use, intrinsic :: iso_c_binding, only: c_int, c_size_t
  use acp_types, only: acp_ga_t, acp_wsd_t
  implicit none
  private :: c_int, c_size_t, acp_ga_t, acp_wsd_t

  interface
    !> Creates a workspace. Specification 4.8.2.
    function acp_create_ws(size) bind(C, name='acp_create_ws')
      import
      integer(c_size_t), value :: size
      type(acp_wsd_t) :: acp_create_ws
    end function

    !> Ends a workspace and frees its memory. Specification 4.8.3.
    subroutine acp_destroy_ws(wsd) bind(C, name='acp_destroy_ws')
      import
      type(acp_wsd_t), value :: wsd
    end subroutine

    !> Copies bytes of a workspace to memory. Specification 4.8.4.
    function acp_read_ws(wsd, ga, size, offset) bind(C, name='acp_read_ws')
      import
      type(acp_wsd_t), value :: wsd
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size, offset
      integer(c_int) :: acp_read_ws
    end function

    !> How workspaces that are created from now on lie on the ranks.
    !> Specification 4.8.5.
    function acp_setparams_ws(proc_start, size_default) bind(C, &
        name='acp_setparams_ws')
      import
      integer(c_size_t), value :: proc_start, size_default
      integer(c_int) :: acp_setparams_ws
    end function

    !> Copies memory into a workspace. Specification 4.8.6.
    function acp_write_ws(wsd, ga, size, offset) bind(C, name='acp_write_ws')
      import
      type(acp_wsd_t), value :: wsd
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size, offset
      integer(c_int) :: acp_write_ws
    end function
  end interface

end module
