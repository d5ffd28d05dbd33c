# Makes the manual in DIR: man/man3 and man/man7 for man(1), and html. The target `manual`
# runs it, and so does the test manual.build. It stops at the first warning of Doxygen.
#
#   cmake -DROOT=TREE -DDIR=FOLDER -DDOXYGEN=PROGRAM -DPYTHON=PROGRAM -DACP_INFO=PROGRAM
#     -DVERSION=NUMBER -P build.cmake
#
# DIR has the Doxyfile already. Its other files are replaced.
set(here ${ROOT}/tools/manual)
# -B: no folder __pycache__ in the tree.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " words)
    message(FATAL_ERROR "${words} ended with ${status}")
  endif()
endfunction()

file(REMOVE_RECURSE ${DIR}/source ${DIR}/xml ${DIR}/html ${DIR}/man)
run(${PYTHON} -B ${here}/sources.py ${ROOT} ${DIR}/source)
run(${ACP_INFO} --json OUTPUT_FILE ${DIR}/settings.json)
run(${PYTHON} -B ${here}/settings_page.py ${DIR}/settings.json ${DIR}/source/acp_settings.md)
run(${DOXYGEN} ${DIR}/Doxyfile)
run(${PYTHON} -B ${here}/man_pages.py --xml ${DIR}/xml --out ${DIR}/man
  --version ${VERSION} --examples ${ROOT}/docs/examples)
