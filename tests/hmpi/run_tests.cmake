# hmpirun and the compiler wrappers, with libraries of the tests' own in place of HMPI's.
# A sanitizer's library would have to be preloaded before all others.
if(NOT ACP_SANITIZE AND EXISTS ${CMAKE_BINARY_DIR}/bin/hmpirun)
  add_test(NAME hmpi.hmpirun
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/hmpirun_test.sh ${CMAKE_BINARY_DIR}/bin/hmpirun
      ${CMAKE_CURRENT_BINARY_DIR}/scratch_hmpirun ${CMAKE_C_COMPILER})
  add_test(NAME hmpi.hmpicc
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/hmpicc_test.sh ${CMAKE_BINARY_DIR}/bin
      ${CMAKE_CURRENT_BINARY_DIR}/scratch_hmpicc ${CMAKE_C_COMPILER})
  set_tests_properties(hmpi.hmpirun hmpi.hmpicc PROPERTIES
    TIMEOUT 180 LABELS hmpi SKIP_RETURN_CODE 77)
endif()
