!> Copies and atomics over the memory of all ranks, as acp/gma.h has them; its
!> conventions hold here too. Part of module acp.
!>
!> Memory of an operation belongs to it until it is complete. The variables
!> need the attribute TARGET, and ASYNCHRONOUS where the compiler could move
!> accesses across acp_complete; docs/fortran.md says when.
module acp_gma
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_size_t
  use acp_types, only: acp_ga_t, acp_handle_t
  implicit none
  private :: c_int, c_int32_t, c_int64_t, c_size_t, acp_ga_t, acp_handle_t

  interface
    !> Copies size bytes from src to dst. Specification 4.11.2.
    function acp_copy(dst, src, size, order) bind(C, name='acp_copy')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_size_t), value :: size
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_copy
    end function

    !> Adds value; wraps around. 4 bytes. Specification 4.11.3.
    function acp_add4(dst, src, value, order) bind(C, name='acp_add4')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_add4
    end function

    !> Adds value; wraps around. 8 bytes. Specification 4.11.4.
    function acp_add8(dst, src, value, order) bind(C, name='acp_add8')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_add8
    end function

    !> Stores newval if the word equals oldval. 4 bytes. Specification 4.11.5.
    function acp_cas4(dst, src, oldval, newval, order) bind(C, name='acp_cas4')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int32_t), value :: oldval, newval
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_cas4
    end function

    !> Stores newval if the word equals oldval. 8 bytes. Specification 4.11.6.
    function acp_cas8(dst, src, oldval, newval, order) bind(C, name='acp_cas8')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int64_t), value :: oldval, newval
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_cas8
    end function

    !> Bitwise AND with value. 4 bytes. Specification 4.11.7.
    function acp_and4(dst, src, value, order) bind(C, name='acp_and4')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_and4
    end function

    !> Bitwise AND with value. 8 bytes. Specification 4.11.8.
    function acp_and8(dst, src, value, order) bind(C, name='acp_and8')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_and8
    end function

    !> Bitwise OR with value. 4 bytes. Specification 4.11.9.
    function acp_or4(dst, src, value, order) bind(C, name='acp_or4')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_or4
    end function

    !> Bitwise OR with value. 8 bytes. Specification 4.11.10.
    function acp_or8(dst, src, value, order) bind(C, name='acp_or8')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_or8
    end function

    !> Bitwise XOR with value. 4 bytes. Specification 4.11.11.
    function acp_xor4(dst, src, value, order) bind(C, name='acp_xor4')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_xor4
    end function

    !> Bitwise XOR with value. 8 bytes. Specification 4.11.12.
    function acp_xor8(dst, src, value, order) bind(C, name='acp_xor8')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_xor8
    end function

    !> Stores value. 4 bytes. Specification 4.11.13.
    function acp_swap4(dst, src, value, order) bind(C, name='acp_swap4')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_swap4
    end function

    !> Stores value. 8 bytes. Specification 4.11.14.
    function acp_swap8(dst, src, value, order) bind(C, name='acp_swap8')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_swap8
    end function

    !> Waits until handle, and everything issued before it, is complete.
    !> Specification 4.11.15.
    subroutine acp_complete(handle) bind(C, name='acp_complete')
      import
      integer(acp_handle_t), value :: handle
    end subroutine

    !> Whether an operation up to handle is incomplete. Specification 4.11.16.
    function acp_inquire(handle) bind(C, name='acp_inquire')
      import
      integer(acp_handle_t), value :: handle
      integer(c_int) :: acp_inquire
    end function
  end interface

end module
