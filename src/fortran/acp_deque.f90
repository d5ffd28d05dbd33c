!> Deques: queues of bytes with two ends, as acp/deque.h has
!> them; its conventions hold here too. Part of module acp.
module acp_deque
  use, intrinsic :: iso_c_binding, only: c_int, c_size_t
  use acp_types, only: acp_ga_t, acp_pair_t, ACP_GA_NULL
  implicit none
  private :: c_int, c_size_t, acp_ga_t, acp_pair_t, ACP_GA_NULL

  !> A deque; no deque when ga is ACP_GA_NULL.
  type, bind(C) :: acp_deque_t
    integer(acp_ga_t) :: ga = ACP_GA_NULL
  end type

  !> A position in a deque. index is its offset in bytes, from 0.
  type, bind(C) :: acp_deque_it_t
    type(acp_deque_t) :: deque
    integer(c_int) :: index = 0
  end type

  interface
    !> Makes deque1 equal to deque2. Specification 4.4.2.
    subroutine acp_assign_deque(deque1, deque2) bind(C, &
        name='acp_assign_deque')
      import
      type(acp_deque_t), value :: deque1, deque2
    end subroutine

    !> Makes a deque equal to a range. Specification 4.4.3.
    subroutine acp_assign_range_deque(deque, start, end) bind(C, &
        name='acp_assign_range_deque')
      import
      type(acp_deque_t), value :: deque
      type(acp_deque_it_t), value :: start, end
    end subroutine

    !> The address of a byte. Specification 4.4.4.
    function acp_at_deque(deque, offset) bind(C, name='acp_at_deque')
      import
      type(acp_deque_t), value :: deque
      integer(c_int), value :: offset
      integer(acp_ga_t) :: acp_at_deque
    end function

    !> The position of the last byte. Specification 4.4.5.
    function acp_back_deque(deque) bind(C, name='acp_back_deque')
      import
      type(acp_deque_t), value :: deque
      type(acp_deque_it_t) :: acp_back_deque
    end function

    !> The first position. Specification 4.4.6.
    pure function acp_begin_deque(deque) bind(C, name='acp_begin_deque')
      import
      type(acp_deque_t), value :: deque
      type(acp_deque_it_t) :: acp_begin_deque
    end function

    !> Bytes that the deque can have without growing. Specification 4.4.7.
    function acp_capacity_deque(deque) bind(C, name='acp_capacity_deque')
      import
      type(acp_deque_t), value :: deque
      integer(c_size_t) :: acp_capacity_deque
    end function

    !> Makes the size 0; the capacity stays. Specification 4.4.8.
    subroutine acp_clear_deque(deque) bind(C, name='acp_clear_deque')
      import
      type(acp_deque_t), value :: deque
    end subroutine

    !> Creates an empty deque. Specification 4.4.9.
    function acp_create_deque(size, rank) bind(C, name='acp_create_deque')
      import
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      type(acp_deque_t) :: acp_create_deque
    end function

    !> Ends a deque and frees its memory. Specification 4.4.10.
    subroutine acp_destroy_deque(deque) bind(C, name='acp_destroy_deque')
      import
      type(acp_deque_t), value :: deque
    end subroutine

    !> Whether the size is 0. Specification 4.4.11.
    function acp_empty_deque(deque) bind(C, name='acp_empty_deque')
      import
      type(acp_deque_t), value :: deque
      integer(c_int) :: acp_empty_deque
    end function

    !> The position behind the last byte. Specification 4.4.12.
    function acp_end_deque(deque) bind(C, name='acp_end_deque')
      import
      type(acp_deque_t), value :: deque
      type(acp_deque_it_t) :: acp_end_deque
    end function

    !> Takes bytes out. Specification 4.4.13.
    function acp_erase_deque(it, size) bind(C, name='acp_erase_deque')
      import
      type(acp_deque_it_t), value :: it
      integer(c_size_t), value :: size
      type(acp_deque_it_t) :: acp_erase_deque
    end function

    !> Takes a range out. Specification 4.4.14.
    function acp_erase_range_deque(start, end) bind(C, &
        name='acp_erase_range_deque')
      import
      type(acp_deque_it_t), value :: start, end
      type(acp_deque_it_t) :: acp_erase_range_deque
    end function

    !> The position before the first byte. Specification 4.4.15.
    pure function acp_front_deque(deque) bind(C, name='acp_front_deque')
      import
      type(acp_deque_t), value :: deque
      type(acp_deque_it_t) :: acp_front_deque
    end function

    !> Puts bytes in. Specification 4.4.16.
    function acp_insert_deque(it, ga, size) bind(C, name='acp_insert_deque')
      import
      type(acp_deque_it_t), value :: it
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      type(acp_deque_it_t) :: acp_insert_deque
    end function

    !> Puts a range of a deque in. Specification 4.4.17.
    function acp_insert_range_deque(it, start, end) bind(C, &
        name='acp_insert_range_deque')
      import
      type(acp_deque_it_t), value :: it, start, end
      type(acp_deque_it_t) :: acp_insert_range_deque
    end function

    !> Takes bytes off the end. Specification 4.4.18.
    subroutine acp_pop_back_deque(deque, size) bind(C, &
        name='acp_pop_back_deque')
      import
      type(acp_deque_t), value :: deque
      integer(c_size_t), value :: size
    end subroutine

    !> Takes bytes off the front. Specification 4.4.19.
    subroutine acp_pop_front_deque(deque, size) bind(C, &
        name='acp_pop_front_deque')
      import
      type(acp_deque_t), value :: deque
      integer(c_size_t), value :: size
    end subroutine

    !> Adds bytes at the end. Specification 4.4.20.
    subroutine acp_push_back_deque(deque, ga, size) bind(C, &
        name='acp_push_back_deque')
      import
      type(acp_deque_t), value :: deque
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
    end subroutine

    !> Adds bytes at the front, in their order. Specification 4.4.21.
    subroutine acp_push_front_deque(deque, ga, size) bind(C, &
        name='acp_push_front_deque')
      import
      type(acp_deque_t), value :: deque
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
    end subroutine

    !> Makes room. Specification 4.4.22.
    subroutine acp_reserve_deque(deque, size) bind(C, name='acp_reserve_deque')
      import
      type(acp_deque_t), value :: deque
      integer(c_size_t), value :: size
    end subroutine

    !> Bytes in the deque. Specification 4.4.23.
    function acp_size_deque(deque) bind(C, name='acp_size_deque')
      import
      type(acp_deque_t), value :: deque
      integer(c_size_t) :: acp_size_deque
    end function

    !> Exchanges the contents; each deque stays on its rank. Specification
    !> 4.4.24.
    subroutine acp_swap_deque(deque1, deque2) bind(C, name='acp_swap_deque')
      import
      type(acp_deque_t), value :: deque1, deque2
    end subroutine

    !> Moves an iterator. Specification 4.4.25.
    pure function acp_advance_deque_it(it, n) bind(C, &
        name='acp_advance_deque_it')
      import
      type(acp_deque_it_t), value :: it
      integer(c_int), value :: n
      type(acp_deque_it_t) :: acp_advance_deque_it
    end function

    !> The address of an iterator's byte. Specification 4.4.26.
    function acp_dereference_deque_it(it) bind(C, &
        name='acp_dereference_deque_it')
      import
      type(acp_deque_it_t), value :: it
      integer(acp_ga_t) :: acp_dereference_deque_it
    end function

    !> Where bytes from an iterator on are; acp_dereference has this form too.
    function acpx_dereference_deque_it(it, size) bind(C, &
        name='acpx_dereference_deque_it')
      import
      type(acp_deque_it_t), value :: it
      integer(c_size_t), value :: size
      type(acp_pair_t) :: acpx_dereference_deque_it
    end function

    !> Bytes from one iterator to another. Specification 4.4.27.
    function acp_distance_deque_it(first, last) bind(C, &
        name='acp_distance_deque_it')
      import
      type(acp_deque_it_t), value :: first, last
      integer(c_int) :: acp_distance_deque_it
    end function
  end interface

end module
