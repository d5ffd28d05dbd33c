# Installs the libraries of HMPI, hmpi-openmpi.pc, hmpi-mpich.pc and the CMake package
# HMPI. tools/cmake/package.cmake includes it where a library of HMPI is built.
set(HMPI_MPI_NAME_openmpi "Open MPI")
set(HMPI_MPI_PC_openmpi ompi-c)
set(HMPI_MPI_NAME_mpich MPICH)
set(HMPI_MPI_PC_mpich mpich)
foreach(HMPI_MPI openmpi mpich)
  if(NOT TARGET hmpi_${HMPI_MPI})
    continue()
  endif()
  set_target_properties(hmpi_${HMPI_MPI} PROPERTIES
    EXPORT_NAME ${HMPI_MPI} INSTALL_RPATH "$ORIGIN")
  target_include_directories(hmpi_${HMPI_MPI} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS hmpi_${HMPI_MPI} EXPORT HMPI_${HMPI_MPI}Targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  acp_install_targets(HMPI HMPI_${HMPI_MPI}Targets)
  set(HMPI_MPI_NAME ${HMPI_MPI_NAME_${HMPI_MPI}})
  set(HMPI_MPI_PC ${HMPI_MPI_PC_${HMPI_MPI}})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/hmpi.pc.in
    ${CMAKE_BINARY_DIR}/package/hmpi-${HMPI_MPI}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/hmpi-${HMPI_MPI}.pc DESTINATION ${pc_dir})
endforeach()
acp_install_package(HMPI COMPATIBILITY SameMinorVersion)
