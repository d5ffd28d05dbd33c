!> The command line for acp_init and QMP_init_msg_passing. Both are given the
!> words of the program's command line, as a C program gives its argc and argv,
!> and take their own words out.
!>
!> Fortran's get_command_argument still has all words. A program that has words
!> of its own reads the rest by the two public procedures here, which module acp
!> and module qmp have too.
module acp_command_line
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_loc, c_null_char, &
      c_null_ptr, c_ptr
  use acp_text, only: to_fortran
  implicit none
  private
  public :: acpx_command_argument_count, acpx_get_command_argument
  public :: begin_command_line

  !> A word with its zero. A word stays where it is for the life of the program:
  !> the library may keep a pointer to it.
  type :: word_t
    character(kind=c_char), allocatable :: text(:)
  end type

  type(word_t), allocatable, target, save :: words(:)
  type(c_ptr), allocatable, target, save :: argv(:)
  type(c_ptr), target, save :: start_of_argv = c_null_ptr
  integer(c_int), target, save :: argc = 0

contains

  !> How many words the program has, its name not counted. Before acp_init it
  !> is command_argument_count().
  integer function acpx_command_argument_count()
    if (allocated(argv)) then
      acpx_command_argument_count = max(0, int(argc) - 1)
    else
      acpx_command_argument_count = command_argument_count()
    end if
  end function

  !> A word of the program, without the words that acp_init took. The arguments
  !> are those of get_command_argument.
  !>
  !> number: 0 is the name of the program
  !> value:  the word, truncated or filled with blanks; blank when there is none
  !> length: of the whole word; 0 when there is none
  !> status: 0; -1 the word was truncated; 1 there is no such word
  subroutine acpx_get_command_argument(number, value, length, status)
    integer, intent(in) :: number
    character(*), intent(out), optional :: value
    integer, intent(out), optional :: length, status
    character(:), allocatable :: word
    integer :: state

    word = ''
    state = 1
    if (.not. allocated(argv)) then
      call read_original(number, word, state)
    else if (number >= 0 .and. number < argc) then
      word = to_fortran(argv(number + 1))
      state = 0
    end if
    if (present(value)) then
      value = word
      if (len(word) > len(value)) state = -1
    end if
    if (present(length)) length = len(word)
    if (present(status)) status = state
  end subroutine

  !> Makes argc and argv of C from the command line, once, and returns their
  !> addresses. Both stay, and the words that the library takes out of them are
  !> out for acpx_get_command_argument.
  subroutine begin_command_line(argc_of_c, argv_of_c)
    integer(c_int), pointer, intent(out) :: argc_of_c
    type(c_ptr), intent(out) :: argv_of_c
    integer :: i

    if (.not. allocated(argv)) then
      allocate (words(0:command_argument_count()))
      allocate (argv(size(words) + 1))
      do i = 0, size(words) - 1
        call keep_word(i)
        argv(i + 1) = c_loc(words(i)%text)
      end do
      argv(size(argv)) = c_null_ptr
      argc = int(size(words), c_int)
      start_of_argv = c_loc(argv)
    end if
    argc_of_c => argc
    argv_of_c = c_loc(start_of_argv)
  end subroutine

  subroutine keep_word(number)
    integer, intent(in) :: number
    character(:), allocatable :: word
    integer :: i, state

    call read_original(number, word, state)
    allocate (words(number)%text(len(word) + 1))
    do i = 1, len(word)
      words(number)%text(i) = word(i:i)
    end do
    words(number)%text(len(word) + 1) = c_null_char
  end subroutine

  subroutine read_original(number, word, state)
    integer, intent(in) :: number
    character(:), allocatable, intent(out) :: word
    integer, intent(out) :: state
    integer :: length

    call get_command_argument(number, length=length, status=state)
    allocate (character(merge(length, 0, state == 0)) :: word)
    if (state == 0 .and. length > 0) call get_command_argument(number, word)
  end subroutine

end module
