!> Texts of C and of Fortran, one made of the other. The modules of ACP and QMP
!> use it; programs do not.
module acp_text
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, &
      c_null_char, c_ptr, c_size_t
  implicit none
  private
  public :: to_c, to_fortran

  interface
    pure function c_strlen(text) bind(C, name='strlen')
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: c_strlen
    end function
  end interface

contains

  !> The text for C: without trailing blanks, with a zero behind it.
  pure function to_c(text) result(c_text)
    character(*), intent(in) :: text
    character(kind=c_char) :: c_text(len_trim(text) + 1)
    integer :: i

    do i = 1, size(c_text) - 1
      c_text(i) = text(i:i)
    end do
    c_text(size(c_text)) = c_null_char
  end function

  !> A copy of a text of C; empty for a null pointer.
  function to_fortran(c_text) result(text)
    type(c_ptr), intent(in) :: c_text
    character(:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer :: i

    if (.not. c_associated(c_text)) then
      text = ''
      return
    end if
    call c_f_pointer(c_text, bytes, [c_strlen(c_text)])
    allocate (character(size(bytes)) :: text)
    do i = 1, size(bytes)
      text(i:i) = bytes(i)
    end do
  end function

end module
