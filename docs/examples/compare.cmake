# Runs PROGRAM with WORDS by ACPRUN on 1, 2 and 4 ranks; fails unless all three
# print the same.
foreach(ranks 1 2 4)
  execute_process(COMMAND ${ACPRUN} -np ${ranks} ${PROGRAM} ${WORDS}
    OUTPUT_VARIABLE output_${ranks} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} on ${ranks} ranks ended with ${status}")
  endif()
  if(output_${ranks} STREQUAL "" OR NOT output_${ranks} STREQUAL output_1)
    message(FATAL_ERROR "1 rank: ${output_1}${ranks} ranks: ${output_${ranks}}")
  endif()
endforeach()
