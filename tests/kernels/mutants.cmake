# Kernels with one order, re-check or count taken out. Each makes a case fail, or
# the explorer would not see such an error. The product is compiled from src alone.

add_custom_target(kernel_mutants ALL)

# kernel_mutant(NAME KERNEL FILE CASE OLD NEW [FILE...]): replaces OLD by NEW in a
# file of src, by read_mutant(). Of a header, the program and the further files are
# compiled again.
function(kernel_mutant name kernel file case old new)
  read_mutant(text ${name} ${file} "${old}" "${new}")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  file(CONFIGURE OUTPUT ${folder}/${file} CONTENT "${text}" @ONLY)

  set(target kernel_mutant_${name})
  if(file MATCHES "\\.cc$")
    set(again ${file})
    add_executable(${target} ${folder}/${file})
  else()
    set(again ${ARGN})
    set(sources ${ARGN})
    list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
    list(APPEND again ${kernel}_kernel.cc)
    add_executable(${target} ${kernel}_kernel.cc ${sources})
  endif()
  list(JOIN again "|" again)
  target_sources(${target} PRIVATE
    $<FILTER:$<TARGET_OBJECTS:kernel_${kernel}_objects>,EXCLUDE,/\(${again}\)\\.o$>)
  instrument(${target} ${folder})
  target_compile_options(${target} PRIVATE -w -g0)  # A variable may be without use.
  link_kernel(${target})
  add_dependencies(kernel_mutants ${target})
  add_test(NAME explore.kernel.mutant.${name}
    COMMAND ${target} ${case} --wants failure)
  set_tests_properties(explore.kernel.mutant.${name} PROPERTIES
    TIMEOUT 120 LABELS explore)
endfunction()

# ---- transport/shm/command_ring.h ---------------------------------------------

# Invariant 1: two senders take one ticket.
kernel_mutant(ring_ticket_taken_twice command_ring transport/shm/command_ring.cc
  two_senders
  "} else if (header_->ring_tail.compare_exchange_weak(
                   ticket, ticket + 1, std::memory_order_relaxed)) {
      break;
    }"
  "} else {
      header_->ring_tail.store(ticket + 1, std::memory_order_relaxed);
      break;
    }")

# Invariant 1: a full ring takes a message.
kernel_mutant(ring_ignores_full command_ring transport/shm/command_ring.cc full
  "const auto distance = static_cast<std::int64_t>(sequence - ticket);"
  "const auto distance = std::int64_t{0};")

# Invariant 1: a sender writes into an entry that the owner still reads.
kernel_mutant(ring_release_is_relaxed command_ring transport/shm/command_ring.cc
  refill
  "      ticket + protocol::kRingEntries - ticket % protocol::kRingEntries,
      std::memory_order_release);"
  "      ticket + protocol::kRingEntries - ticket % protocol::kRingEntries,
      std::memory_order_relaxed);")

# Invariant 2: an entry is full before its message is there.
kernel_mutant(ring_push_is_relaxed command_ring transport/shm/command_ring.cc
  one_sender
  "  mine.sequence.store(ticket + 1 - ticket % protocol::kRingEntries,
                      std::memory_order_seq_cst);"
  "  mine.sequence.store(ticket + 1 - ticket % protocol::kRingEntries,
                      std::memory_order_relaxed);")

# Invariant 2: the owner, or a sender, does not acquire the entry.
kernel_mutant(ring_load_is_relaxed command_ring transport/shm/command_ring.h
  one_sender,refill
  "return entry.sequence.load(std::memory_order_acquire) +"
  "return entry.sequence.load(std::memory_order_relaxed) +"
  transport/shm/command_ring.cc)

# ---- docs/barrier.md, and gma/waiting.h: SleepWord ----------------------------

# The last rank's look for sleepers passes its store of the word.
kernel_mutant(word_moves_without_order barrier gma/waiting.cc two.sleep
  "  word.store(value, std::memory_order_seq_cst);
  if (sleepers"
  "  word.store(value, std::memory_order_release);
  if (sleepers")

# The last rank looks for sleepers with too weak an order.
kernel_mutant(sleepers_without_order barrier gma/waiting.cc two.sleep
  "if (sleepers.load(std::memory_order_seq_cst) != 0) {"
  "if (sleepers.load(std::memory_order_acquire) != 0) {")

# A sleeper does not count itself.
kernel_mutant(sleeper_is_not_counted barrier gma/waiting.cc two.sleep
  "  sleep_word.sleepers.fetch_add(1, std::memory_order_seq_cst);
" "")

# The sleeper is woken before the word has moved.
kernel_mutant(word_moves_late barrier gma/waiting.cc two.sleep
  "  word.store(value, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) {
    futex_wake_all(word);
  }"
  "  if (sleepers.load(std::memory_order_seq_cst) != 0) {
    futex_wake_all(word);
  }
  word.store(value, std::memory_order_seq_cst);")

# Invariant 1: the epoch is read when another rank may have moved it.
kernel_mutant(epoch_is_read_late barrier runtime/host_barrier.cc three
  "  const std::uint32_t epoch = barrier.epoch.load(std::memory_order_relaxed);
  const std::uint32_t arrived =
      barrier.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;"
  "  const std::uint32_t arrived =
      barrier.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  const std::uint32_t epoch = barrier.epoch.load(std::memory_order_relaxed);")

# Invariant 1: a rank does not wait for the barrier of its partner.
kernel_mutant(partner_is_one_ahead barrier runtime/host_barrier.cc two.sleep
  "return wait_on({partner.epoch, partner.sleepers, pair_epoch_ - 1}, deadline);"
  "return wait_on({partner.epoch, partner.sleepers, pair_epoch_}, deadline);")

# Invariant 2: the count is 0 again only after the barrier is over.
kernel_mutant(count_is_cleared_late barrier runtime/host_barrier.cc three
  "    barrier.arrived.store(0, std::memory_order_relaxed);
    if (wait_host_.policy().yields) {
      barrier.ended_ns.store(wait_host_.now().time_since_epoch().count(),
                             std::memory_order_relaxed);
    }
    gma::move_word(barrier.epoch, barrier.sleepers, epoch + 1);"
  "    gma::move_word(barrier.epoch, barrier.sleepers, epoch + 1);
    barrier.arrived.store(0, std::memory_order_relaxed);")

# Invariant 4: a rank does not release, or acquire, what was stored before.
kernel_mutant(arrival_is_relaxed barrier runtime/host_barrier.cc three
  "barrier.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;"
  "barrier.arrived.fetch_add(1, std::memory_order_relaxed) + 1;")
kernel_mutant(end_is_relaxed barrier runtime/host_barrier.cc two.sleep
  "return sleep_word.word.load(std::memory_order_acquire) != sleep_word.expected;"
  "return sleep_word.word.load(std::memory_order_relaxed) != sleep_word.expected;")

# ---- docs/host_segment.md: the key table ---------------------------------------

# An entry is whole: no fence between the dead state and the next fields.
kernel_mutant(key_retract_has_no_fence key_table gmm/key_table.cc looks_up
  "  std::atomic_thread_fence(std::memory_order_release);
" "")

# An entry is whole: it is live before its fields are there.
kernel_mutant(key_publish_is_relaxed key_table gmm/key_table.cc peer_looks_up_new
  "bits | counter(index) << protocol::kKeyCounterShift | protocol::kLiveBit,
      std::memory_order_release);"
  "bits | counter(index) << protocol::kKeyCounterShift | protocol::kLiveBit,
      std::memory_order_relaxed);")

# An entry is whole: a peer reads the second state before the fields.
kernel_mutant(key_reader_has_no_fence key_table gmm/address_space.cc peer_looks_up
  "    bytes = entry.size.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
  } while"
  "    bytes = entry.size.load(std::memory_order_relaxed);
  } while")

# An entry is whole: the owner's own look does not check the second state.
kernel_mutant(key_own_look_is_torn key_table gmm/address_space.cc owner_looks_up
  "is_out_of_reach || !is_whole ||" "is_out_of_reach ||")

# A stale key has another generation.
kernel_mutant(key_keeps_generation key_table gmm/key_table.cc looks_up
  "const std::uint64_t next = (counter(index) + 1) & kCounterMask;"
  "const std::uint64_t next = counter(index) & kCounterMask;")

# A copy that has begun keeps the memory: each access is seq_cst.
kernel_mutant(key_dies_without_order key_table gmm/key_table.cc cross_copy
  "                    std::memory_order_seq_cst);  // see gmm/cross_copy_guard.h"
  "                    std::memory_order_release);")
kernel_mutant(key_count_is_acquired_only key_table gmm/key_table.cc cross_copy
  "return entries_[index].cross_copies.load(std::memory_order_seq_cst) != 0;"
  "return entries_[index].cross_copies.load(std::memory_order_acquire) != 0;")
kernel_mutant(copier_looks_without_order key_table gmm/cross_copy_guard.h cross_copy
  "return entry_.state.load(std::memory_order_seq_cst) == state_;"
  "return entry_.state.load(std::memory_order_acquire) == state_;")
kernel_mutant(copier_does_not_look_again key_table gmm/cross_copy_guard.h cross_copy
  "return entry_.state.load(std::memory_order_seq_cst) == state_;"
  "return true;")
kernel_mutant(copy_ends_relaxed key_table gmm/cross_copy_guard.h cross_copy
  "entry_.cross_copies.fetch_sub(1, std::memory_order_seq_cst);"
  "entry_.cross_copies.fetch_sub(1, std::memory_order_relaxed);")

# ---- gma/order_queue.h ----------------------------------------------------------

# Invariant 1 and the fast path: the number comes before "busy".
kernel_mutant(queue_numbers_before_busy order_queue gma/order_queue.cc fast_path
  "  is_busy_.store(true, std::memory_order_release);
  issued_.store(sequence, std::memory_order_release);"
  "  issued_.store(sequence, std::memory_order_release);
  is_busy_.store(true, std::memory_order_release);")

# "Not busy" comes before the completed operations.
kernel_mutant(queue_is_idle_too_soon order_queue gma/order_queue.cc fast_path
  "  completed_.store(done, std::memory_order_release);
  update_busy();
  return true;"
  "  is_busy_.store(done != newest, std::memory_order_release);
  completed_.store(done, std::memory_order_release);
  return true;")

# "Not busy" does not release the effects of operations.
kernel_mutant(queue_idle_is_relaxed order_queue gma/order_queue.cc fast_path
  "  is_busy_.store(completed() != issued() || !failures_.is_empty(),
                 std::memory_order_release);"
  "  is_busy_.store(completed() != issued() || !failures_.is_empty(),
                 std::memory_order_relaxed);")

# The completed number does not release the effects of operations.
kernel_mutant(queue_completes_relaxed order_queue gma/order_queue.cc fast_path
  "completed_.store(done, std::memory_order_release);"
  "completed_.store(done, std::memory_order_relaxed);")

# Invariant 2: an operation that waits is forgotten, and never starts.
kernel_mutant(queue_forgets_waiter order_queue gma/order_queue.cc fast_path
  "if (wait_for > completed()) {" "if (wait_for > completed() + 1) {")

# Invariant 3: an operation that has not ended completes.
kernel_mutant(queue_passes_undone order_queue gma/order_queue.cc fast_path
  "while (done < newest && entry(done + 1).is_done) {" "while (done < newest) {")

# ---- runtime/core_table.h --------------------------------------------------------

# A rank takes its own entry for another rank's.
kernel_mutant(core_table_sees_itself core_table runtime/core_table.cc alone
  "if (slot != mine_ &&
        cores_" "if (cores_")

# A rank does not publish its core.
kernel_mutant(core_table_is_silent core_table runtime/core_table.cc two_share
  "    cores_[mine_].store(entry, std::memory_order_relaxed);
" "")

# ---- gmm/doorbell.h -----------------------------------------------------------------

# The waker's look at the sleepers passes its store.
kernel_mutant(signal_looks_without_order progress gmm/doorbell.h doorbell.signal
  "const std::uint64_t asleep = slice.asleep.load(std::memory_order_seq_cst);"
  "const std::uint64_t asleep = slice.asleep.load(std::memory_order_acquire);")

# The doorbell does not move, so a sleeper that has not slept yet sleeps on.
kernel_mutant(signal_leaves_doorbell progress gmm/doorbell.h doorbell.signal
  "  if ((asleep & UINT32_MAX) != 0) {
    slice.doorbell.fetch_add(1, std::memory_order_seq_cst);"
  "  if ((asleep & UINT32_MAX) != 0) {")

# The sleeper's last look passes its mark.
kernel_mutant(sleeper_has_no_fence progress runtime/progress.cc doorbell.signal
  "  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!is_done()" "  if (!is_done()")

# The sleeper looks before it marks itself.
kernel_mutant(sleeper_marks_late progress runtime/progress.cc doorbell.signal
  "  if (!is_done() && health() == Status::kOk) {
    futex_wait(mine_.doorbell, doorbell, limit);"
  "  if (health() == Status::kOk) {
    futex_wait(mine_.doorbell, doorbell, limit);")

# ---- runtime/progress_loop.h ----------------------------------------------------------

# Invariant 1: the doorbell socket is emptied after the last look.
kernel_mutant(loop_empties_doorbell_late progress runtime/progress_loop.cc thread
  "  const bool was_woken = may_sleep(sleeper, limit) && sleeper.wait(limit);"
  "  const bool has_no_reason = may_sleep(sleeper, limit);
  sleeper.empty_doorbell();
  const bool was_woken = has_no_reason && sleeper.wait(limit);")

# Invariant 2: the sleeper is marked after its last look.
kernel_mutant(loop_marks_late progress runtime/progress_loop.cc thread
  "  sleeper.mark_asleep();  // invariant 2
  const bool was_woken = may_sleep(sleeper, limit) && sleeper.wait(limit);"
  "  const bool has_no_reason = may_sleep(sleeper, limit);
  sleeper.mark_asleep();
  const bool was_woken = has_no_reason && sleeper.wait(limit);")

# Invariant 3: the last look does not cover messages, the end, steps.
kernel_mutant(last_look_misses_messages progress runtime/progress_loop.cc
  thread.message
  "if (!sleeper.arm(limit) || sleeper.is_over()) {"
  "if ((sleeper.arm(limit), sleeper.is_over())) {")
kernel_mutant(last_look_misses_end progress runtime/progress.cc thread.stop
  "return is_stopping() || progress_.poller_.is_promised() ||"
  "return progress_.poller_.is_promised() ||")
kernel_mutant(last_look_misses_steps progress runtime/progress_loop.cc thread.signal
  "const ProgressSteps::Outcome steps = sleeper.run_steps_again();"
  "const ProgressSteps::Outcome steps = ProgressSteps::Outcome::kIdle;")

# Invariant 3: a new step does not rouse the sleeper.
kernel_mutant(new_step_is_silent progress runtime/progress.cc thread.new_step
  "    rouse_sleeper();  // it runs the step, and from now on it wants signals
" "")

# Invariant 5: a caller takes the role while the thread has it.
kernel_mutant(role_is_taken_twice progress runtime/poller_role.h caller
  "      holder_.wait(Holder::kPromised);
" "" runtime/progress.cc)

# Invariant 7: the thread looks at the role before it marks its stay.
kernel_mutant(stay_is_marked_late progress runtime/progress_loop.cc caller.leaves
  "  thread.set_beside_caller(true);
  if (!thread.is_stopping() && thread.caller_has_role()) {
    thread"
  "  const bool stays = !thread.is_stopping() && thread.caller_has_role();
  thread.set_beside_caller(true);
  if (stays) {
    thread")

# Invariant 7: a caller that leaves does not look for the mark.
kernel_mutant(caller_leaves_silently progress runtime/progress.cc caller.leaves
  "  if (is_beside_caller_.load(std::memory_order_seq_cst)) {
    move_nap_word();
  }" "")

# Invariant 8: a wish does not rouse the sleeper.
kernel_mutant(wish_is_silent progress runtime/progress.cc thread.hurry
  "  if (!steps_are_wanted_.exchange(true, std::memory_order_seq_cst)) {
    rouse_sleeper();
  }"
  "  steps_are_wanted_.exchange(true, std::memory_order_seq_cst);")

# Completions do not wake a caller in epoll.
kernel_mutant(completion_is_silent progress runtime/progress.cc caller.completion
  "       protocol::kWantsCompletions) != 0) {
    doorbell_.wake_own();
  }" "       protocol::kWantsCompletions) != 0) {
  }")

# ---- middle/malloc/layout.h: the direct paths -------------------------------------------

# Invariant 1: a word of the heap is changed by a load and a store.
kernel_mutant(heap_cas_is_no_exchange malloc middle/malloc/heap_memory.cc small
  "  word_at(memory_.direct + offset).compare_exchange_strong(expected, desired);"
  "  const std::uint64_t seen = word_at(memory_.direct + offset).load();
  if (seen == expected) {
    word_at(memory_.direct + offset).store(desired);
  }
  expected = seen;")

# Invariant 3: the next user of a block does not see the end of the one before.
kernel_mutant(heap_cas_is_relaxed malloc middle/malloc/heap_memory.cc full_span
  "  word_at(memory_.direct + offset).compare_exchange_strong(expected, desired);"
  "  word_at(memory_.direct + offset)
      .compare_exchange_strong(expected, desired, std::memory_order_relaxed);")

# ---- hmpi/ring.h ---------------------------------------------------------------------------

# Invariant 1: a message is published before it is whole, or read too soon.
kernel_mutant(cells_published_relaxed hmpi_ring hmpi/ring.cc messages
  "first.turn.store(turn_of(next_), std::memory_order_release);"
  "first.turn.store(turn_of(next_), std::memory_order_relaxed);")
kernel_mutant(cells_read_relaxed hmpi_ring hmpi/ring.cc messages
  "  const Cell* cell = &ring_->cells[next_ % kRingCells];
  // Acquire: pairs with RingWriter::publish().
  if (cell->turn.load(std::memory_order_acquire) != turn_of(next_)) {"
  "  const Cell* cell = &ring_->cells[next_ % kRingCells];
  if (cell->turn.load(std::memory_order_relaxed) != turn_of(next_)) {")

# Invariant 2: the reader does not skip the cells at the end.
kernel_mutant(cells_not_skipped hmpi_ring hmpi/ring.cc end
  "    next_ += cells_to_end(next_);
    cell =" "    cell =")

# Invariant 3: data of an earlier pass look like a message.
kernel_mutant(cells_behind_not_cleared hmpi_ring hmpi/ring.cc end,next_pass
  "    next_turn.store(0, std::memory_order_relaxed);
" "")

# Invariant 4: the writer writes into cells that are being read.
kernel_mutant(cells_freed_relaxed hmpi_ring hmpi/ring.cc full
  "ring_->taken.store(next_, std::memory_order_release);"
  "ring_->taken.store(next_, std::memory_order_relaxed);")
kernel_mutant(cells_taken_relaxed hmpi_ring hmpi/ring.cc full
  "taken_ = ring_->taken.load(std::memory_order_acquire);"
  "taken_ = ring_->taken.load(std::memory_order_relaxed);")

# ---- hmpi/gate.h ----------------------------------------------------------------------------

# A visitor has no fence put into the threads of the program.
kernel_mutant(gate_has_no_fence hmpi_gate hmpi/gate.h favored
  "    Fences::in_all_threads();
" "")

# A visitor looks before it says that it is there.
kernel_mutant(gate_does_not_look_again hmpi_gate hmpi/gate.h favored
  "    if (is_inside_.load(std::memory_order_acquire)) {
      end_visit();
      return false;
    }" "")

# A call does not see what the visitor has written, or the other way round.
kernel_mutant(gate_call_leaves_relaxed hmpi_gate hmpi/gate.h favored
  "      // Release: pairs with try_visit().
      is_inside_.store(false, std::memory_order_release);"
  "      is_inside_.store(false, std::memory_order_relaxed);")
kernel_mutant(gate_visit_ends_relaxed hmpi_gate hmpi/gate.h favored
  "is_visited_.store(false, std::memory_order_release);"
  "is_visited_.store(false, std::memory_order_relaxed);")

# A thread that has slept forgets that others may sleep.
kernel_mutant(gate_forgets_sleepers hmpi_gate hmpi/gate.h lock
  "while (state_.exchange(kAwaited, std::memory_order_acquire) != kOpen) {"
  "while (state_.exchange(kTaken, std::memory_order_acquire) != kOpen) {")
