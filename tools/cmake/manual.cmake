# The manual: pages for man(1), and HTML, made by Doxygen of the public headers and of
# docs/. Included by the top CMakeLists.txt. Sets ACP_MANUAL_DIR, where the manual is,
# ACP_MANUAL_PYTHON, and ACP_MANUAL_COMMAND, which makes it, or nothing without Doxygen.
#
# The target `manual` is not a part of all. What it has made is installed.
set(ACP_MANUAL_DIR ${PROJECT_BINARY_DIR}/manual)
set(ACP_MANUAL_COMMAND)
install(DIRECTORY ${ACP_MANUAL_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
install(DIRECTORY ${ACP_MANUAL_DIR}/html DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

find_program(ACP_DOXYGEN doxygen)
set(ACP_MANUAL_PYTHON ${ACP_PYTHON_PROGRAM})
if(NOT ACP_MANUAL_PYTHON)
  find_program(ACP_PYTHON3 python3)
  set(ACP_MANUAL_PYTHON ${ACP_PYTHON3})
endif()
if(ACP_DOXYGEN AND ACP_MANUAL_PYTHON AND TARGET acp_info AND NOT ACP_SANITIZE)
  configure_file(${PROJECT_SOURCE_DIR}/tools/manual/Doxyfile.in
    ${ACP_MANUAL_DIR}/Doxyfile @ONLY)
  set(ACP_MANUAL_COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}
    -DDIR=${ACP_MANUAL_DIR} -DDOXYGEN=${ACP_DOXYGEN} -DPYTHON=${ACP_MANUAL_PYTHON}
    -DACP_INFO=$<TARGET_FILE:acp_info> -DVERSION=${PROJECT_VERSION}
    -P ${PROJECT_SOURCE_DIR}/tools/manual/build.cmake)
  add_custom_target(manual COMMAND ${ACP_MANUAL_COMMAND} VERBATIM)
  add_dependencies(manual acp_info)
endif()
