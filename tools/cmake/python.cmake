# Whether the package for Python is built, and for which Python. Included by the top
# CMakeLists.txt. Sets ACP_HAS_PYTHON and ACP_PYTHON_PROGRAM.
#
# python3 has no sanitizer, and tests/python loads the library of the address sanitizer in
# front of it. AUTO leaves the package out with the other sanitizers.
set(ACP_HAS_PYTHON OFF)
if(ACP_PYTHON STREQUAL "AUTO")
  if(ACP_FUZZ OR (ACP_SANITIZE AND NOT ACP_SANITIZE MATCHES "address"))
    return()
  endif()
elseif(NOT ACP_PYTHON)
  return()
endif()

# acp_look_at_python(PROGRAM NEEDED): takes a Python of version 3.10 or later, if its
# headers are installed, and the statement NEEDED works.
function(acp_look_at_python program needed)
  execute_process(COMMAND ${program} -c "
import sys, sysconfig
${needed}
assert sys.version_info >= (3, 10)
print(sysconfig.get_path('include'), sysconfig.get_config_var('EXT_SUFFIX'),
      '%d.%d' % sys.version_info[:2], sep=';')"
    OUTPUT_VARIABLE facts OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    return()
  endif()
  list(GET facts 0 headers)
  if(EXISTS "${headers}/Python.h")
    list(GET facts 1 suffix)
    list(GET facts 2 version)
    set(ACP_HAS_PYTHON ON PARENT_SCOPE)
    set(ACP_PYTHON_PROGRAM ${program} PARENT_SCOPE)
    set(ACP_PYTHON_INCLUDE ${headers} PARENT_SCOPE)
    set(ACP_PYTHON_SUFFIX ${suffix} PARENT_SCOPE)
    set(ACP_PYTHON_VERSION ${version} PARENT_SCOPE)
  endif()
endfunction()

# The first Python in PATH may be of a virtual environment. A Python with NumPy is preferred,
# because views of memory are arrays.
set(candidates python3 /usr/bin/python3)
if(NOT ACP_PYTHON MATCHES "^(AUTO|ON|1|YES|TRUE)$")
  set(candidates ${ACP_PYTHON})
endif()
foreach(needed "import numpy" "")
  foreach(candidate IN LISTS candidates)
    if(NOT ACP_HAS_PYTHON)
      acp_look_at_python(${candidate} "${needed}")
    endif()
  endforeach()
endforeach()
if(ACP_HAS_PYTHON)
  message(STATUS "The package for Python is built for ${ACP_PYTHON_PROGRAM}, version "
    "${ACP_PYTHON_VERSION}")
elseif(NOT ACP_PYTHON STREQUAL "AUTO")
  message(FATAL_ERROR "ACP_PYTHON is ${ACP_PYTHON}, and no Python 3.10 or later with its "
    "headers was found: install python3-dev, or set ACP_PYTHON to a program")
else()
  message(STATUS "The package for Python is left out: no python3 with its headers "
    "(python3-dev)")
endif()

# Where an installation has the package, below its prefix. Debian's Python looks there
# for packages of the system.
if(ACP_HAS_PYTHON AND NOT DEFINED ACP_PYTHON_DIR)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(ACP_PYTHON_DIR lib/python3/dist-packages)
  else()
    set(ACP_PYTHON_DIR lib/python${ACP_PYTHON_VERSION}/site-packages)
  endif()
endif()
