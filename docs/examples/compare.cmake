# Runs PROGRAM with WORDS by ACPRUN on 1, 2 and 4 ranks; fails unless all three
# outputs are equal. With OTHER that program runs on 1, 2 and 4 ranks too, and its
# output has to be equal to that of PROGRAM.
set(expected)
foreach(program IN ITEMS ${PROGRAM} ${OTHER})
  foreach(ranks 1 2 4)
    execute_process(COMMAND ${ACPRUN} -np ${ranks} ${program} ${WORDS}
      OUTPUT_VARIABLE output RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "${program} on ${ranks} ranks ended with ${status}")
    endif()
    if(NOT expected)
      set(expected "${output}")
    endif()
    if(output STREQUAL "" OR NOT output STREQUAL expected)
      message(FATAL_ERROR "${PROGRAM} on 1 rank: ${expected}"
        "${program} on ${ranks} ranks: ${output}")
    endif()
  endforeach()
endforeach()
