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
    DEPENDS ${conformance} ${matcher} ${mortal} ${mortal_library} ${tool})
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
  add_test(NAME hmpi.hosts.conformance.${mpi}.all CONFIGURATIONS full
    COMMAND ${over_hosts} ${mpi} ${hmpirun} ${conformance})
  foreach(seed 2 3)
    add_test(NAME hmpi.hosts.random.${mpi}.${seed}
      COMMAND ${over_hosts} --traces ${mpi} ${hmpirun} ${matcher} --seed ${seed}
        --operations 10000)
    list(APPEND hosts hmpi.hosts.random.${mpi}.${seed})
  endforeach()
  list(APPEND hosts hmpi.hosts.conformance.${mpi} hmpi.hosts.conformance.${mpi}.all)
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
    COMMAND ${run} -np 3 ${conformance} --strict)
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
