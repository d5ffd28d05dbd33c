// Failures of the library as exceptions of Python.
#pragma once

#include "python/native/object.h"

namespace acp::python {

/// A call as its caller wrote it, for the text of an exception.
struct CallText {
  const char* function;  ///< the name in C
  PyObject* const* arguments;
  Py_ssize_t count;
};

/// Sets the exception for acp_errno of this thread, made by the function that
/// set_error_factory() was given. Returns NULL, so that callers can return it.
PyObject* raise_failure(const CallText& call);

/// `_acp.set_error_factory(make)`: make(code, function, arguments) returns the
/// exception. The package calls it once, when it is imported.
PyObject* set_error_factory(PyObject* module, PyObject* factory);

}  // namespace acp::python
