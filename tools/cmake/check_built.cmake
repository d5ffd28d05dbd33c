# Ends `cmake --install` before it copies a file, if a file is not built that it
# would copy. The install script of the build tree calls it first. It only reads.
#
# The install scripts that CMake has generated name the files. A script includes
# those of its subdirectories, and copies a file only with its component.

# Appends to the list `out` the files of this script that are not built.
function(find_missing script build component out)
  set(found ${${out}})
  set(is_wanted YES)
  file(STRINGS "${script}" lines)
  foreach(line IN LISTS lines)
    if(line MATCHES "^ *include\\(\"(.*/cmake_install\\.cmake)\"\\)")
      find_missing("${CMAKE_MATCH_1}" "${build}" "${component}" found)
    elseif(line MATCHES "^if\\(CMAKE_INSTALL_COMPONENT STREQUAL \"(.*)\" OR NOT")
      set(is_wanted NO)
      if("${component}" STREQUAL "" OR component STREQUAL CMAKE_MATCH_1)
        set(is_wanted YES)
      endif()
    elseif(is_wanted AND NOT line MATCHES "TYPE DIRECTORY" AND
        line MATCHES "^( *| *file\\(INSTALL .* FILES )\"(/[^\"]*)\"\\)?$")
      set(file "${CMAKE_MATCH_2}")
      string(FIND "${file}" "${build}/" at)
      # An alias of a library is a link to its neighbour in the installation. It leads
      # nowhere in the build tree.
      if(at EQUAL 0 AND NOT EXISTS "${file}" AND NOT IS_SYMLINK "${file}")
        list(APPEND found "${file}")
      endif()
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

function(require_built build component)
  set(missing)
  find_missing("${build}/cmake_install.cmake" "${build}" "${component}" missing)
  if(NOT missing)
    return()
  endif()
  list(REMOVE_DUPLICATES missing)
  list(LENGTH missing count)
  list(GET missing 0 first)
  message(FATAL_ERROR "nothing is installed: ${count} files are not built, the first is "
    "${first}. tools/quickstart builds a part of them only. Build them all with "
    "cmake --build ${build}, and call cmake --install again.")
endfunction()
