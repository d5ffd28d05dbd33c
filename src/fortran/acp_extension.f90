!> The additions of this implementation, as acp/extension.h has them; its
!> conventions hold here too. Part of module acp.
!>
!> Differences to C: texts are Fortran's, and acpx_add_module also takes its
!> name as a text and its functions as procedures. Other procedures of the
!> program go in as c_funloc(f) of a function with BIND(C) that has one of the
!> abstract interfaces here.
module acp_extension
  use, intrinsic :: iso_c_binding, only: c_char, c_funloc, c_funptr, c_int, &
      c_int32_t, c_int64_t, c_loc, c_ptr, c_size_t
  use acp_c_texts, only: acpx_module_t, c_acpx_add_module, c_acpx_count, &
      c_acpx_log, c_acpx_lookup, c_acpx_publish, c_acpx_setting, c_acpx_strerror, &
      c_acpx_unpublish, c_acpx_version
  use acp_deque, only: acp_deque_it_t, acp_deque_t
  use acp_map, only: acp_map_t
  use acp_text, only: to_c, to_fortran
  use acp_types, only: acp_atkey_t, acp_element_t, acp_ga_t, ACP_GA_NULL, &
      acp_handle_t, acp_pair_t, acp_request_t
  implicit none
  private :: c_char, c_funloc, c_funptr, c_int, c_int32_t, c_int64_t, c_loc, &
      c_ptr, c_size_t
  private :: acp_atkey_t, acp_deque_it_t, acp_deque_t, acp_element_t, &
      acp_ga_t, ACP_GA_NULL, acp_handle_t, acp_map_t, acp_pair_t, acp_request_t
  private :: to_c, to_fortran
  private :: add_module, add_named_module, c_acpx_add_module, c_acpx_count, &
      c_acpx_log, c_acpx_lookup, c_acpx_publish, c_acpx_setting, c_acpx_strerror, &
      c_acpx_unpublish, c_acpx_version

  !> Steps of a chain, for acpx_op_t%opcode.
  integer(c_int), parameter :: &
      ACPX_PUT = 1, &
      ACPX_PUT8 = 2, &
      ACPX_GET = 3, &
      ACPX_ADD8 = 4, &
      ACPX_CAS8 = 5, &
      ACPX_AND8 = 6, &
      ACPX_OR8 = 7, &
      ACPX_XOR8 = 8, &
      ACPX_SWAP8 = 9

  !> For acpx_op_t%flags, and the most steps of a chain.
  integer(c_int32_t), parameter :: ACPX_SIGNAL = 1, ACPX_MORE = 2, &
      ACPX_HOLD = 4
  integer, parameter :: ACPX_MAX_STEPS = 16

  !> Bytes of a name and of a published value at most.
  integer, parameter :: ACPX_MAX_NAME = 255, ACPX_MAX_PUBLISHED = 4096

  !> A return value of a progress step.
  integer(c_int), parameter :: ACPX_STEP_BUSY = 2

  !> Levels of acpx_log.
  integer(c_int), parameter :: &
      ACPX_LOG_ERROR = 0, &
      ACPX_LOG_WARNING = 1, &
      ACPX_LOG_INFO = 2, &
      ACPX_LOG_DEBUG = 3, &
      ACPX_LOG_TRACE = 4

  !> A step of a chain.
  type, bind(C) :: acpx_op_t
    integer(c_int) :: opcode = 0
    integer(c_int32_t) :: flags = 0
    integer(acp_ga_t) :: remote = ACP_GA_NULL
    integer(acp_ga_t) :: local = ACP_GA_NULL
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: operand = 0
    integer(c_int64_t) :: compare = 0
  end type

  !> The shape of the functions that acpx_wait_until, acpx_add_progress and
  !> acpx_module_t take by c_funloc.
  abstract interface
    function acpx_callback(arg) bind(C)
      import
      type(c_ptr), value :: arg
      integer(c_int) :: acpx_callback
    end function
  end interface

  !> Adds a module, from an acpx_module_t or from its members one by one.
  interface acpx_add_module
    procedure :: add_module, add_named_module
  end interface

  interface
    !> Issues a chain: up to ACPX_MAX_STEPS operations on one peer, applied
    !> there in the given order, one handle for all.
    function acpx_post(ops, n, order) bind(C, name='acpx_post')
      import
      type(acpx_op_t), intent(in) :: ops(*)
      integer(c_size_t), value :: n
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acpx_post
    end function

    !> Sends the chains that a transport keeps because of ACPX_MORE and
    !> ACPX_HOLD.
    subroutine acpx_flush() bind(C, name='acpx_flush')
    end subroutine

    !> Copies size bytes to dst, then adds add to the 8 bytes at word on the
    !> same rank, and wakes the threads that wait there.
    function acpx_put_signal(dst, src, size, word, add, order) bind(C, &
        name='acpx_put_signal')
      import
      integer(acp_ga_t), value :: dst, src
      integer(c_size_t), value :: size
      integer(acp_ga_t), value :: word
      integer(c_int64_t), value :: add
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acpx_put_signal
    end function

    !> acp_complete with a time limit, and with an answer.
    function acpx_complete_timeout(handle, timeout_ms) bind(C, &
        name='acpx_complete_timeout')
      import
      integer(acp_handle_t), value :: handle
      integer(c_int), value :: timeout_ms
      integer(c_int) :: acpx_complete_timeout
    end function

    !> acp_sync with a time limit.
    function acpx_sync_timeout(timeout_ms) bind(C, name='acpx_sync_timeout')
      import
      integer(c_int), value :: timeout_ms
      integer(c_int) :: acpx_sync_timeout
    end function

    !> acp_wait_ch with a time limit.
    function acpx_wait_ch_timeout(request, timeout_ms, size) bind(C, &
        name='acpx_wait_ch_timeout')
      import
      type(acp_request_t), value :: request
      integer(c_int), value :: timeout_ms
      integer(c_size_t), intent(inout), optional :: size
      integer(c_int) :: acpx_wait_ch_timeout
    end function

    !> Waits until a word of the calling rank differs from unlike.
    function acpx_wait_word(word, unlike, timeout_ms, value) bind(C, &
        name='acpx_wait_word')
      import
      integer(acp_ga_t), value :: word
      integer(c_int64_t), value :: unlike
      integer(c_int), value :: timeout_ms
      integer(c_int64_t), intent(inout), optional :: value
      integer(c_int) :: acpx_wait_word
    end function

    !> Waits until done returns nonzero.
    function acpx_wait_until(done, arg, timeout_ms) bind(C, &
        name='acpx_wait_until')
      import
      type(c_funptr), value :: done
      type(c_ptr), value :: arg
      integer(c_int), value :: timeout_ms
      integer(c_int) :: acpx_wait_until
    end function

    !> Whether the owner's own CPU atomics (C11 atomics on acp_query_address)
    !> and the library's atomics on that rank's memory are atomic with each
    !> other.
    function acpx_atomics_agree(rank) bind(C, name='acpx_atomics_agree')
      import
      integer(c_int), value :: rank
      integer(c_int) :: acpx_atomics_agree
    end function

    !> Where the calling process can load and store a byte of any rank of its
    !> host directly: library memory (starter memory, modules' memory) of every
    !> rank there, and all memory of its own.
    function acpx_pointer(ga) bind(C, name='acpx_pointer')
      import
      integer(acp_ga_t), value :: ga
      type(c_ptr) :: acpx_pointer
    end function

    !> Whether a pointer into library memory of any rank of this host means the
    !> same in the process of rank as in the calling process.
    function acpx_pointers_agree(rank) bind(C, name='acpx_pointers_agree')
      import
      integer(c_int), value :: rank
      integer(c_int) :: acpx_pointers_agree
    end function

    !> Holds the job for a layer above ACP that needs it longer than the
    !> program, and begins it if the program has not.
    function acpx_hold_job() bind(C, name='acpx_hold_job')
      import
      integer(c_int) :: acpx_hold_job
    end function

    !> Ends acpx_hold_job, and the job unless the program is still in it.
    function acpx_release_job() bind(C, name='acpx_release_job')
      import
      integer(c_int) :: acpx_release_job
    end function

    !> Returns the free blocks that this rank keeps at hand (convention 3 of
    !> acp/malloc.h) to their heaps, so that other ranks can have them.
    function acpx_trim_malloc() bind(C, name='acpx_trim_malloc')
      import
      integer(c_int) :: acpx_trim_malloc
    end function

    !> Takes bytes off the front of a deque and copies them, in one undivided
    !> change: of several takers each gets bytes of its own.
    function acpx_take_front_deque(deque, ga, size) bind(C, &
        name='acpx_take_front_deque')
      import
      type(acp_deque_t), value :: deque
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      integer(c_int) :: acpx_take_front_deque
    end function

    !> Takes the last size bytes off the end of a deque, in their order; like
    !> acpx_take_front_deque.
    function acpx_take_back_deque(deque, ga, size) bind(C, &
        name='acpx_take_back_deque')
      import
      type(acp_deque_t), value :: deque
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      integer(c_int) :: acpx_take_back_deque
    end function

    !> Where the bytes of a range are.
    function acpx_dereference_range_deque(start, end) bind(C, &
        name='acpx_dereference_range_deque')
      import
      type(acp_deque_it_t), value :: start, end
      type(acp_pair_t) :: acpx_dereference_range_deque
    end function

    !> Inserts several pairs, up to 16 in flight at a time.
    function acpx_insert_map_n(map, pairs, n, results) bind(C, &
        name='acpx_insert_map_n')
      import
      type(acp_map_t), value :: map
      type(acp_pair_t), intent(in) :: pairs(*)
      integer(c_size_t), value :: n
      integer(c_int), intent(inout), optional :: results(*)
      integer(c_int) :: acpx_insert_map_n
    end function

    !> Looks several keys up, up to 16 in flight at a time.
    function acpx_find_map_n(map, keys, n, pairs) bind(C, &
        name='acpx_find_map_n')
      import
      type(acp_map_t), value :: map
      type(acp_element_t), intent(in) :: keys(*)
      integer(c_size_t), value :: n
      type(acp_pair_t), intent(inout) :: pairs(*)
      integer(c_int) :: acpx_find_map_n
    end function

    !> Counts: adds to the 8-byte value under a key, which is inserted when it
    !> is not there.
    function acpx_upsert_add8_map(map, key, add, old) bind(C, &
        name='acpx_upsert_add8_map')
      import
      type(acp_map_t), value :: map
      type(acp_element_t), value :: key
      integer(c_int64_t), value :: add
      integer(c_int64_t), intent(inout), optional :: old
      integer(c_int) :: acpx_upsert_add8_map
    end function

    !> Adds a progress step: a function that runs again and again in each
    !> thread that makes progress, a waiting caller or the library's own
    !> thread.
    function acpx_add_progress(step, arg) bind(C, name='acpx_add_progress')
      import
      type(c_funptr), value :: step
      type(c_ptr), value :: arg
      integer(c_int) :: acpx_add_progress
    end function

    !> Has the progress steps run within about a millisecond.
    subroutine acpx_hurry_progress() bind(C, name='acpx_hurry_progress')
    end subroutine

    !> Removes a progress step.
    function acpx_remove_progress(step, arg) bind(C, &
        name='acpx_remove_progress')
      import
      type(c_funptr), value :: step
      type(c_ptr), value :: arg
      integer(c_int) :: acpx_remove_progress
    end function

    !> Where a module's memory of a rank begins, aligned to 64 bytes.
    function acpx_module_ga(module, rank) bind(C, name='acpx_module_ga')
      import
      integer(c_int), value :: module, rank
      integer(acp_ga_t) :: acpx_module_ga
    end function

    !> Registers memory as acp_register_memory does, for a layer above ACP that
    !> has another way when it is refused: a refusal writes no line, and ends
    !> no job when the setting ACP_ERRORS is abort.
    function acpx_try_register_memory(addr, size, color) bind(C, &
        name='acpx_try_register_memory')
      import
      type(c_ptr), value :: addr
      integer(c_size_t), value :: size
      integer(c_int), value :: color
      integer(acp_atkey_t) :: acpx_try_register_memory
    end function

    !> Ends a region as acp_unregister_memory does, without waiting: 1 when
    !> nobody accesses the memory any more, 0 to call again, -1 on failure.
    function acpx_try_unregister_memory(atkey) bind(C, &
        name='acpx_try_unregister_memory')
      import
      integer(acp_atkey_t), value :: atkey
      integer(c_int) :: acpx_try_unregister_memory
    end function

    !> Tells a rank how its network reaches memory of the calling rank, which
    !> that rank is about to access.
    function acpx_announce_memory(ga, size, rank) bind(C, &
        name='acpx_announce_memory')
      import
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      integer(c_int) :: acpx_announce_memory
    end function

    !> Names the function of a layer above ACP that the calling thread is in.
    function acpx_enter_call(function) bind(C, name='acpx_enter_call')
      import
      type(c_ptr), value :: function
      type(c_ptr) :: acpx_enter_call
    end function

    !> Restores the name that was set before acpx_enter_call in this thread.
    subroutine acpx_leave_call(before) bind(C, name='acpx_leave_call')
      import
      type(c_ptr), value :: before
    end subroutine

    !> Begins a call that may use the memory that ACP keeps in reserve.
    function acpx_enter_reserve() bind(C, name='acpx_enter_reserve')
      import
      integer(c_int) :: acpx_enter_reserve
    end function

    !> Ends what the last acpx_enter_reserve of this thread has begun.
    subroutine acpx_leave_reserve() bind(C, name='acpx_leave_reserve')
    end subroutine
  end interface

contains

  !> A sentence fragment for a code of acp_errno, in English.
  function acpx_strerror(code) result(text)
    integer(c_int), intent(in) :: code
    character(:), allocatable :: text
    text = to_fortran(c_acpx_strerror(code))
  end function

  !> The library's version, such as "0.1.0".
  function acpx_version() result(text)
    character(:), allocatable :: text
    text = to_fortran(c_acpx_version())
  end function

  !> The value of a setting in force in this job, such as "ACP_HEAP_SIZE".
  function acpx_setting(name, value) result(status)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(inout) :: value
    integer(c_int) :: status
    status = c_acpx_setting(to_c(name), value)
  end function

  !> Adds to a count of the program's own, which acprun --stats and --report
  !> show; in a job that counts nothing it does nothing.
  function acpx_count(name, amount) result(status)
    character(*), intent(in) :: name
    integer(c_int64_t), intent(in) :: amount
    integer(c_int) :: status
    status = c_acpx_count(to_c(name), amount)
  end function

  !> Publishes size bytes at value under a name, for acpx_lookup of every rank:
  !> 0 published, 1 the name has a value already, -1 on failure.
  function acpx_publish(name, value, size) result(status)
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: value
    integer(c_size_t), intent(in) :: size
    integer(c_int) :: status
    status = c_acpx_publish(to_c(name), value, size)
  end function

  !> Looks a published name up, and waits until it is there: 0 found, 1 not
  !> published until the time limit, -1 on failure. Without size the value has
  !> to have capacity bytes.
  function acpx_lookup(name, value, capacity, size, timeout_ms) result(status)
    character(*), intent(in) :: name
    type(c_ptr), intent(in) :: value
    integer(c_size_t), intent(in) :: capacity
    integer(c_size_t), intent(inout), optional :: size
    integer(c_int), intent(in) :: timeout_ms
    integer(c_int) :: status
    status = c_acpx_lookup(to_c(name), value, capacity, size, timeout_ms)
  end function

  !> Removes a name: 0 removed, 1 it was not published, -1 on failure.
  function acpx_unpublish(name) result(status)
    character(*), intent(in) :: name
    integer(c_int) :: status
    status = c_acpx_unpublish(to_c(name))
  end function

  !> Writes one line to stderr in the form of the library's own.
  subroutine acpx_log(level, text)
    integer(c_int), intent(in) :: level
    character(*), intent(in) :: text
    call c_acpx_log(level, to_c(text))
  end subroutine

  !> Adds a module. The structure is copied; name and arg have to stay valid.
  function add_module(module) result(number)
    type(acpx_module_t), intent(in) :: module
    integer(c_int) :: number
    number = c_acpx_add_module(module)
  end function

  !> Adds a module whose name is a Fortran text. The library keeps a pointer to
  !> the name, so the copy for C is never freed: modules are few.
  function add_named_module(name, bytes, init, fini, arg) result(number)
    character(*), intent(in) :: name
    integer(c_size_t), intent(in) :: bytes
    procedure(acpx_callback), optional :: init, fini
    type(c_ptr), intent(in), optional :: arg
    integer(c_int) :: number
    character(kind=c_char), pointer :: text(:)
    type(acpx_module_t) :: module

    allocate (text(len_trim(name) + 1))
    text = to_c(name)
    module%name = c_loc(text)
    module%bytes = bytes
    if (present(init)) module%init = c_funloc(init)
    if (present(fini)) module%fini = c_funloc(fini)
    if (present(arg)) module%arg = arg
    number = c_acpx_add_module(module)
    if (number < 0) deallocate (text)
  end function

end module
