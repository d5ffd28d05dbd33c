# Kernels with one order, re-check or count taken out. Each makes a case fail, or
# the explorer would not see such an error. The product is compiled from src alone.

add_custom_target(kernel_mutants ALL)

# kernel_mutant(NAME KERNEL FILE CASE OLD NEW): replaces OLD by NEW in a file of
# src. The text has to be there exactly once, so a mutant is never empty.
function(kernel_mutant name kernel file case old new)
  set(source ${PROJECT_SOURCE_DIR}/src/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(FIND "${text}" "${old}" first)
  string(FIND "${text}" "${old}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "mutant ${name}: its text is not in ${file} exactly once")
  endif()
  string(REPLACE "${old}" "${new}" text "${text}")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  file(CONFIGURE OUTPUT ${folder}/${file} CONTENT "${text}" @ONLY)

  set(target kernel_mutant_${name})
  if(file MATCHES "\\.cc$")
    add_executable(${target} ${folder}/${file}
      $<FILTER:$<TARGET_OBJECTS:kernel_${kernel}_objects>,EXCLUDE,/${file}\\.o$>)
  else()
    set(sources ${kernel_${kernel}_files})
    list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
    add_executable(${target} ${kernel}_kernel.cc ${sources})
  endif()
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
  "return entry.sequence.load(std::memory_order_relaxed) +")

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
kernel_mutant(key_publish_is_relaxed key_table gmm/key_table.cc looks_up
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

# Invariant 2: an operation starts again with each later one.
kernel_mutant(queue_starts_twice order_queue gma/order_queue.cc fast_path
  "if (wait_for > completed()) {" "if (wait_for != 0) {")

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
