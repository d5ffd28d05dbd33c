# cmake -DSOURCE=... -DOUTPUT=... -P module_interface.cmake
#
# Writes the header OUTPUT, which names the interface of libacp and its modules
# by a hash. SOURCE/tools/cmake/module_interface.txt lists the files below
# SOURCE that are hashed, as patterns of file(GLOB). An equal header is not
# written again, so that nothing is compiled anew.
cmake_minimum_required(VERSION 3.25)

file(STRINGS ${SOURCE}/tools/cmake/module_interface.txt patterns REGEX "^[^#]")
set(text)
foreach(pattern IN LISTS patterns)
  file(GLOB files RELATIVE ${SOURCE} ${SOURCE}/${pattern})
  if(NOT files)
    message(FATAL_ERROR "module_interface.txt: no file is ${pattern}")
  endif()
  list(SORT files)
  foreach(file IN LISTS files)
    file(SHA256 ${SOURCE}/${file} hash)
    string(APPEND text "${file} ${hash}\n")
  endforeach()
endforeach()
string(SHA256 hash "${text}")
string(SUBSTRING ${hash} 0 16 short)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
  "// Made by tools/cmake/module_interface.cmake for src/settings/module.cc.\n#define ACP_MODULE_INTERFACE \"${short}\"\n")
