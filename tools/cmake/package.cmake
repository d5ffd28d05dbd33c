# What an installation consists of besides the programs, which their own
# folders install: headers, libraries, acp.pc, the CMake package acp::acp.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS acp acp_static EXPORT acpTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/acp)
install(EXPORT acpTargets NAMESPACE acp:: DESTINATION ${package_dir})
configure_file(${CMAKE_CURRENT_LIST_DIR}/acpConfig.cmake.in
  ${CMAKE_BINARY_DIR}/package/acpConfig.cmake @ONLY)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/package/acpConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/package/acpConfig.cmake
  ${CMAKE_BINARY_DIR}/package/acpConfigVersion.cmake
  DESTINATION ${package_dir})

# Relative, so that an installation can be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH ACP_PC_PREFIX
  ${CMAKE_INSTALL_PREFIX}/${pc_dir} ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/acp.pc.in
  ${CMAKE_BINARY_DIR}/package/acp.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/acp.pc DESTINATION ${pc_dir})
