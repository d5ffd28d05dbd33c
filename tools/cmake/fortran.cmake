# Whether the Fortran modules are built, and with which flags. Included by the
# top CMakeLists.txt, since a language is enabled there.
#
# A sanitizer's library needs a compiler driver with the same run-time library,
# so AUTO leaves Fortran out there.
set(ACP_HAS_FORTRAN OFF)
if(ACP_FORTRAN STREQUAL "AUTO" AND NOT ACP_SANITIZE AND NOT ACP_FUZZ)
  include(CheckLanguage)
  if(NOT CMAKE_Fortran_COMPILER)
    unset(CMAKE_Fortran_COMPILER CACHE) # There may be one since the last time.
  endif()
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    set(ACP_HAS_FORTRAN ON)
  endif()
elseif(NOT ACP_FORTRAN STREQUAL "AUTO" AND ACP_FORTRAN)
  set(ACP_HAS_FORTRAN ON)
endif()
if(NOT ACP_HAS_FORTRAN)
  return()
endif()
enable_language(Fortran)

# Where an installation has the module files: they are for this compiler only.
string(TOLOWER "${CMAKE_Fortran_COMPILER_ID}" compiler)
if(compiler STREQUAL "gnu")
  set(compiler gfortran)
endif()
string(REGEX MATCH "^[0-9]+" major "${CMAKE_Fortran_COMPILER_VERSION}")
set(ACP_FORTRAN_MODULE_DIR
  ${CMAKE_INSTALL_LIBDIR}/fortran/acp-${compiler}-${major})

# Flags of our own code in Fortran.
set(ACP_FORTRAN_FLAGS)
if(CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
  set(werror $<$<BOOL:${ACP_WARNINGS_AS_ERRORS}>:-Werror>)
  set(ACP_FORTRAN_FLAGS $<$<COMPILE_LANGUAGE:Fortran>:-std=f2018>
    $<$<COMPILE_LANGUAGE:Fortran>:-fimplicit-none> -Wall -Wextra ${werror})
endif()
