# Programs in plain MPI, compiled as users compile them, and run by hmpirun over the
# library: conformance checks each function, and random_matcher random schedules.
foreach(mpi openmpi mpich)
  find_program(ACP_MPICXX_${mpi} mpicxx.${mpi})
  find_program(ACP_MPIEXEC_${mpi} mpiexec.${mpi})
  if(NOT TARGET hmpi_${mpi} OR NOT ACP_MPICXX_${mpi} OR NOT ACP_MPIEXEC_${mpi})
    continue()
  endif()
  set(folder ${CMAKE_CURRENT_LIST_DIR}/mpi)
  set(compile ${ACP_MPICXX_${mpi}} -std=c++20 -O1 -Wall -Wextra -Werror -pthread
    -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
  file(GLOB cases CONFIGURE_DEPENDS ${folder}/conformance*.cc)
  set(conformance ${CMAKE_CURRENT_BINARY_DIR}/conformance_${mpi})
  set(matcher ${CMAKE_CURRENT_BINARY_DIR}/random_matcher_${mpi})
  set(objects)
  foreach(source ${cases})
    get_filename_component(name ${source} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}_${mpi}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${compile} -c ${source} -o ${object}
      DEPENDS ${source} ${headers} VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${conformance}
    COMMAND ${compile} ${objects} -o ${conformance}
    DEPENDS ${objects} VERBATIM)
  set(sources ${folder}/random_matcher.cc ${folder}/random_schedule.cc)
  add_custom_command(OUTPUT ${matcher}
    COMMAND ${compile} ${sources} -o ${matcher}
    DEPENDS ${sources} ${headers} VERBATIM)
  set(huge ${CMAKE_CURRENT_BINARY_DIR}/huge_element_${mpi})
  add_custom_command(OUTPUT ${huge}
    COMMAND ${compile} ${folder}/huge_element.cc -o ${huge}
    DEPENDS ${folder}/huge_element.cc ${headers} VERBATIM)
  # Programs that are written for HMPI. A linker that knows nothing of the sanitizers
  # would refuse the library.
  set(written)
  if(NOT ACP_SANITIZE)
    file(GLOB cases CONFIGURE_DEPENDS ${folder}/ownership_*.cc)
    set(ownership ${CMAKE_CURRENT_BINARY_DIR}/ownership_${mpi})
    set(hmpicc ${CMAKE_COMMAND} -E env HMPI_MPI=${mpi} ${CMAKE_BINARY_DIR}/bin)
    add_custom_command(OUTPUT ${ownership}
      COMMAND ${hmpicc}/hmpic++ -std=c++20 -O1 -Wall -Wextra -Werror -pthread
        -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -I${PROJECT_SOURCE_DIR}/include
        ${folder}/conformance.cc ${cases} -o ${ownership}
      DEPENDS ${cases} ${headers} ${folder}/conformance.cc hmpi_${mpi}
        ${PROJECT_SOURCE_DIR}/include/hmpi.h VERBATIM)
    set(nodes)
    foreach(standard c99 c11)
      set(node ${CMAKE_CURRENT_BINARY_DIR}/node_${standard}_${mpi})
      add_custom_command(OUTPUT ${node}
        COMMAND ${hmpicc}/hmpicc -std=${standard} -O1 -Wall -Wextra -Werror
          -Wno-stringop-overflow  # of constants that MPICH defines
          -I${PROJECT_SOURCE_DIR}/include ${folder}/node.c -o ${node}
        DEPENDS ${folder}/node.c hmpi_${mpi} ${PROJECT_SOURCE_DIR}/include/hmpi.h
        VERBATIM)
      list(APPEND nodes ${node})
    endforeach()
    # Programs that end by their own fault.
    set(culprits)
    foreach(name use_after_give truncated)
      set(culprit ${CMAKE_CURRENT_BINARY_DIR}/${name}_${mpi})
      add_custom_command(OUTPUT ${culprit}
        COMMAND ${hmpicc}/hmpicc -O1 -Wall -Wextra -Werror
          -I${PROJECT_SOURCE_DIR}/include ${folder}/${name}.c -o ${culprit}
        DEPENDS ${folder}/${name}.c hmpi_${mpi} VERBATIM)
      list(APPEND culprits ${culprit})
    endforeach()
    set(with_acp ${CMAKE_CURRENT_BINARY_DIR}/with_acp_${mpi})
    add_custom_command(OUTPUT ${with_acp}
      COMMAND ${hmpicc}/hmpicc -O1 -Wall -Wextra -Werror
        -I${PROJECT_SOURCE_DIR}/include ${folder}/with_acp.c -o ${with_acp}
        -L${CMAKE_BINARY_DIR}/lib -Wl,-rpath,${CMAKE_BINARY_DIR}/lib -lacp
      DEPENDS ${folder}/with_acp.c hmpi_${mpi} acp VERBATIM)
    set(examples)
    foreach(name heat_give fft_give)
      set(example ${CMAKE_CURRENT_BINARY_DIR}/${name}_${mpi})
      set(source ${PROJECT_SOURCE_DIR}/docs/examples/${name}.c)
      add_custom_command(OUTPUT ${example}
        COMMAND ${hmpicc}/hmpicc -std=c11 -O2 -Wall -Wextra -Werror
          -Wno-stringop-overflow -I${PROJECT_SOURCE_DIR}/include ${source} -lm
          -o ${example}
        DEPENDS ${source} hmpi_${mpi} ${PROJECT_SOURCE_DIR}/include/hmpi.h VERBATIM)
      list(APPEND examples ${example})
    endforeach()
    set(written ${ownership} ${nodes} ${culprits} ${with_acp} ${examples})
  endif()
  # A program that dies, also as a library for the loader, and a profiler's library.
  set(mortal ${CMAKE_CURRENT_BINARY_DIR}/mortal_${mpi})
  set(mortal_library ${CMAKE_CURRENT_BINARY_DIR}/libmortal_${mpi}.so)
  set(tool ${CMAKE_CURRENT_BINARY_DIR}/libtool_${mpi}.so)
  add_custom_command(OUTPUT ${mortal} ${mortal_library} ${tool}
    COMMAND ${compile} ${folder}/mortal.cc -o ${mortal}
    COMMAND ${compile} -fPIC -shared ${folder}/mortal.cc -o ${mortal_library}
    COMMAND ${ACP_MPICC_${mpi}} -O1 -Wall -Wextra -Werror -fPIC -shared
      ${folder}/tool.c -o ${tool}
    DEPENDS ${folder}/mortal.cc ${folder}/tool.c ${headers} VERBATIM)
  add_custom_target(hmpi_programs_${mpi} ALL
    DEPENDS ${conformance} ${matcher} ${huge} ${mortal} ${mortal_library} ${tool} ${written})
  if(NOT TARGET hmpi_loader)
    add_executable(hmpi_loader ${folder}/loader.c)
    set_target_properties(hmpi_loader PROPERTIES OUTPUT_NAME loader)
    target_link_libraries(hmpi_loader PRIVATE acp_flags ${CMAKE_DL_LIBS})
  endif()
  add_dependencies(hmpi_programs_${mpi} hmpi_${mpi})

  # The programs and the MPI library are as they are. So the sanitizers' libraries are
  # preloaded in front of HMPI's, and leaks of the MPI library are no matter.
  if(ACP_SANITIZE)
    set(preload $<TARGET_FILE:hmpi_${mpi}>)
    foreach(library libubsan.so libasan.so)
      execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library}
        OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
      set(preload ${file}:${preload})
    endforeach()
    set(run ${ACP_MPIEXEC_openmpi} --oversubscribe -x LD_PRELOAD=${preload})
    if(mpi STREQUAL mpich)
      set(run ${ACP_MPIEXEC_mpich} -genv LD_PRELOAD ${preload})
    endif()
    add_test(NAME hmpi.sanitized.${mpi} COMMAND ${run} -np 2 ${conformance} --strict)
    add_test(NAME hmpi.sanitized.random.${mpi}
      COMMAND ${run} -np 3 ${matcher} --seed 3 --operations 5000)
    add_test(NAME hmpi.sanitized.bounce.${mpi}
      COMMAND ${run} -np 2 ${conformance} --strict matching types)
    set(sanitized hmpi.sanitized.${mpi} hmpi.sanitized.random.${mpi})
    set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      ASAN_OPTIONS=detect_leaks=0:handle_segv=0)
    set_tests_properties(${sanitized} hmpi.sanitized.bounce.${mpi} PROPERTIES
      LABELS hmpi TIMEOUT 300 PROCESSORS 2 ENVIRONMENT "${environment}")
    set_tests_properties(hmpi.sanitized.bounce.${mpi} PROPERTIES ENVIRONMENT
      "${environment};HMPI_CMA=off;HMPI_INLINE=0;HMPI_COPY=0")
    continue()
  endif()
  set(run ${CMAKE_BINARY_DIR}/bin/hmpirun ${ACP_MPIEXEC_${mpi}})
  if(mpi STREQUAL openmpi)
    list(APPEND run --oversubscribe)
  endif()
  foreach(ranks 1 2 4)
    add_test(NAME hmpi.conformance.${mpi}.${ranks}
      COMMAND ${run} -np ${ranks} ${conformance} --strict)
    list(APPEND tests hmpi.conformance.${mpi}.${ranks})
  endforeach()
  foreach(ranks 2 5)
    add_test(NAME hmpi.random.${mpi}.${ranks}
      COMMAND ${run} -np ${ranks} ${matcher} --seed ${ranks} --operations 20000)
    list(APPEND tests hmpi.random.${mpi}.${ranks})
  endforeach()
  add_test(NAME hmpi.no_heap.${mpi} COMMAND env HMPI_HEAP_SIZE=8M HMPI_HEAP=off
    ${run} -np 3 ${conformance} --strict modes)
  # The program fills the heap, and the ring of a new peer has to find room.
  add_test(NAME hmpi.full_heap.${mpi} COMMAND env HMPI_HEAP_SIZE=16M
    ${run} -np 3 ${conformance} --strict progress.full)
  list(APPEND tests hmpi.full_heap.${mpi})
  add_test(NAME hmpi.huge_element.${mpi} CONFIGURATIONS full
    COMMAND ${run} -np 1 ${huge})
  list(APPEND tests hmpi.no_heap.${mpi} hmpi.huge_element.${mpi})
  foreach(ranks 1 2 4)
    add_test(NAME hmpi.ownership.${mpi}.${ranks}
      COMMAND ${run} -np ${ranks} ${ownership})
    list(APPEND tests hmpi.ownership.${mpi}.${ranks})
  endforeach()
  # Given buffers are protected in the giver; and a heap and a pool without room.
  foreach(setting HMPI_DEBUG=on HMPI_HEAP=all HMPI_POOL=0)
    add_test(NAME hmpi.ownership.${mpi}.${setting} COMMAND env ${setting}
      HMPI_HEAP_SIZE=100M ${run} -np 3 ${ownership} errors.use pass threads)
    list(APPEND tests hmpi.ownership.${mpi}.${setting})
  endforeach()
  # A library of HMPI in front of the other MPI library.
  foreach(other openmpi mpich)
    if(NOT other STREQUAL mpi AND TARGET hmpi_${other})
      add_test(NAME hmpi.other_mpi.${mpi} COMMAND ${conformance} errors)
      set_tests_properties(hmpi.other_mpi.${mpi} PROPERTIES
        LABELS hmpi TIMEOUT 60 ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:hmpi_${other}>
        PASS_REGULAR_EXPRESSION "the process has loaded .*start it by hmpirun --mpi=${mpi}")
    endif()
  endforeach()
  # A list of given buffers that grows must take no memory of the heap.
  add_test(NAME hmpi.ownership.${mpi}.debug_all COMMAND env HMPI_DEBUG=on HMPI_HEAP=all
    ${run} -np 3 ${ownership} pass)
  list(APPEND tests hmpi.ownership.${mpi}.debug_all)
  add_test(NAME hmpi.statistics.${mpi}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/statistics ${run} -np 2 ${ownership})
  add_test(NAME hmpi.passes_through.${mpi}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/passes-through ${run} -np 2 ${ownership})
  list(APPEND tests hmpi.statistics.${mpi} hmpi.passes_through.${mpi})
  set(told_use_after_give
    "was used, in a buffer that OPI_Give has passed to rank 1 with tag 7")
  set(told_truncated
    "from rank 0 with tag 7 has 100 bytes, and its receive has room for 60")
  foreach(name use_after_give truncated)
    set(test hmpi.${name}.${mpi})
    add_test(NAME ${test} COMMAND env HMPI_DEBUG=on
      ${run} -np 2 ${CMAKE_CURRENT_BINARY_DIR}/${name}_${mpi})
    set_tests_properties(${test} PROPERTIES PASS_REGULAR_EXPRESSION "${told_${name}}")
    list(APPEND tests ${test})
  endforeach()
  foreach(node ${nodes})
    get_filename_component(name ${node} NAME)
    add_test(NAME hmpi.${name} COMMAND ${run} -np 3 ${node})
    list(APPEND tests hmpi.${name})
  endforeach()
  foreach(example ${examples})
    get_filename_component(name ${example} NAME)
    foreach(ranks 1 2 4)
      add_test(NAME example.${name}.${ranks}
        COMMAND ${run} -np ${ranks} ${example} 256)
      list(APPEND tests example.${name}.${ranks})
    endforeach()
  endforeach()
  foreach(order "mpi mpi" "mpi acp" "acp mpi" "acp acp")
    separate_arguments(words UNIX_COMMAND ${order})
    string(REPLACE " " "." name ${order})
    add_test(NAME hmpi.with_acp.${mpi}.${name}
      COMMAND ${run} -np 3 ${with_acp} ${words})
    list(APPEND tests hmpi.with_acp.${mpi}.${name})
  endforeach()
  # Ranks on two hosts: receives from any source have senders on both, and each run of
  # random_matcher is compared with one over the MPI alone. The checks of --strict are
  # left out, because messages between hosts have the faults of the MPI library.
  set(over_hosts ${PROJECT_SOURCE_DIR}/tests/hosts/with-hosts -n 2 --
    ${CMAKE_CURRENT_LIST_DIR}/over-hosts)
  set(hmpirun ${CMAKE_BINARY_DIR}/bin/hmpirun)
  add_test(NAME hmpi.hosts.conformance.${mpi}
    COMMAND ${over_hosts} ${mpi} ${hmpirun} ${conformance} attributes cancel
      communicators.apart communicators.freed communicators.sent completion errors free
      matching modes probe progress sendrecv threads truncation types)
  add_test(NAME hmpi.hosts.single_thread.${mpi}
    COMMAND ${over_hosts} ${mpi} ${hmpirun} ${conformance} --single sendrecv)
  add_test(NAME hmpi.hosts.conformance.${mpi}.all CONFIGURATIONS full
    COMMAND ${over_hosts} ${mpi} ${hmpirun} ${conformance})
  foreach(seed 2 3)
    add_test(NAME hmpi.hosts.random.${mpi}.${seed}
      COMMAND ${over_hosts} --traces ${mpi} ${hmpirun} ${matcher} --seed ${seed}
        --operations 10000)
    list(APPEND hosts hmpi.hosts.random.${mpi}.${seed})
  endforeach()
  list(APPEND hosts hmpi.hosts.conformance.${mpi} hmpi.hosts.conformance.${mpi}.all
    hmpi.hosts.single_thread.${mpi})
  add_test(NAME hmpi.macprun.${mpi}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/under-macprun ${mpi} ${hmpirun}
      $<TARGET_FILE:macprun> ${conformance})
  list(APPEND launched hmpi.macprun.${mpi})
  add_test(NAME hmpi.deaths.${mpi}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/deaths ${mpi} ${hmpirun} ${mortal})
  set_tests_properties(hmpi.deaths.${mpi} PROPERTIES LABELS "hmpi;fault"
    TIMEOUT 300 RESOURCE_LOCK dev_shm)
  add_test(NAME hmpi.beside.${mpi}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/beside ${mpi} ${hmpirun}
      $<TARGET_FILE:hmpi_${mpi}> ${CMAKE_CURRENT_BINARY_DIR})
  set_tests_properties(hmpi.beside.${mpi} PROPERTIES LABELS hmpi TIMEOUT 180
    PROCESSORS 2)
  set(program_${mpi} ${conformance})
  # Every message by a record, and private memory through bounce buffers.
  add_test(NAME hmpi.bounce.${mpi}
    COMMAND ${run} -np 3 ${conformance} --strict matching modes sendrecv types)
  list(APPEND bounce hmpi.bounce.${mpi})
endforeach()
if(launched)
  foreach(mpi openmpi mpich)
    if(NOT program_${mpi})
      set(program_${mpi} none)
    endif()
  endforeach()
  add_test(NAME hmpi.slurm
    COMMAND ${PROJECT_SOURCE_DIR}/tests/providers/with-slurm
      ${CMAKE_CURRENT_LIST_DIR}/under-slurm ${hmpirun} ${program_mpich}
      ${program_openmpi} matching probe)
  set_tests_properties(${launched} hmpi.slurm PROPERTIES LABELS "hmpi;providers"
    TIMEOUT 180 PROCESSORS 2 SKIP_RETURN_CODE 77 RESOURCE_LOCK dev_shm)
endif()
if(tests)
  set_tests_properties(${tests} ${bounce} PROPERTIES LABELS hmpi TIMEOUT 300
    PROCESSORS 2)
  set(as_root OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  set_tests_properties(${tests} PROPERTIES ENVIRONMENT "${as_root}")
  set_tests_properties(${hosts} PROPERTIES LABELS "hmpi;hosts" TIMEOUT 300
    PROCESSORS 2 SKIP_RETURN_CODE 77 RESOURCE_LOCK dev_shm)
  set_tests_properties(${bounce} PROPERTIES ENVIRONMENT
    "${as_root};HMPI_CMA=off;HMPI_INLINE=0;HMPI_COPY=0")
endif()
