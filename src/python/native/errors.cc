// Makes exceptions from acp_errno. Called by every function of the extension
// module whose call of ACP has failed. The texts are in acp/errors.py, because
// a failure may take its time.
#include "python/native/errors.h"

#include <acp.h>

namespace acp::python {

namespace {

/// Guarded by the GIL, as all state of the module.
PyObject* g_factory = nullptr;

}  // namespace

PyObject* raise_failure(const CallText& call) {
  const int code = acp_errno;
  acp_errno = ACPX_OK;  // From here on the exception has it.
  if (g_factory == nullptr) {
    return PyErr_Format(PyExc_RuntimeError, "%s: acp_errno %d", call.function,
                        code);
  }
  const Object arguments(PyTuple_New(call.count));
  if (!arguments) return nullptr;
  for (Py_ssize_t i = 0; i < call.count; ++i) {
    PyObject* argument = call.arguments[i];
    PyTuple_SET_ITEM(arguments.get(), i,
                     Py_NewRef(argument == nullptr ? Py_None : argument));
  }
  const Object error(PyObject_CallFunction(g_factory, "isO", code,
                                           call.function, arguments.get()));
  if (error) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())),
                    error.get());
  }
  return nullptr;
}

PyObject* set_error_factory(PyObject* /*module*/, PyObject* factory) {
  Py_XSETREF(g_factory, Py_NewRef(factory));
  Py_RETURN_NONE;
}

}  // namespace acp::python
