!> Vectors: growing arrays of bytes on a rank, as acp/vector.h has
!> them; its conventions hold here too. Part of module acp.
module acp_vector
  use, intrinsic :: iso_c_binding, only: c_int, c_size_t
  use acp_types, only: acp_ga_t, ACP_GA_NULL
  implicit none
  private :: c_int, c_size_t, acp_ga_t, ACP_GA_NULL

  !> A vector; no vector when ga is ACP_GA_NULL.
  type, bind(C) :: acp_vector_t
    integer(acp_ga_t) :: ga = ACP_GA_NULL
  end type

  !> A position in a vector. index is its offset in bytes, from 0.
  type, bind(C) :: acp_vector_it_t
    type(acp_vector_t) :: vector
    integer(c_int) :: index = 0
  end type

  interface
    !> Makes vector1 equal to vector2. Specification 4.3.2.
    subroutine acp_assign_vector(vector1, vector2) bind(C, &
        name='acp_assign_vector')
      import
      type(acp_vector_t), value :: vector1, vector2
    end subroutine

    !> Makes a vector equal to a range. Specification 4.3.3.
    subroutine acp_assign_range_vector(vector, start, end) bind(C, &
        name='acp_assign_range_vector')
      import
      type(acp_vector_t), value :: vector
      type(acp_vector_it_t), value :: start, end
    end subroutine

    !> The address of a byte. Specification 4.3.4.
    function acp_at_vector(vector, offset) bind(C, name='acp_at_vector')
      import
      type(acp_vector_t), value :: vector
      integer(c_int), value :: offset
      integer(acp_ga_t) :: acp_at_vector
    end function

    !> The first position. Specification 4.3.5.
    pure function acp_begin_vector(vector) bind(C, name='acp_begin_vector')
      import
      type(acp_vector_t), value :: vector
      type(acp_vector_it_t) :: acp_begin_vector
    end function

    !> Bytes that the vector can have without growing. Specification 4.3.6.
    function acp_capacity_vector(vector) bind(C, name='acp_capacity_vector')
      import
      type(acp_vector_t), value :: vector
      integer(c_size_t) :: acp_capacity_vector
    end function

    !> Makes the size 0; the capacity stays. Specification 4.3.7.
    subroutine acp_clear_vector(vector) bind(C, name='acp_clear_vector')
      import
      type(acp_vector_t), value :: vector
    end subroutine

    !> Creates a vector. Specification 4.3.8.
    function acp_create_vector(size, rank) bind(C, name='acp_create_vector')
      import
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      type(acp_vector_t) :: acp_create_vector
    end function

    !> Ends a vector and frees its memory. Specification 4.3.9.
    subroutine acp_destroy_vector(vector) bind(C, name='acp_destroy_vector')
      import
      type(acp_vector_t), value :: vector
    end subroutine

    !> Whether the size is 0. Specification 4.3.10.
    function acp_empty_vector(vector) bind(C, name='acp_empty_vector')
      import
      type(acp_vector_t), value :: vector
      integer(c_int) :: acp_empty_vector
    end function

    !> The position behind the last byte. Specification 4.3.11.
    function acp_end_vector(vector) bind(C, name='acp_end_vector')
      import
      type(acp_vector_t), value :: vector
      type(acp_vector_it_t) :: acp_end_vector
    end function

    !> Takes bytes out. Specification 4.3.12.
    function acp_erase_vector(it, size) bind(C, name='acp_erase_vector')
      import
      type(acp_vector_it_t), value :: it
      integer(c_size_t), value :: size
      type(acp_vector_it_t) :: acp_erase_vector
    end function

    !> Takes a range out. Specification 4.3.13.
    function acp_erase_range_vector(start, end) bind(C, &
        name='acp_erase_range_vector')
      import
      type(acp_vector_it_t), value :: start, end
      type(acp_vector_it_t) :: acp_erase_range_vector
    end function

    !> Puts bytes in. Specification 4.3.14.
    function acp_insert_vector(it, ga, size) bind(C, name='acp_insert_vector')
      import
      type(acp_vector_it_t), value :: it
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      type(acp_vector_it_t) :: acp_insert_vector
    end function

    !> Puts a range of a vector in. Specification 4.3.15.
    function acp_insert_range_vector(it, start, end) bind(C, &
        name='acp_insert_range_vector')
      import
      type(acp_vector_it_t), value :: it, start, end
      type(acp_vector_it_t) :: acp_insert_range_vector
    end function

    !> Takes bytes off the end. Specification 4.3.16.
    subroutine acp_pop_back_vector(vector, size) bind(C, &
        name='acp_pop_back_vector')
      import
      type(acp_vector_t), value :: vector
      integer(c_size_t), value :: size
    end subroutine

    !> Adds bytes at the end, next to each other. Specification 4.3.17.
    subroutine acp_push_back_vector(vector, ga, size) bind(C, &
        name='acp_push_back_vector')
      import
      type(acp_vector_t), value :: vector
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
    end subroutine

    !> Makes room. Specification 4.3.18.
    subroutine acp_reserve_vector(vector, size) bind(C, &
        name='acp_reserve_vector')
      import
      type(acp_vector_t), value :: vector
      integer(c_size_t), value :: size
    end subroutine

    !> Bytes in the vector. Specification 4.3.19.
    function acp_size_vector(vector) bind(C, name='acp_size_vector')
      import
      type(acp_vector_t), value :: vector
      integer(c_size_t) :: acp_size_vector
    end function

    !> Exchanges the contents; each vector stays on its rank. Specification
    !> 4.3.20.
    subroutine acp_swap_vector(vector1, vector2) bind(C, &
        name='acp_swap_vector')
      import
      type(acp_vector_t), value :: vector1, vector2
    end subroutine

    !> Moves an iterator. Specification 4.3.21.
    pure function acp_advance_vector_it(it, n) bind(C, &
        name='acp_advance_vector_it')
      import
      type(acp_vector_it_t), value :: it
      integer(c_int), value :: n
      type(acp_vector_it_t) :: acp_advance_vector_it
    end function

    !> The address of an iterator's byte. Specification 4.3.22.
    function acp_dereference_vector_it(it) bind(C, &
        name='acp_dereference_vector_it')
      import
      type(acp_vector_it_t), value :: it
      integer(acp_ga_t) :: acp_dereference_vector_it
    end function

    !> Bytes from one iterator to another. Specification 4.3.23.
    function acp_distance_vector_it(first, last) bind(C, &
        name='acp_distance_vector_it')
      import
      type(acp_vector_it_t), value :: first, last
      integer(c_int) :: acp_distance_vector_it
    end function
  end interface

end module
