!> halo in Fortran: the program of halo.c, with the same result to the last bit.
!>
!> Shows: put with signal, as halo.c does, and besides how Fortran uses memory
!> that other ranks write: acp_query_address gives a C address, c_f_pointer
!> makes a Fortran pointer of it, and ASYNCHRONOUS says that its values change
!> in calls that do not name it.
!>
!>   acprun -np 4 halo_fortran [ROWS [STEPS]]
!>
!> The rows of halo.c are columns here, because Fortran's first index runs
!> fastest: point x of row y is plate(x, y). So a row is contiguous, and one put
!> takes it.

!> Sums and products of 64-bit numbers without a sign. Fortran has only integers
!> with a sign, and does not say what happens when one overflows.
module unsigned64
  use, intrinsic :: iso_c_binding, only: c_int64_t
  implicit none
  private
  public :: added, multiplied

  integer(c_int64_t), parameter :: low16 = int(z'ffff', c_int64_t)
contains

  pure integer(c_int64_t) function added(a, b)
    integer(c_int64_t), intent(in) :: a, b
    integer(c_int64_t), parameter :: low32 = int(z'ffffffff', c_int64_t)
    integer(c_int64_t) :: low

    low = iand(a, low32) + iand(b, low32)
    added = ior(iand(low, low32), &
        ishft(ishft(a, -32) + ishft(b, -32) + ishft(low, -32), 32))
  end function

  !> In four parts of 16 bits, as on paper.
  pure integer(c_int64_t) function multiplied(a, b)
    integer(c_int64_t), intent(in) :: a, b
    integer(c_int64_t) :: column
    integer :: i, k

    multiplied = 0
    column = 0
    do k = 0, 3
      do i = 0, k
        column = column + iand(ishft(a, -16 * i), low16) * &
            iand(ishft(b, -16 * (k - i)), low16)
      end do
      multiplied = ior(multiplied, ishft(iand(column, low16), 16 * k))
      column = ishft(column, -16)
    end do
  end function

end module

!> The plate: its place in library memory, computing, exchanging.
module plates
  use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_int, &
      c_int64_t, c_size_t
  use acp
  use unsigned64, only: added, multiplied
  implicit none

  integer, parameter :: most_rows = 1024
  integer, parameter :: most_points = (most_rows + 2)**2
  integer(c_int), parameter :: patience_ms = 60000
  real(c_double), parameter :: hot = 100.0_c_double

  !> Library memory of every rank. Two plates: a step reads one and writes the
  !> other. Row 0 of a plate and the row behind the last are the halo: copies of
  !> the neighbours' rows, or the plate's edge.
  type, bind(C) :: memory_t
    integer(c_int64_t) :: from_above
    integer(c_int64_t) :: from_below
    integer(c_int64_t) :: checksum
    integer(c_int64_t) :: old
    real(c_double) :: plate(most_points, 0:1)
  end type

  !> Where the members begin, in bytes.
  integer(acp_ga_t), parameter :: at_from_above = 0, at_from_below = 8, &
      at_checksum = 16, at_old = 24, at_plate = 32
  integer(c_size_t), parameter :: bytes_of_memory = 32 + 16 * most_points

  integer(c_int) :: module_number
  integer(c_int) :: rank, procs
  integer :: rows, width

contains

  !> Rank r has the rows first_row(r) .. first_row(r + 1) - 1, counted from 0.
  pure integer function first_row(r)
    integer(c_int), intent(in) :: r
    first_row = rows * r / procs
  end function

  pure integer function rows_of(r)
    integer(c_int), intent(in) :: r
    rows_of = first_row(r + 1) - first_row(r)
  end function

  integer(acp_ga_t) function member_of(r, offset)
    integer(c_int), intent(in) :: r
    integer(acp_ga_t), intent(in) :: offset
    member_of = acpx_module_ga(module_number, r) + offset
  end function

  !> The address of a row of a rank's plate 0 or 1.
  integer(acp_ga_t) function row_of(r, which, row)
    integer(c_int), intent(in) :: r
    integer, intent(in) :: which, row
    row_of = member_of(r, at_plate + &
        8_acp_ga_t * (int(which, acp_ga_t) * most_points + row * width))
  end function

  !> The upper edge of the whole plate is hot, all else is cold.
  subroutine set_start(plate, count, has_top)
    integer, intent(in) :: count
    real(c_double), intent(inout) :: plate(0:width - 1, 0:count + 1)
    logical, intent(in) :: has_top

    plate = 0
    if (has_top) plate(:, 0) = hot
  end subroutine

  subroutine compute_step(to, from, count)
    integer, intent(in) :: count
    real(c_double), intent(inout) :: to(0:width - 1, 0:count + 1)
    real(c_double), intent(in) :: from(0:width - 1, 0:count + 1)
    integer :: x, y

    do y = 1, count
      do x = 1, width - 2
        to(x, y) = 0.25_c_double * (((from(x, y - 1) + from(x, y + 1)) + &
            from(x - 1, y)) + from(x + 1, y))
      end do
    end do
  end subroutine

  !> A sum of a hash of each point's bits and place, as in halo.c.
  integer(c_int64_t) function checksum_of(plate, count, first)
    integer, intent(in) :: count, first
    real(c_double), intent(in) :: plate(0:width - 1, 0:count + 1)
    integer(c_int64_t), parameter :: &
        golden = -7046029254386353131_c_int64_t, &
        mixer = -2960836687051489901_c_int64_t
    integer(c_int64_t) :: bits
    integer :: x, y

    checksum_of = 0
    do y = 1, count
      do x = 1, width - 2
        bits = transfer(plate(x, y), bits)
        bits = ieor(bits, multiplied( &
            int(first + y, c_int64_t) * width + x, golden))
        bits = multiplied(bits, mixer)
        checksum_of = added(checksum_of, ieor(bits, ishft(bits, -32)))
      end do
    end do
  end function

  !> Puts one of my rows into a neighbour's halo, and signals it.
  subroutine send_row(halo, row, counter)
    integer(acp_ga_t), intent(in) :: halo, row, counter
    integer(acp_handle_t) :: handle

    handle = acpx_put_signal(halo, row, 8_c_size_t * width, counter, &
        1_c_int64_t, ACP_HANDLE_NULL)
    if (handle == ACP_HANDLE_NULL) call acp_abort('acpx_put_signal')
  end subroutine

  !> Sleeps until a counter of mine has reached count.
  subroutine wait_for(counter, count)
    integer(acp_ga_t), intent(in) :: counter
    integer(c_int64_t), intent(in) :: count
    integer(c_int64_t) :: seen

    seen = 0
    do while (seen < count)
      if (acpx_wait_word(member_of(rank, counter), seen, patience_ms, seen) &
          /= 0) call acp_abort('no signal of a neighbour')
    end do
  end subroutine

  !> Gives my outermost rows of a plate to the neighbours, and waits for theirs.
  !> Two plates are enough: a neighbour writes to this plate's halo again two
  !> steps on, and cannot get there without my row of the step between.
  subroutine exchange(which, count)
    integer, intent(in) :: which
    integer(c_int64_t), intent(in) :: count
    integer(c_int) :: above, below

    above = rank - 1
    below = rank + 1
    if (above >= 0) call send_row(row_of(above, which, rows_of(above) + 1), &
        row_of(rank, which, 1), member_of(above, at_from_below))
    if (below < procs) call send_row(row_of(below, which, 0), &
        row_of(rank, which, rows_of(rank)), member_of(below, at_from_above))
    if (above >= 0) call wait_for(at_from_above, count)
    if (below < procs) call wait_for(at_from_below, count)
    ! Rows that are on their way must not change.
    call acp_complete(ACP_HANDLE_ALL)
  end subroutine

  !> The checksum of the whole plate, on rank 0 only.
  integer(c_int64_t) function compute_together(steps)
    integer, intent(in) :: steps
    type(memory_t), pointer, asynchronous :: own
    integer(c_int64_t) :: part
    integer :: step, from, count

    call c_f_pointer(acp_query_address(member_of(rank, at_from_above)), own)
    count = rows_of(rank)
    call set_start(own%plate(:, 0), count, rank == 0)
    call set_start(own%plate(:, 1), count, rank == 0)
    ! No neighbour may put into a plate before it is set.
    call must(acp_sync())
    do step = 0, steps - 1
      from = mod(step, 2)
      call exchange(from, step + 1_c_int64_t)
      call compute_step(own%plate(:, 1 - from), own%plate(:, from), count)
    end do
    part = checksum_of(own%plate(:, mod(steps, 2)), count, first_row(rank))
    call acp_complete(acp_add8(member_of(rank, at_old), &
        member_of(0_c_int, at_checksum), part, ACP_HANDLE_NULL))
    call must(acp_sync())
    compute_together = own%checksum
  end function

  !> The whole plate on this rank alone; its checksum.
  integer(c_int64_t) function compute_alone(steps)
    integer, intent(in) :: steps
    real(c_double), allocatable :: plate(:, :)
    integer :: step, from

    allocate (plate(width * (rows + 2), 0:1))
    call set_start(plate(:, 0), rows, .true.)
    call set_start(plate(:, 1), rows, .true.)
    do step = 0, steps - 1
      from = mod(step, 2)
      call compute_step(plate(:, 1 - from), plate(:, from), rows)
    end do
    compute_alone = checksum_of(plate(:, mod(steps, 2)), rows, 0)
  end function

  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status /= 0) call acp_abort('a call of ACP failed')
  end subroutine

end module

!> Computes the plate together with all ranks. Then rank 0 computes it alone and
!> compares. The module has to be added before acp_init.
program halo
  use, intrinsic :: iso_c_binding, only: c_int64_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  use acp
  use plates
  implicit none
  integer(c_int64_t) :: checksum, expected
  integer :: steps

  module_number = acpx_add_module('halo', bytes_of_memory)
  if (module_number < 0) call fail()
  if (acp_init() /= 0) call fail()
  rank = acp_rank()
  procs = acp_procs()
  rows = number_of(1, 256, most_rows)
  steps = number_of(2, 200, 1000000)
  width = rows + 2
  if (rows < procs) call acp_abort('fewer rows than ranks')

  checksum = compute_together(steps)
  expected = checksum
  if (rank == 0) then
    expected = compute_alone(steps)
    print '(i0, a, i0, a, i0, 2a)', rows, ' x ', rows, ' points, ', steps, &
        ' steps: checksum ', hexadecimal(checksum)
    if (checksum /= expected) write (error_unit, '(2a)') &
        'halo: alone, rank 0 gets checksum ', hexadecimal(expected)
  end if
  call must(acp_finalize())
  if (rank == 0 .and. checksum /= expected) stop 1

contains

  subroutine fail()
    write (error_unit, '(2a)') 'halo: ', acpx_strerror(acp_errno())
    stop 1
  end subroutine

  !> The number that is a word of the command line. Words that acp_init took are
  !> not among them.
  integer function number_of(word, otherwise, most)
    integer, intent(in) :: word, otherwise, most
    character(20) :: text
    integer :: status

    number_of = otherwise
    if (word > acpx_command_argument_count()) return
    call acpx_get_command_argument(word, text, status=status)
    if (status == 0) read (text, *, iostat=status) number_of
    if (status /= 0 .or. number_of < 1 .or. number_of > most) then
      write (error_unit, '(3a, i0)') "halo: '", trim(text), &
          "' is no number from 1 to ", most
      call acp_abort('wrong argument')
    end if
  end function

  !> Sixteen digits, the letters small as printf has them.
  function hexadecimal(number) result(digits)
    integer(c_int64_t), intent(in) :: number
    character(16) :: digits
    integer :: i, letter

    write (digits, '(z16.16)') number
    do i = 1, len(digits)
      letter = index('ABCDEF', digits(i:i))
      if (letter > 0) digits(i:i) = achar(iachar('a') + letter - 1)
    end do
  end function

end program
