!> Global memory and its allocation, as acp/global_memory.h and acp/malloc.h
!> have them; their conventions hold here too. Part of module acp.
!>
!> Addresses of the program are of type(c_ptr): c_loc(a) of a variable with the
!> attribute TARGET, and c_f_pointer makes a Fortran pointer of a result.
module acp_global_memory
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_size_t
  use acp_types, only: acp_atkey_t, acp_ga_t
  implicit none
  private :: c_int, c_ptr, c_size_t, acp_atkey_t, acp_ga_t

  interface
    !> Makes size bytes at addr reachable for all ranks. Specification 4.10.2.
    function acp_register_memory(addr, size, color) bind(C, &
        name='acp_register_memory')
      import
      type(c_ptr), value :: addr
      integer(c_size_t), value :: size
      integer(c_int), value :: color
      integer(acp_atkey_t) :: acp_register_memory
    end function

    !> Ends a region. Specification 4.10.3.
    function acp_unregister_memory(atkey) bind(C, name='acp_unregister_memory')
      import
      integer(acp_atkey_t), value :: atkey
      integer(c_int) :: acp_unregister_memory
    end function

    !> The global address of a byte of an own region. Specification 4.10.4.
    function acp_query_ga(atkey, addr) bind(C, name='acp_query_ga')
      import
      integer(acp_atkey_t), value :: atkey
      type(c_ptr), value :: addr
      integer(acp_ga_t) :: acp_query_ga
    end function

    !> The number of colors: independent paths of the network in use.
    !> Specification 4.10.5.
    function acp_colors() bind(C, name='acp_colors')
      import
      integer(c_int) :: acp_colors
    end function

    !> The rank that an address belongs to. Specification 4.10.6.
    function acp_query_rank(ga) bind(C, name='acp_query_rank')
      import
      integer(acp_ga_t), value :: ga
      integer(c_int) :: acp_query_rank
    end function

    !> The color of an address. Specification 4.10.7.
    function acp_query_color(ga) bind(C, name='acp_query_color')
      import
      integer(acp_ga_t), value :: ga
      integer(c_int) :: acp_query_color
    end function

    !> The pointer behind an address of the calling rank. Specification 4.10.8.
    function acp_query_address(ga) bind(C, name='acp_query_address')
      import
      integer(acp_ga_t), value :: ga
      type(c_ptr) :: acp_query_address
    end function

    !> Where a rank's starter memory begins, which serves for the first
    !> exchange of addresses. Specification 4.10.9.
    function acp_query_starter_ga(rank) bind(C, name='acp_query_starter_ga')
      import
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_query_starter_ga
    end function

    !> Allocates size bytes of global memory on a rank. Specification 4.9.1.
    function acp_malloc(size, rank) bind(C, name='acp_malloc')
      import
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_malloc
    end function

    !> Frees a block of acp_malloc, from this rank or another. Specification
    !> 4.9.2.
    subroutine acp_free(ga) bind(C, name='acp_free')
      import
      integer(acp_ga_t), value :: ga
    end subroutine
  end interface

end module
