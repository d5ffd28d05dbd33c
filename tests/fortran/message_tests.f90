!> Channels and workspaces: acp/channel.h, acp/workspace.h.
module message_tests
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t, c_loc, &
      c_null_ptr, c_size_t
  use acp
  use checks
  implicit none
  private
  public :: run_channels, run_workspaces

contains

  !> Each rank sends to the next, and receives from the previous one.
  subroutine run_channels()
    type(acp_ch_t) :: out, in
    type(acp_request_t) :: requests(3), request
    integer(c_size_t) :: sizes(3)
    real(c_double), target, asynchronous :: sent(10), got(10)
    integer(c_int64_t), target, asynchronous :: number, more

    call check(acp_create_ch(rank, rank) == ACP_CH_NULL, 'a channel to itself')
    call acpx_set_errno(ACPX_OK)
    out = acp_create_ch(rank, next)
    in = acp_create_ch(previous, rank)
    call check(out /= ACP_CH_NULL .and. in /= ACP_CH_NULL, 'acp_create_ch')
    call check(out /= in, 'two ends')

    sent = 0.5_c_double + rank
    got = 0
    number = 0
    more = 40 + rank
    requests(1) = acp_nbrecv_ch(in, c_loc(got), 80_c_size_t)
    requests(2) = acp_nbrecv_ch(in, c_loc(number), 8_c_size_t)
    requests(3) = acp_nbsend_ch(out, c_loc(sent), 40_c_size_t)
    request = acp_nbsend_ch(out, c_loc(more), 8_c_size_t)
    call check(all(requests /= ACP_REQUEST_NULL), 'requests')
    call check(request /= requests(3), 'requests differ')
    call check(acp_waitall_ch(requests, 3_c_int, sizes) == 0, 'acp_waitall_ch')
    call check(sizes(1) == 40 .and. sizes(2) == 8 .and. sizes(3) == 0, &
        'sizes of acp_waitall_ch')
    call check(acp_wait_ch(request) == 0, 'acp_wait_ch of a send')
    call check(all(nint(2 * got(:5)) == 1 + 2 * previous), 'the first message')
    call check(all(nint(2 * got(6:)) == 0), 'what is behind it')
    call check(number == 40 + previous, 'the second message')
    call check(acp_wait_ch(request) == -1, 'a request that is over')
    call check(acp_errno() == ACPX_INVALID_ARGUMENT, 'its code')
    call acpx_set_errno(ACPX_OK)

    ! An empty message, and acp_waitall_ch without sizes.
    requests(1) = acp_nbsend_ch(out, c_null_ptr, 0_c_size_t)
    requests(2) = acp_nbrecv_ch(in, c_null_ptr, 0_c_size_t)
    call check(acp_waitall_ch(requests, 2_c_int) == 0, 'without sizes')
    request = acp_nbfree_ch(out)
    call check(request /= ACP_REQUEST_NULL, 'acp_nbfree_ch')
    call check(acp_free_ch(in) == 0, 'acp_free_ch')
    sizes(1) = 99
    call check(acpx_wait_ch_timeout(request, -1_c_int, sizes(1)) == 0, &
        'acpx_wait_ch_timeout of acp_nbfree_ch')
    call check(sizes(1) == 0, 'its size')
    call check(acp_sync() == 0, 'acp_sync')
  end subroutine

  !> Each rank writes a word of a workspace, and reads that of the next rank.
  subroutine run_workspaces()
    type(acp_wsd_t) :: ws

    call check(acp_setparams_ws(1_c_size_t, 64_c_size_t) == 0, &
        'acp_setparams_ws')
    call check(acp_create_ws(0_c_size_t) == ACP_WSD_NULL, 'a workspace of 0')
    call acpx_set_errno(ACPX_OK)
    ws = acp_create_ws(1024_c_size_t)
    call check(ws /= ACP_WSD_NULL, 'acp_create_ws')
    scratch(20) = 300 + rank
    call check(acp_write_ws(ws, word(rank, 20), 8_c_size_t, &
        72_c_size_t * rank) == 0, 'acp_write_ws')
    call check(acp_sync() == 0, 'acp_sync')
    call check(acp_read_ws(ws, word(rank, 21), 8_c_size_t, &
        72_c_size_t * next) == 0, 'acp_read_ws')
    call check(scratch(21) == 300 + next, 'the word of the next rank')
    call check(acp_read_ws(ws, word(rank, 21), 8_c_size_t, 1020_c_size_t) &
        == 1, 'acp_read_ws beyond the end')
    call acpx_set_errno(ACPX_OK)
    call acp_destroy_ws(ws)
    call check(acp_errno() == ACPX_OK, 'acp_destroy_ws')
    ws = acp_create_ws(512_c_size_t)
    call acp_destroy(ws)
    call check(acp_errno() == ACPX_OK, 'acp_destroy')
  end subroutine

end module
