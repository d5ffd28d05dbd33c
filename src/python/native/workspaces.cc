// Workspaces: memory of all ranks together. acp/workspace.py calls these
// functions.
#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

/// Handles of workspaces are numbers in the shape of pointers.
acp_wsd_t workspace_of(std::uint64_t number) {
  return reinterpret_cast<acp_wsd_t>(number);  // NOLINT: see above
}

std::uint64_t create(std::size_t size) {
  return reinterpret_cast<std::uintptr_t>(acp_create_ws(size));
}

void destroy(std::uint64_t workspace) {
  acp_destroy_ws(workspace_of(workspace));
}

int write(std::uint64_t workspace, Bytes bytes, std::size_t offset) {
  return acp_write_ws(workspace_of(workspace), bytes.ga, bytes.size, offset);
}

/// read_ws(workspace, buffer, offset): fills the buffer.
PyObject* read(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* /*keywords*/) {
  Argument<std::uint64_t> workspace;
  Buffer buffer;
  Argument<std::uint64_t> offset;
  if (!workspace.take(arguments[0]) ||
      !buffer.take(arguments[1], PyBUF_WRITABLE) ||
      !offset.take(arguments[2])) {
    return nullptr;
  }
  bool is_good = false;
  {
    const WithoutGil without;
    const CallMemory memory(buffer.data(), buffer.size(),
                            CallMemory::Use::kTarget);
    is_good = memory.ga() != ACP_GA_NULL &&
              acp_read_ws(workspace_of(workspace.value), memory.ga(),
                          buffer.size(), offset.value) == 0;
    if (is_good) memory.deliver();
  }
  if (!is_good) return raise_failure({"acp_read_ws", arguments, count});
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef* workspace_methods() {
  static PyMethodDef methods[] = {
      row<"acp_create_ws", create, Fails::kByErrno>(),
      row<"acp_destroy_ws", destroy, Fails::kByErrno>(),
      row<"acp_setparams_ws", acp_setparams_ws, Fails::kByNonzero>(),
      row<"acp_write_ws", write, Fails::kByNonzero>(),
      row("read_ws", read),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
