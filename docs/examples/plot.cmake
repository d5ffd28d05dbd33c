# Runs PROGRAM by ACPRUN on 2 ranks with --plot PICTURE; fails unless the picture
# is whole, and a file that cannot be written ends the run before it begins.
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

execute_process(COMMAND ${ACPRUN} -np 2 ${PROGRAM} --plot ${PICTURE}/no.svg
  OUTPUT_VARIABLE output ERROR_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 1 OR output MATCHES "sweep" OR
   NOT text MATCHES "cannot write ${PICTURE}/no.svg: Not a directory")
  message(FATAL_ERROR "--plot ${PICTURE}/no.svg: ${status}, ${output}${text}")
endif()
