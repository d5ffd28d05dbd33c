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
  target_compile_options(${target} PRIVATE -w)  # A variable may be without use.
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
