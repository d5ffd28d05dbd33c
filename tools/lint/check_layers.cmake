# lint.layers: which layer may include which. Read top to bottom, the table is the
# architecture; docs/architecture.md explains it.
#
#   cmake [-DROOT=<tree>] -P tools/lint/check_layers.cmake
#
# Fails with one line for each include that the table does not list. A layer
# always sees itself. Tests may include everything and are not looked at.
cmake_minimum_required(VERSION 3.25)

if(NOT DEFINED ROOT)
  get_filename_component(ROOT "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
endif()

# ---- The table ------------------------------------------------------------
# "public" is include/: the headers that an outsider can use.
set(network_needs base settings transport protocol)
set(below_runtime base settings protocol transport self shm ucx verbs udp gmm gma agent)

set(ALLOW_public)
set(ALLOW_base)
set(ALLOW_settings base)
set(ALLOW_protocol base settings)
set(ALLOW_transport base settings protocol)
set(ALLOW_self ${network_needs})
set(ALLOW_shm ${network_needs})
set(ALLOW_ucx ${network_needs})
set(ALLOW_verbs ${network_needs})
set(ALLOW_udp ${network_needs})
set(ALLOW_gmm base protocol transport)
set(ALLOW_gma base protocol transport gmm public)
set(ALLOW_agent base protocol transport gmm)
set(ALLOW_runtime ${below_runtime} public)
# middle: the list of its modules, which acp_init adds.
set(ALLOW_api ${below_runtime} runtime middle public)
# Clients of the public interface, as any program is. The middle layer is built
# into libacp and so may use base/ as well, which has no state of a job.
set(ALLOW_middle base public)
# inbox: short messages between ranks, for qmp and compat.
set(ALLOW_inbox public)
set(ALLOW_qmp public inbox)
set(ALLOW_compat public inbox)
set(ALLOW_fortran public)
set(ALLOW_examples public)
# Programs of ours beside the library.
set(ALLOW_launcher base settings protocol public)
# gmm: acp_info takes addresses apart. api: acp_info --job asks for facts that are
# no business of programs.
set(ALLOW_tools base settings protocol transport gmm api public)

set(LAYERS public base settings protocol transport self shm ucx verbs udp gmm gma agent
  runtime api middle inbox qmp compat fortran examples launcher tools)

# Foreign headers that only some files may include: a name for the message, the
# headers, the files.
set(FOREIGN rdma ucx pmix sockets)
set(FOREIGN_rdma_HEADERS "^(infiniband|rdma)/")
set(FOREIGN_rdma_FILES "^(verbs/|tools/acp_perf/rdma_(library|loop)\\.|tools/acp_info/rdma_limits\\.)")
set(FOREIGN_ucx_HEADERS "^(ucp|ucs|uct)/")
set(FOREIGN_ucx_FILES "^(src/transport/ucx/|tools/acp_perf/ucp_|tools/acp_info/probe_ucx\\.)")
set(FOREIGN_pmix_HEADERS "^pmix")
set(FOREIGN_pmix_FILES "^src/runtime/pmix/")
set(FOREIGN_sockets_HEADERS "^(sys/socket\\.h|sys/un\\.h|netinet/|arpa/|netdb\\.h)")
set(FOREIGN_sockets_FILES
  "^(udp/|verbs/|src/transport/(shm/|(socket_)?address\\.|interfaces\\.)|src/runtime/(bootstrap|pmi_connection)|launcher/|tools/)")

# ---- Names ----------------------------------------------------------------

# The layer a file belongs to, from its path in the tree.
function(layer_of_file path out)
  if(path MATCHES "^src/transport/(self|shm|ucx)/")
    set(layer "${CMAKE_MATCH_1}")
  elseif(path MATCHES "^src/([a-z_]+)/")
    set(layer "${CMAKE_MATCH_1}")
  elseif(path MATCHES "^include/")
    set(layer public)
  elseif(path MATCHES "^docs/examples/")
    set(layer examples)
  else()
    string(REGEX REPLACE "/.*" "" layer "${path}")
  endif()
  set(${out} "${layer}" PARENT_SCOPE)
endfunction()

# The layer an include names; "" for the languages' and foreign headers.
function(layer_of_include name out)
  set(layer "")
  if(name MATCHES "^transport/(self|shm|ucx)/")
    set(layer "${CMAKE_MATCH_1}")
  elseif(name MATCHES "^(acp|qmp|lqcd|scu|hmpi)[a-z_]*\\.(h|hpp)$" OR
         name MATCHES "^(acp|scu)/")
    set(layer public)
  elseif(name MATCHES "^([a-z_]+)/" AND CMAKE_MATCH_1 IN_LIST LAYERS)
    set(layer "${CMAKE_MATCH_1}")
  endif()
  set(${out} "${layer}" PARENT_SCOPE)
endfunction()

# ---- The check ------------------------------------------------------------

function(refuse text)
  message(SEND_ERROR "${text}")
  set_property(GLOBAL PROPERTY layers_broken TRUE)
endfunction()

# A header of ours: the table.
function(check_own file layer name quote)
  layer_of_include("${name}" target)
  if(name MATCHES "^\\.\\.?/|/\\.\\./")
    refuse("${file}: write includes from the include root, not '${name}'")
  elseif(name MATCHES "^(src|include)/")
    refuse("${file}: '${name}' names a folder above the include root")
  elseif(target AND NOT target STREQUAL layer AND
         NOT target IN_LIST ALLOW_${layer})
    refuse("${file}: layer '${layer}' may not include '${target}': ${name}")
  elseif(NOT target AND quote STREQUAL "\"" AND name MATCHES "/")
    refuse("${file}: '${name}' is in no layer of the table")
  endif()
endfunction()

# A foreign header: the list of files.
function(check_foreign file name)
  foreach(foreign IN LISTS FOREIGN)
    if(name MATCHES "${FOREIGN_${foreign}_HEADERS}" AND
       NOT file MATCHES "${FOREIGN_${foreign}_FILES}")
      refuse("${file}: <${name}> (${foreign}) may not be included here")
    endif()
  endforeach()
endfunction()

set(globs)
foreach(top include src verbs udp launcher tools docs/examples)
  foreach(ending h hpp c cc)
    list(APPEND globs "${ROOT}/${top}/*.${ending}")
  endforeach()
endforeach()
file(GLOB_RECURSE files RELATIVE "${ROOT}" ${globs})

set(includes 0)
foreach(file IN LISTS files)
  layer_of_file("${file}" layer)
  if(NOT layer IN_LIST LAYERS)
    refuse("${file}: folder '${layer}' has no row in the table")
    continue()
  endif()
  file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "([<\"])([^>\"]+)[>\"]" _ "${line}")
    set(quote "${CMAKE_MATCH_1}")
    set(name "${CMAKE_MATCH_2}")
    check_own("${file}" "${layer}" "${name}" "${quote}")
    check_foreign("${file}" "${name}")
    math(EXPR includes "${includes} + 1")
  endforeach()
endforeach()

list(LENGTH files count)
if(count EQUAL 0)
  message(FATAL_ERROR "no sources below ${ROOT}")
endif()
get_property(broken GLOBAL PROPERTY layers_broken)
if(NOT broken)
  message(STATUS "layers: ${includes} includes in ${count} files keep the table")
endif()
