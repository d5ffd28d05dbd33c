# Runs PROGRAM by ACPRUN on 2 ranks with --plot PICTURE; fails unless the picture
# is whole.
file(REMOVE ${PICTURE})
execute_process(COMMAND ${ACPRUN} -np 2 ${PROGRAM} --plot ${PICTURE}
  OUTPUT_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}")
endif()
file(READ ${PICTURE} text)
if(NOT text MATCHES "^<svg .*<polyline [^>]*points='[0-9., ]+'/>\n</svg>\n$")
  message(FATAL_ERROR "${PICTURE}: ${text}")
endif()
