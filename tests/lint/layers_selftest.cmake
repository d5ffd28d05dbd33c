# Proves that lint.layers sees bad includes: small trees with one include each,
# some of which it has to refuse by name.
#
#   cmake -DLINT=check_layers.cmake -DWORK=<scratch folder> -P this file
cmake_minimum_required(VERSION 3.25)

set(failed 0)

# Writes `line` into `file` of an otherwise empty tree and runs the lint.
function(lint_one file line out_code out_text)
  file(REMOVE_RECURSE "${WORK}")
  file(WRITE "${WORK}/${file}" "// A file.\n${line}\n")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${LINT}
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  set(${out_code} "${code}" PARENT_SCOPE)
  set(${out_text} "${text}" PARENT_SCOPE)
endfunction()

function(refused file line reason)
  lint_one("${file}" "${line}" code text)
  string(FIND "${text}" "${reason}" where)
  if(code EQUAL 0 OR where EQUAL -1)
    message(SEND_ERROR "${file} with ${line} was not refused with "
      "'${reason}', the lint said: ${text}")
  endif()
endfunction()

function(accepted file line)
  lint_one("${file}" "${line}" code text)
  if(NOT code EQUAL 0)
    message(SEND_ERROR "${file} with ${line} was refused: ${text}")
  endif()
endfunction()

# Upwards and sideways.
refused(src/base/log.cc "#include \"transport/transport.h\""
  "layer 'base' may not include 'transport'")
refused(src/base/thread.cc "#include \"status/result.h\""
  "layer 'base' may not include 'status'")
refused(src/gma/engine.cc "#include \"transport/shm/command_ring.h\""
  "layer 'gma' may not include 'shm'")
refused(src/gma/engine.h "#include \"agent/agent.h\""
  "layer 'gma' may not include 'agent'")
refused(src/transport/shm/shm_transport.cc "#include \"udp/socket.h\""
  "layer 'shm' may not include 'udp'")
refused(src/runtime/task.cc "#  include \"api/gma_api.h\""
  "layer 'runtime' may not include 'api'")
refused(udp/deep/stream.cc "#include \"runtime/task.h\""
  "layer 'udp' may not include 'runtime'")

# Clients see the public headers, and themselves; middle sees base as well.
accepted(src/middle/vector/vector.cc "#include \"base/spin_lock.h\"")
refused(src/qmp/half.cc "#include \"base/log.h\""
  "layer 'qmp' may not include 'base'")
refused(src/middle/vector/vector.cc "#include \"settings/settings.h\""
  "layer 'middle' may not include 'settings'")
refused(src/inbox/inbox.cc "#include \"qmp/half.h\""
  "layer 'inbox' may not include 'qmp'")
accepted(src/compat/lqcd/mailbox.h "#include \"inbox/inbox.h\"")
refused(src/middle/malloc/heap.cc "#include \"runtime/modules.h\""
  "layer 'middle' may not include 'runtime'")
refused(src/runtime/task.cc "#include \"middle/modules.h\""
  "layer 'runtime' may not include 'middle'")
refused(docs/examples/gups.c "#include <acp.h>\n#include \"base/clock.h\""
  "layer 'examples' may not include 'base'")
refused(include/acp/gma.h "#include \"status/status.h\""
  "layer 'public' may not include 'status'")
refused(launcher/main.cc "#include \"gmm/key_table.h\""
  "layer 'launcher' may not include 'gmm'")

# Foreign headers.
refused(src/gma/engine.cc "#include <sys/socket.h>" "(sockets) may not be included")
refused(src/runtime/task.cc "#include <netinet/in.h>" "(sockets) may not be included")
refused(udp/wire.cc "#include <infiniband/verbs.h>" "(rdma) may not be included")
refused(verbs/wire.cc "#include <ucp/api/ucp.h>" "(ucx) may not be included")

# Headers that take long to compile, in tests as well.
refused(src/base/status.cc "#include <fmt/format.h>"
  "<fmt/format.h> takes long to compile: <fmt/core.h> has format")
refused(tests/unit/steps_test.cc "#include <fmt/ranges.h>" "takes long to compile")
refused(tests/unit/steps_test.cc "#include <regex>" "takes long to compile")
refused(launcher/plan.h "#include <sstream>" "include it in the .cc file")
refused(tests/support/job.h "#include <random>" "HEAVY_random_FILES")
refused(tools/acp_info/json.h "#include <nlohmann/json.hpp>" "takes long to compile")
refused(udp/crypto.cc "#include <catch2/catch.hpp>" "Catch2 is for tests")
accepted(launcher/plan.cc "#include <sstream>")
accepted(tools/acp_info/json.h "#include <nlohmann/json_fwd.hpp>")
accepted(tools/acp_info/json.cc "#include <nlohmann/json.hpp>")
accepted(tests/unit/steps_test.cc "#include <catch2/catch.hpp>\n#include <random>")
accepted(tests/unit/steps_test.cc "#include \"gma/engine.h\"")

# Paths that would go round the table.
refused(src/middle/a.cc "#include \"../base/log.h\"" "from the include root")
refused(src/middle/a.cc "#include \"src/base/log.h\"" "above the include root")
refused(src/middle/a.cc "#include \"helpers/a.h\"" "in no layer of the table")
refused(src/helpers/a.cc "#include \"base/log.h\"" "has no row in the table")

accepted(src/api/gma_api.cc "#include \"runtime/task.h\"\n#include <acp.h>")
accepted(src/api/infrastructure_api.cc "#include \"middle/modules.h\"")
accepted(src/middle/malloc/heap.cc
  "#include \"acp/extension.h\"\n#include \"middle/malloc/layout.h\"")
accepted(src/runtime/bootstrap_acprun.cc "#include <sys/socket.h>")
accepted(src/middle/map/map.cc "#include <acp/gma.h>")
accepted(src/base/log.cc "#include <sys/types.h>\n#include <fmt/core.h>")
accepted(launcher/main.cc "#include \"protocol/bootstrap.h\"")
file(REMOVE_RECURSE "${WORK}")
