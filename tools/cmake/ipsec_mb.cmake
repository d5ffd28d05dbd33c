# Looks for intel-ipsec-mb, whose package has no file for pkg-config. Sets
# ACP_HAS_IPSEC_MB and the target IPSecMB. The user decides by ACP_IPSEC_MB.
set(ACP_IPSEC_MB AUTO CACHE STRING
  "Build tags by intel-ipsec-mb: AUTO (where its library is), ON, OFF")
set_property(CACHE ACP_IPSEC_MB PROPERTY STRINGS AUTO ON OFF)
set(ACP_HAS_IPSEC_MB OFF)
if(ACP_IPSEC_MB)
  # The code of the module is for x86-64; the library exists for others.
  find_path(IPSEC_MB_INCLUDE_DIR intel-ipsec-mb.h)
  find_library(IPSEC_MB_LIBRARY NAMES libIPSec_MB.so)
  mark_as_advanced(IPSEC_MB_INCLUDE_DIR IPSEC_MB_LIBRARY)
  if(IPSEC_MB_INCLUDE_DIR AND IPSEC_MB_LIBRARY AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(ACP_HAS_IPSEC_MB ON)
    add_library(IPSecMB UNKNOWN IMPORTED GLOBAL)
    set_target_properties(IPSecMB PROPERTIES
      IMPORTED_LOCATION ${IPSEC_MB_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${IPSEC_MB_INCLUDE_DIR})
  elseif(NOT ACP_IPSEC_MB STREQUAL "AUTO")
    message(FATAL_ERROR "ACP_IPSEC_MB=ON: no intel-ipsec-mb for x86-64 was found")
  endif()
endif()
