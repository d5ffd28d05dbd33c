# Runs PROGRAM by ACPRUN on 2 ranks with --help, and with a word that it does not
# know: the usage text once, on stdout with status 0, on stderr with status 2.
execute_process(COMMAND ${ACPRUN} -np 2 ${PROGRAM} --help
  OUTPUT_VARIABLE output ERROR_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT text STREQUAL "" OR
   NOT output MATCHES "^usage: " OR output MATCHES "usage: .*usage: ")
  message(FATAL_ERROR "--help: ${status}, ${output}${text}")
endif()
execute_process(COMMAND ${ACPRUN} -np 2 ${PROGRAM} --nonsense
  OUTPUT_VARIABLE output ERROR_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 2 OR NOT output STREQUAL "" OR
   NOT text MATCHES "'--nonsense' is no option.*usage: ")
  message(FATAL_ERROR "--nonsense: ${status}, ${output}${text}")
endif()
