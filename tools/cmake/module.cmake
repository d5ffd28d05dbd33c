# acp_add_module(NAME [NOT_INSTALLED] SOURCES file... [LIBRARIES target...])
#
# Makes libacp-NAME.so beside libacp (src/settings/module.h), as target
# acp_NAME_module, and installs it as component acp-NAME. The sources have one
# ACP_MODULE. The module has its own copy of the lower layers and shows one
# object, so it works beside libacp.so and beside libacp.a.
function(acp_add_module name)
  cmake_parse_arguments(ARG "NOT_INSTALLED" "" "SOURCES;LIBRARIES" ${ARGN})
  set(target acp_${name}_module)
  add_library(${target} MODULE ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE acp_internal_flags
    acp_base acp_status acp_settings acp_protocol acp_transport ${ARG_LIBRARIES}
    fmt::fmt Threads::Threads ${CMAKE_DL_LIBS})
  set(map ${PROJECT_SOURCE_DIR}/tools/cmake/modules.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  if(NOT ACP_SANITIZE)  # A sanitizer's functions are in the program.
    target_link_options(${target} PRIVATE -Wl,-z,defs -Wl,--gc-sections)
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME acp-${name}
    LINK_DEPENDS ${map}
    LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  if(NOT ARG_NOT_INSTALLED)
    install(TARGETS ${target}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT acp-${name})
  endif()
endfunction()
