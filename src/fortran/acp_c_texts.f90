!> The functions of C that take or return texts, as C has them. The modules
!> acp_infrastructure and acp_extension give them Fortran's texts; programs do
!> not use this module.
module acp_c_texts
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_int64_t, &
      c_null_funptr, c_null_ptr, c_ptr, c_size_t
  implicit none
  private :: c_char, c_funptr, c_int, c_int64_t, c_null_funptr, c_null_ptr, &
      c_ptr, c_size_t

  !> A layer above. name points to a text with a zero that stays valid; the
  !> form of acpx_add_module that takes a text needs no such pointer.
  type, bind(C) :: acpx_module_t
    type(c_ptr) :: name = c_null_ptr
    integer(c_size_t) :: bytes = 0
    type(c_funptr) :: init = c_null_funptr
    type(c_funptr) :: fini = c_null_funptr
    type(c_ptr) :: arg = c_null_ptr
  end type

  interface
    subroutine c_acp_abort(str) bind(C, name='acp_abort')
      import
      character(kind=c_char), intent(in), optional :: str(*)
    end subroutine

    pure function c_acpx_strerror(code) bind(C, name='acpx_strerror')
      import
      integer(c_int), value :: code
      type(c_ptr) :: c_acpx_strerror
    end function

    pure function c_acpx_version() bind(C, name='acpx_version')
      import
      type(c_ptr) :: c_acpx_version
    end function

    function c_acpx_setting(name, value) bind(C, name='acpx_setting')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(inout) :: value
      integer(c_int) :: c_acpx_setting
    end function

    function c_acpx_count(name, amount) bind(C, name='acpx_count')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: amount
      integer(c_int) :: c_acpx_count
    end function

    function c_acpx_publish(name, value, size) bind(C, name='acpx_publish')
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: value
      integer(c_size_t), value :: size
      integer(c_int) :: c_acpx_publish
    end function

    function c_acpx_lookup(name, value, capacity, size, timeout_ms) bind(C, &
        name='acpx_lookup')
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: value
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(inout), optional :: size
      integer(c_int), value :: timeout_ms
      integer(c_int) :: c_acpx_lookup
    end function

    function c_acpx_unpublish(name) bind(C, name='acpx_unpublish')
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: c_acpx_unpublish
    end function

    subroutine c_acpx_log(level, text) bind(C, name='acpx_log')
      import
      integer(c_int), value :: level
      character(kind=c_char), intent(in) :: text(*)
    end subroutine

    function c_acpx_add_module(module) bind(C, name='acpx_add_module')
      import
      type(acpx_module_t), intent(in) :: module
      integer(c_int) :: c_acpx_add_module
    end function
  end interface

end module
