!> Channels: messages in one direction, in order, between two ranks, as
!> acp/channel.h has them; its conventions hold here too. Part of module acp.
!>
!> A buffer is c_loc(a) of a contiguous variable with the attribute TARGET. It
!> is the library's until its request has been waited for.
module acp_channel
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_size_t
  use acp_types, only: acp_ch_t, acp_request_t
  implicit none
  private :: c_int, c_ptr, c_size_t, acp_ch_t, acp_request_t

  interface
    !> Creates the caller's end of a channel from sender to receiver.
    !> Specification 4.2.2.
    function acp_create_ch(sender, receiver) bind(C, name='acp_create_ch')
      import
      integer(c_int), value :: sender, receiver
      type(acp_ch_t) :: acp_create_ch
    end function

    !> acp_nbfree_ch and acp_wait_ch in one. Specification 4.2.3.
    function acp_free_ch(ch) bind(C, name='acp_free_ch')
      import
      type(acp_ch_t), value :: ch
      integer(c_int) :: acp_free_ch
    end function

    !> Starts to free an end. Specification 4.2.4.
    function acp_nbfree_ch(ch) bind(C, name='acp_nbfree_ch')
      import
      type(acp_ch_t), value :: ch
      type(acp_request_t) :: acp_nbfree_ch
    end function

    !> Starts to send a message. Specification 4.2.5.
    function acp_nbsend_ch(ch, buf, size) bind(C, name='acp_nbsend_ch')
      import
      type(acp_ch_t), value :: ch
      type(c_ptr), value :: buf
      integer(c_size_t), value :: size
      type(acp_request_t) :: acp_nbsend_ch
    end function

    !> Starts to receive the next message. Specification 4.2.6.
    function acp_nbrecv_ch(ch, buf, size) bind(C, name='acp_nbrecv_ch')
      import
      type(acp_ch_t), value :: ch
      type(c_ptr), value :: buf
      integer(c_size_t), value :: size
      type(acp_request_t) :: acp_nbrecv_ch
    end function

    !> Waits until a request is complete, and ends it. Specification 4.2.7.
    function acp_wait_ch(request) bind(C, name='acp_wait_ch')
      import
      type(acp_request_t), value :: request
      integer(c_size_t) :: acp_wait_ch
    end function

    !> Waits for several requests, all of them even when one fails.
    function acp_waitall_ch(requests, n, sizes) bind(C, name='acp_waitall_ch')
      import
      type(acp_request_t), intent(in) :: requests(*)
      integer(c_int), value :: n
      integer(c_size_t), intent(inout), optional :: sizes(*)
      integer(c_int) :: acp_waitall_ch
    end function
  end interface

end module
