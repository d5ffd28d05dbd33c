# Installs all but the programs, which their own folders install: documentation,
# headers, Fortran modules, libraries, acp.pc, acp_static.pc and qmp.pc,
# qmp-config, the CMake packages acp::acp and QMP::qmp. The package of QMP has the
# older interfaces as QMP::scu and QMP::lqcd.
include(CMakePackageConfigHelpers)

# acp_install_targets(NAME TARGETS): installs the exported TARGETS as a part of the
# CMake package NAME, with namespace NAME.
function(acp_install_targets name targets)
  install(EXPORT ${targets} NAMESPACE ${name}::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
endfunction()

# acp_install_package(NAME VERSION...): installs the CMake package NAME. VERSION are
# the arguments of write_basic_package_version_file.
function(acp_install_package name)
  set(dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${name}Config.cmake.in
    ${CMAKE_BINARY_DIR}/package/${name}Config.cmake @ONLY)
  write_basic_package_version_file(
    ${CMAKE_BINARY_DIR}/package/${name}ConfigVersion.cmake ${ARGN})
  install(FILES
    ${CMAKE_BINARY_DIR}/package/${name}Config.cmake
    ${CMAKE_BINARY_DIR}/package/${name}ConfigVersion.cmake
    DESTINATION ${dir})
endfunction()

# The pages and examples that the manuals and messages name.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/
  DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
  PATTERN "*.md" PATTERN "examples/*.[ch]" PATTERN "examples/tutorial/*.c"
  PATTERN "examples/*.cc" PATTERN "examples/*.f90"
  PATTERN "examples/*.macprun" PATTERN "examples/python/*.py" PATTERN man EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The licences of the header libraries that are compiled in, as Debian has them.
foreach(library libcli11-dev nlohmann-json3-dev libxxhash-dev)
  install(FILES /usr/share/doc/${library}/copyright RENAME ${library}
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/notices OPTIONAL)
endforeach()
install(PROGRAMS ${PROJECT_SOURCE_DIR}/docs/examples/make_reads.sh
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS acp acp_static EXPORT acpTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

acp_install_targets(acp acpTargets)
acp_install_package(acp COMPATIBILITY SameMinorVersion)

# The loader finds libraries of a system prefix by itself. Programs that are linked with
# others need the way to them.
set(ACP_PC_RPATH "-Wl,-rpath,\${libdir} ")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(ACP_PC_RPATH)
endif()
# Relative, so that an installation can be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH ACP_PC_PREFIX
  ${CMAKE_INSTALL_PREFIX}/${pc_dir} ${CMAKE_INSTALL_PREFIX})
foreach(name acp acp_static)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in
    ${CMAKE_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/${name}.pc DESTINATION ${pc_dir})
endforeach()

set_target_properties(qmp PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS qmp qmp_static scu scu_static lqcd lqcd_static EXPORT QMPTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
acp_install_targets(QMP QMPTargets)
acp_install_package(QMP VERSION ${QMP_VERSION} COMPATIBILITY SameMajorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/qmp.pc.in
  ${CMAKE_BINARY_DIR}/package/qmp.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/qmp.pc DESTINATION ${pc_dir})

# The Fortran modules, their libraries, acp-fortran.pc and qmp-fortran.pc.
if(ACP_HAS_FORTRAN)
  foreach(package acp QMP)
    string(TOLOWER ${package} name)
    install(TARGETS ${name}_fortran EXPORT ${package}FortranTargets
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    acp_install_targets(${package} ${package}FortranTargets)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}-fortran.pc.in
      ${CMAKE_BINARY_DIR}/package/${name}-fortran.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/package/${name}-fortran.pc
      DESTINATION ${pc_dir})
  endforeach()
  install(DIRECTORY ${CMAKE_BINARY_DIR}/fortran/
    DESTINATION ${ACP_FORTRAN_MODULE_DIR} FILES_MATCHING PATTERN "*.mod")
endif()

# Programs of SCU link with -lcommsMPI.
foreach(kind SHARED STATIC)
  set(alias libcommsMPI${CMAKE_${kind}_LIBRARY_SUFFIX})
  file(CREATE_LINK libscu${CMAKE_${kind}_LIBRARY_SUFFIX}
    ${CMAKE_BINARY_DIR}/package/${alias} SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/package/${alias}
    DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

# qmp-config finds the installation from its own path.
file(RELATIVE_PATH QMP_CONFIG_INCLUDE_DIR
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
file(RELATIVE_PATH QMP_CONFIG_LIB_DIR
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
configure_file(${PROJECT_SOURCE_DIR}/src/qmp/qmp-config.in
  ${CMAKE_BINARY_DIR}/package/qmp-config @ONLY)
install(PROGRAMS ${CMAKE_BINARY_DIR}/package/qmp-config
  DESTINATION ${CMAKE_INSTALL_BINDIR})

if(TARGET hmpi_openmpi OR TARGET hmpi_mpich)
  include(${PROJECT_SOURCE_DIR}/tools/hmpi/package.cmake)
endif()
