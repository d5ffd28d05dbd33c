# The networks of this build: the rows of src/settings/networks.def, and the rows
# of the file that ACP_MORE_NETWORKS names. Sets
#
#   ACP_NETWORK_FOLDERS   the networks that are a part of libacp, by their folders
#   ACP_MODULE_FOLDERS    the networks that are modules, by their folders; modules
#                         whose library this machine lacks are left out
#   ACP_NETWORK_NAMES     all of them by the names that ACP_NET takes
#   ACP_NETWORK_ALIASES   FOLDER=NAME for networks whose names are not their folders'
#   ACP_NETWORK_DIR_...   where a folder is
set(ACP_MORE_NETWORKS "" CACHE FILEPATH
  "A file with rows of further networks, whose folders are beside it; docs/porting.md")

# acp_find_library(NAME PREFIX "what is built with it" package...)
#
# Sets ACP_HAS_NAME. The user decides by ACP_NAME.
macro(acp_find_library name prefix what)
  set(ACP_${name} AUTO CACHE STRING "Build ${what}: AUTO (where its library is), ON, OFF")
  set_property(CACHE ACP_${name} PROPERTY STRINGS AUTO ON OFF)
  set(ACP_HAS_${name} OFF)
  if(ACP_${name} STREQUAL "AUTO")
    pkg_check_modules(${prefix} IMPORTED_TARGET GLOBAL ${ARGN})
    set(ACP_HAS_${name} ${${prefix}_FOUND})
  elseif(ACP_${name})
    pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET GLOBAL ${ARGN})
    set(ACP_HAS_${name} ON)
  endif()
endmacro()

# Reads the rows of a file, whose folders are in one of `roots`. A folder that has
# a library.cmake looks there for its library, by acp_find_library.
macro(acp_read_networks rows_file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rows_file})
  file(STRINGS ${rows_file} rows REGEX "^ACP_(MODULE_)?NETWORK\\(")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^ACP_(MODULE|NETWORK)[A-Z_]*\\(([a-z0-9_]+), *\"([a-z0-9_]+)\"" _ "${row}")
    set(kind ${CMAKE_MATCH_1})
    set(folder ${CMAKE_MATCH_2})
    list(APPEND ACP_NETWORK_NAMES ${CMAKE_MATCH_3})
    if(NOT CMAKE_MATCH_3 STREQUAL folder)
      list(APPEND ACP_NETWORK_ALIASES ${folder}=${CMAKE_MATCH_3})
    endif()
    # The launchers of ACP 2.1.0 have this name; src/settings/networks.cc.
    if(CMAKE_MATCH_3 STREQUAL "ib")
      list(APPEND ACP_NETWORK_ALIASES infiniband=ib)
    endif()
    foreach(root ${ARGN})
      if(EXISTS ${root}/${folder}/CMakeLists.txt)
        set(ACP_NETWORK_DIR_${folder} ${root}/${folder})
      endif()
    endforeach()
    if(NOT ACP_NETWORK_DIR_${folder})
      message(FATAL_ERROR "${rows_file}: there is no folder ${folder} with a CMakeLists.txt")
    endif()
    include(${ACP_NETWORK_DIR_${folder}}/library.cmake OPTIONAL)
    string(TOUPPER ACP_HAS_${folder} has_folder)
    if(NOT DEFINED ${has_folder} OR ${has_folder})
      list(APPEND ACP_${kind}_FOLDERS ${folder})
    endif()
  endforeach()
endmacro()

# Lets these files of the calling directory see all rows; they include networks.def.
function(acp_see_networks)
  if(ACP_MORE_NETWORKS)
    set_source_files_properties(${ARGN} PROPERTIES
      COMPILE_DEFINITIONS "ACP_MORE_NETWORKS=\"${ACP_MORE_NETWORKS}\"")
  endif()
endfunction()

# Adds the folders of all networks.
function(acp_add_network_folders)
  foreach(folder IN LISTS ACP_NETWORK_FOLDERS ACP_MODULE_FOLDERS)
    set(dir ${ACP_NETWORK_DIR_${folder}})
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${dir} NORMALIZE is_inside)
    set(binary_dir networks/${folder})
    if(is_inside)
      file(RELATIVE_PATH binary_dir ${PROJECT_SOURCE_DIR} ${dir})
    endif()
    add_subdirectory(${dir} ${PROJECT_BINARY_DIR}/${binary_dir})
  endforeach()
endfunction()

set(ACP_NETWORK_FOLDERS)
set(ACP_MODULE_FOLDERS)
set(ACP_NETWORK_NAMES)
set(ACP_NETWORK_ALIASES)
acp_read_networks(${PROJECT_SOURCE_DIR}/src/settings/networks.def
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src/transport)
if(ACP_MORE_NETWORKS)
  get_filename_component(ACP_MORE_NETWORKS ${ACP_MORE_NETWORKS} ABSOLUTE)
  get_filename_component(root ${ACP_MORE_NETWORKS} DIRECTORY)
  acp_read_networks(${ACP_MORE_NETWORKS} ${root})
endif()
