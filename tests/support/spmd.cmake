# Test programs that run as ranks of a job.
#
#   acp_spmd_program(NAME sources...)   links the harness of support/spmd.h
#   acp_spmd_runs(NAME LABEL conformance RANKS 1 2 4 NETS shm udp [TIMEOUT s]
#                 [ALONE] [FULL] [TSAN shm...])
#       one CTest test NAME.NET.RANKS for each net and number of ranks.
#       ALONE: while no other test runs. FULL: only with `ctest -C full`
#       TSAN: the nets of preset tsan, `none` for none. Without it, preset tsan
#       takes all of NETS but ACP_TSAN_OMITS
#
# With a sanitizer it takes one number of ranks: the largest of 2 and 3, or else
# 4, or else 1, or else none. A sanitizer looks at one process at a time: what a process does with
# one or two others it does with more, which only take time.
#
# Nets: shm        what acprun takes by itself on one host
#       cma_off    the same, but registered memory goes by the owner's thread
#       udp        udp between all ranks
#       faults     udp that loses, duplicates and reorders packets (seeded)
#       slow       udp over a path of 2 ms and 20 MB/s to each rank
#       colors     udp over two addresses
#       encrypted  udp with encrypted packets
#       ucx_tcp    ucx between all ranks, by UCX's transport over TCP
#       ucx_shm    the same, by UCX's shared memory
#       ucx_colors ucx in eight colors with all its transports here
#       agent_atomics  udp; only agents execute atomics, also on memory of their
#                  own rank, and these do not agree with those of the CPU

set(ACP_SPMD_ENV_shm "")
set(ACP_SPMD_ENV_cma_off ACP_CMA=off)
set(ACP_SPMD_ENV_udp ACP_NET=udp)
set(ACP_SPMD_ENV_faults ACP_NET=udp
  ACP_UDP_FAULTS=loss=0.05,duplicate=0.02,reorder=0.05,seed=7)
set(ACP_SPMD_ENV_slow ACP_NET=udp
  ACP_UDP_FAULTS=delay=2ms,jitter=200us,rate=20000000,seed=7)
set(ACP_SPMD_ENV_encrypted ACP_NET=udp ACP_UDP_SECURITY=encrypt)
set(ACP_SPMD_ENV_agent_atomics ACP_NET=udp ACP_ATOMICS=agent)
set(ACP_SPMD_ENV_ucx_tcp ACP_NET=ucx ACP_SHM=off UCX_TLS=tcp,self
  UCX_NET_DEVICES=lo)
set(ACP_SPMD_ENV_ucx_shm ACP_NET=ucx ACP_SHM=off UCX_TLS=posix,cma)
string(REPEAT "\\;lo" 7 more_devices)
set(ACP_SPMD_ENV_ucx_colors ACP_NET=ucx ACP_SHM=off
  UCX_TLS=tcp,self,posix,cma "ACP_UCX_DEVICES=lo${more_devices}")
if(ACP_SANITIZE)  # UCX rewrites the functions that a sanitizer intercepts.
  foreach(net ucx_tcp ucx_shm ucx_colors)
    list(APPEND ACP_SPMD_ENV_${net} UCX_MEM_EVENTS=n
      TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/ucx/tsan.supp)
  endforeach()
endif()
set(ACP_SPMD_ENV_colors ACP_NET=udp ACP_UDP_INTERFACES=127.0.0.1,127.0.0.2)

# The code that these nets add to udp runs under the engine's mutex, one thread at a
# time. So ThreadSanitizer sees no more over them than over udp.
set(ACP_TSAN_OMITS faults slow colors encrypted)

function(acp_spmd_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE acp_spmd)
endfunction()

function(acp_spmd_runs name)
  cmake_parse_arguments(ARG "ALONE;FULL" "LABEL;TIMEOUT" "RANKS;NETS;TSAN" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(ACP_TSAN)
    if(NOT ARG_TSAN)
      set(ARG_TSAN ${ARG_NETS})
      list(REMOVE_ITEM ARG_TSAN ${ACP_TSAN_OMITS})
    endif()
    set(nets ${ARG_NETS})
    set(ARG_NETS)
    foreach(net IN LISTS nets)
      if(net IN_LIST ARG_TSAN)
        list(APPEND ARG_NETS ${net})
      endif()
    endforeach()
  endif()
  if(ACP_SANITIZE)
    set(chosen)
    foreach(ranks 1 4 2 3)  # the last that the list has
      if(ranks IN_LIST ARG_RANKS)
        set(chosen ${ranks})
      endif()
    endforeach()
    set(ARG_RANKS ${chosen})
  endif()
  set(when)
  if(ARG_FULL)
    set(when CONFIGURATIONS full)
  endif()
  foreach(net IN LISTS ARG_NETS)
    foreach(ranks IN LISTS ARG_RANKS)
      set(test ${name}.${net}.${ranks})
      add_test(NAME ${test} ${when} COMMAND $<TARGET_FILE:acprun> -np ${ranks}
        $<TARGET_FILE:${name}>)
      set(labels ${ARG_LABEL} ${net})
      if(ARG_LABEL STREQUAL "conformance" AND test MATCHES "\\.udp\\.2$")
        list(APPEND labels quick)
      endif()
      # Ranks wait most of their time, so several jobs share the processors.
      set(processors 1)
      if(ranks GREATER 4)
        set(processors 2)
      endif()
      # COST: the longest first.
      set_tests_properties(${test} PROPERTIES
        TIMEOUT ${ARG_TIMEOUT}
        LABELS "${labels}"
        PROCESSORS ${processors}
        RUN_SERIAL ${ARG_ALONE}
        COST ${ranks}
        ENVIRONMENT "${ACP_SPMD_ENV_${net}}")
    endforeach()
  endforeach()
endfunction()
