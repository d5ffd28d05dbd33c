# lint.layers: which layer may include which. Read top to bottom, the table is the
# architecture; docs/architecture.md explains it.
#
#   cmake [-DROOT=<tree>] -P tools/lint/check_layers.cmake
#
# Fails with one line for each include that the table does not list. A layer
# always sees itself. Tests may include every layer. A second table names headers
# with long compile times and the files that may include them. It holds for tests
# as well.
cmake_minimum_required(VERSION 3.25)

if(NOT DEFINED ROOT)
  get_filename_component(ROOT "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
endif()

# The networks by their folders, from their rows. A scratch tree of the self-test
# has none.
set(rows_file "${ROOT}/src/settings/networks.def")
if(NOT EXISTS "${rows_file}")
  set(rows_file "${CMAKE_CURRENT_LIST_DIR}/../../src/settings/networks.def")
endif()
file(STRINGS "${rows_file}" networks REGEX "^ACP_(MODULE_)?NETWORK\\(")
list(TRANSFORM networks REPLACE "^[A-Z_]+\\(([a-z0-9_]+).*" "\\1")
# A network with a protocol of ours has a folder at the top.
cmake_path(GET rows_file PARENT_PATH settings_folder)
set(top_networks)
foreach(network IN LISTS networks)
  if(IS_DIRECTORY "${settings_folder}/../../${network}")
    list(APPEND top_networks ${network})
  endif()
endforeach()

# ---- The table ------------------------------------------------------------
# "public" is include/: the headers that an outsider can use.
set(network_needs base status settings transport protocol)
set(below_runtime base status settings protocol transport self shm ${networks} gmm gma agent)

set(ALLOW_public)
set(ALLOW_base)
set(ALLOW_status base)
set(ALLOW_settings base status)
set(ALLOW_protocol base status settings)
set(ALLOW_transport base status settings protocol)
foreach(network self shm ${networks})
  set(ALLOW_${network} ${network_needs})
endforeach()
set(ALLOW_gmm base status protocol transport)
set(ALLOW_gma base status protocol transport gmm public)
set(ALLOW_agent base status protocol transport gmm)
set(ALLOW_runtime ${below_runtime} public)
# middle: the list of its modules, which acp_init adds.
set(ALLOW_api ${below_runtime} runtime middle public)
# Clients of the public interface, as any program is. The middle layer is built
# into libacp and so may use base/ as well, which knows nothing of ACP.
set(ALLOW_middle base public)
# inbox: short messages between ranks, for qmp and compat.
set(ALLOW_inbox public)
set(ALLOW_qmp public inbox)
set(ALLOW_hmpi public)
set(ALLOW_compat public inbox)
set(ALLOW_fortran public)
set(ALLOW_python public)
set(ALLOW_examples public)
# Programs of ours beside the library.
set(ALLOW_launcher base status settings protocol public)
# gmm: acp_info takes addresses apart. api: acp_info --job asks for facts that are
# no business of programs. hmpi: acp_info shows the table of its settings.
set(ALLOW_tools base status settings protocol transport gmm api hmpi public)

set(LAYERS public base status settings protocol transport self shm ${networks} gmm gma agent
  runtime api middle inbox qmp hmpi compat fortran python examples launcher tools)

# Foreign headers that only some files may include: a name for the message, the
# headers, the files.
set(FOREIGN rdma ucx pmix ipsec_mb curses sockets)
set(FOREIGN_rdma_HEADERS "^(infiniband|rdma)/")
set(FOREIGN_rdma_FILES "^(verbs/|tools/acp_perf/rdma_(library|loop)\\.|tools/acp_info/rdma_limits\\.)")
set(FOREIGN_ucx_HEADERS "^(ucp|ucs|uct)/")
set(FOREIGN_ucx_FILES "^(src/transport/ucx/|tools/acp_perf/ucp_|tools/acp_info/probe_ucx\\.)")
set(FOREIGN_pmix_HEADERS "^pmix")
set(FOREIGN_pmix_FILES "^src/runtime/pmix/")
set(FOREIGN_ipsec_mb_HEADERS "^intel-ipsec-mb\\.h")
set(FOREIGN_ipsec_mb_FILES "^udp/ipsec_mb/")
set(FOREIGN_curses_HEADERS "^n?curses")
set(FOREIGN_curses_FILES "^tools/acp_top/screen\\.")
set(FOREIGN_sockets_HEADERS "^(sys/socket\\.h|sys/un\\.h|netinet/|arpa/|netdb\\.h)")
list(JOIN top_networks "/|" may_have_sockets)
set(FOREIGN_sockets_FILES
  "^(${may_have_sockets}/|src/base/(send_descriptors|stderr_try)\\.|src/protocol/(peer_user|view_socket)\\.|src/transport/(shm/|(socket_)?address\\.|interfaces\\.)|src/runtime/(bootstrap|host_connection|leader_listener|pmi_connection)|launcher/|tools/)")

# Headers with long compile times. A list has a name, the headers, a light header
# among them, the files that may include the list, and a remedy for the message.
# Our headers carry their includes into many files, so most lists are for .cc
# files only.
set(HEAVY fmt json regex cli hwloc catch streams random)
set(HEAVY_fmt_HEADERS "^fmt/")
set(HEAVY_fmt_LIGHT "fmt/core.h")
set(HEAVY_fmt_FILES "^src/base/clang_fmt\\.cc$")
set(HEAVY_fmt_INSTEAD "<fmt/core.h> has format and print, base/join_texts.h joins")
set(HEAVY_json_HEADERS "^nlohmann/")
set(HEAVY_json_LIGHT "nlohmann/json_fwd.hpp")
set(HEAVY_json_FILES "^tools/acp_info/(main|json|job|job_report)\\.cc$"
  "^tools/acp_perf/(compare|report)\\.cc$"
  "^tools/acp_top/json\\.cc$"
  "^launcher/report_json\\.cc$"
  "^tests/multiproc/(counted_traffic|counters_test|statistics_test)\\.cc$"
  "^tests/tools/(info|perf_compare|perf_report|top_json)_test\\.cc$")
set(HEAVY_json_INSTEAD "headers include <nlohmann/json_fwd.hpp>")
set(HEAVY_regex_HEADERS "^regex$")
set(HEAVY_regex_FILES "^tools/acp_perf/options\\.cc$" "^tests/launcher/hosts_jobs_test\\.cc$")
set(HEAVY_regex_INSTEAD "search text with std::string_view")
set(HEAVY_cli_HEADERS "^CLI/")
set(HEAVY_cli_FILES "^tools/(acp_info/main|acp_perf/options|acp_top/main)\\.cc$")
set(HEAVY_cli_INSTEAD "one file of a program parses its options")
set(HEAVY_hwloc_HEADERS "^hwloc")
set(HEAVY_hwloc_FILES "^launcher/binding\\.cc$")
set(HEAVY_hwloc_INSTEAD "launcher/binding.h asks hwloc")
set(HEAVY_catch_HEADERS "^catch2/")
set(HEAVY_catch_FILES "^tests/")
set(HEAVY_catch_INSTEAD "Catch2 is for tests")
set(HEAVY_streams_HEADERS "^(filesystem|fstream|iostream|iomanip|sstream|future|ranges)$")
set(HEAVY_streams_FILES "\\.cc$" "^include/scu/sysfunc\\.h$" "^tests/(support/spmd|rdma-vm/not_ready|hmpi/mpi/check)\\.h$")
set(HEAVY_streams_INSTEAD "include it in the .cc file")
set(HEAVY_random_HEADERS "^(random|condition_variable)$")
set(HEAVY_random_FILES "\\.cc$" "^launcher/(daemon_connections|retry_pauses)\\.h$"
  "^src/runtime/(host_watch|pmi_connection)\\.h$"
  "^tests/(support/spmd|hosts/forger|rdma-vm/(pair|held_writes)|hmpi/mpi/random_schedule)\\.h$")
set(HEAVY_random_INSTEAD "include it in the .cc file")

# ---- Names ----------------------------------------------------------------

# The layer a file belongs to, from its path in the tree.
function(layer_of_file path out)
  if(path MATCHES "^src/transport/([a-z0-9_]+)/" AND CMAKE_MATCH_1 IN_LIST LAYERS)
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
  if(name MATCHES "^transport/([a-z0-9_]+)/" AND CMAKE_MATCH_1 IN_LIST LAYERS)
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

# A header with a long compile time: the list of files.
function(check_heavy file name)
  foreach(heavy IN LISTS HEAVY)
    if(NOT name MATCHES "${HEAVY_${heavy}_HEADERS}" OR name STREQUAL "${HEAVY_${heavy}_LIGHT}")
      continue()
    endif()
    set(may FALSE)
    foreach(pattern IN LISTS HEAVY_${heavy}_FILES)
      if(file MATCHES "${pattern}")
        set(may TRUE)
      endif()
    endforeach()
    if(NOT may)
      string(CONCAT text "${file}: <${name}> takes long to compile: "
        "${HEAVY_${heavy}_INSTEAD}, or name the file in HEAVY_${heavy}_FILES")
      refuse("${text}")
    endif()
  endforeach()
endfunction()

# The include lines of a file.
function(read_includes file out)
  file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  set(${out} "${lines}" PARENT_SCOPE)
endfunction()

# The sources below some folders.
function(list_sources out)
  set(globs)
  foreach(top IN LISTS ARGN)
    foreach(ending h hpp c cc)
      list(APPEND globs "${ROOT}/${top}/*.${ending}")
    endforeach()
  endforeach()
  file(GLOB_RECURSE files RELATIVE "${ROOT}" ${globs})
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

list_sources(files include src ${top_networks} launcher tools docs/examples)
list_sources(tests tests)
set(includes 0)
foreach(file IN LISTS tests)
  read_includes("${file}" lines)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[<\"]([^>\"]+)[>\"]" _ "${line}")
    check_heavy("${file}" "${CMAKE_MATCH_1}")
  endforeach()
endforeach()

foreach(file IN LISTS files)
  layer_of_file("${file}" layer)
  if(NOT layer IN_LIST LAYERS)
    refuse("${file}: folder '${layer}' has no row in the table")
    continue()
  endif()
  read_includes("${file}" lines)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "([<\"])([^>\"]+)[>\"]" _ "${line}")
    set(quote "${CMAKE_MATCH_1}")
    set(name "${CMAKE_MATCH_2}")
    check_own("${file}" "${layer}" "${name}" "${quote}")
    check_foreign("${file}" "${name}")
    check_heavy("${file}" "${name}")
    math(EXPR includes "${includes} + 1")
  endforeach()
endforeach()

list(LENGTH files count)
if(NOT files AND NOT tests)
  message(FATAL_ERROR "no sources below ${ROOT}")
endif()
get_property(broken GLOBAL PROPERTY layers_broken)
if(NOT broken)
  message(STATUS "layers: ${includes} includes in ${count} files keep the table")
endif()
