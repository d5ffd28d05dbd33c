# Test programs that run as ranks of a job.
#
#   acp_spmd_program(NAME sources...)   links the harness of support/spmd.h
#   acp_spmd_runs(NAME LABEL conformance RANKS 1 2 4 NETS shm udp [TIMEOUT s])
#       one CTest test NAME.NET.RANKS for each net and number of ranks, except
#       8 and 16 with ThreadSanitizer
#
# Nets: shm        what acprun takes by itself on one host
#       cma_off    the same, but registered memory goes by the owner's thread
#       udp        udp between all ranks
#       faults     udp that loses, duplicates and reorders packets (seeded)
#       colors     udp over two addresses
#       apart      udp; atomics do not agree with those of the CPU, and a
#                  rank's own go by the wire

set(ACP_SPMD_ENV_shm "")
set(ACP_SPMD_ENV_cma_off ACP_CMA=off)
set(ACP_SPMD_ENV_udp ACP_NET=udp)
set(ACP_SPMD_ENV_faults ACP_NET=udp
  ACP_UDP_FAULTS=loss=0.05,duplicate=0.02,reorder=0.05,seed=7)
set(ACP_SPMD_ENV_apart ACP_NET=udp ACP_ATOMICS=apart)
set(ACP_SPMD_ENV_colors ACP_NET=udp ACP_UDP_ADDRESSES=127.0.0.1,127.0.0.2)

function(acp_spmd_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE acp_spmd)
endfunction()

function(acp_spmd_runs name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "RANKS;NETS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  # ThreadSanitizer sees the threads of one process: more processes show it
  # nothing, and take a seventh of its time.
  if(ACP_SANITIZE STREQUAL "thread")
    list(REMOVE_ITEM ARG_RANKS 8 16)
  endif()
  foreach(net IN LISTS ARG_NETS)
    foreach(ranks IN LISTS ARG_RANKS)
      set(test ${name}.${net}.${ranks})
      add_test(NAME ${test} COMMAND $<TARGET_FILE:acprun> -np ${ranks}
        $<TARGET_FILE:${name}>)
      # Two processors: jobs of several ranks disturb each other's timing.
      set_tests_properties(${test} PROPERTIES
        TIMEOUT ${ARG_TIMEOUT}
        LABELS "${ARG_LABEL};${net}"
        PROCESSORS 2
        ENVIRONMENT "${ACP_SPMD_ENV_${net}}")
    endforeach()
  endforeach()
endfunction()
