// Published names: small values that every rank finds by name. acp/names.py
// makes objects of the bytes.
#include <array>

#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"
#include "python/native/waits.h"

namespace acp::python {

namespace {

/// publish(name, value): whether the name is new.
PyObject* publish(PyObject* /*module*/,
                  PyObject* const* arguments,
                  Py_ssize_t count,
                  PyObject* /*keywords*/) {
  const char* name = PyUnicode_AsUTF8(arguments[0]);
  Buffer value;
  if (name == nullptr || !value.take(arguments[1], PyBUF_SIMPLE)) {
    return nullptr;
  }
  int result = -1;
  {
    const WithoutGil without;
    result = acpx_publish(name, value.data(), value.size());
  }
  return result < 0 ? raise_failure({"acpx_publish", arguments, count})
                    : to_python(result == 0);
}

/// lookup(name, timeout): the value, or None when the time is over. A lookup
/// begins with many looks and goes on with fewer, so it gets longer slices than
/// other waits.
PyObject* lookup(PyObject* /*module*/,
                 PyObject* const* arguments,
                 Py_ssize_t count,
                 PyObject* /*keywords*/) {
  constexpr int kSliceMs = 1000;
  const char* name = PyUnicode_AsUTF8(arguments[0]);
  TimeLimit limit(kSliceMs);
  if (name == nullptr || !limit.take(count > 1 ? arguments[1] : nullptr)) {
    return nullptr;
  }
  std::array<char, ACPX_MAX_PUBLISHED> value{};
  std::size_t size = 0;
  const Waited waited = wait_in_slices(limit, [&](int slice_ms) {
    return acpx_lookup(name, value.data(), value.size(), &size, slice_ms);
  });
  switch (waited) {
    case Waited::kDone:
      return PyBytes_FromStringAndSize(value.data(),
                                       static_cast<Py_ssize_t>(size));
    case Waited::kTimedOut: Py_RETURN_NONE;
    case Waited::kFailed: return raise_failure({"acpx_lookup", arguments, 1});
    case Waited::kRaised: break;
  }
  return nullptr;
}

/// unpublish(name): whether it was published.
PyObject* unpublish(PyObject* /*module*/,
                    PyObject* const* arguments,
                    Py_ssize_t count,
                    PyObject* /*keywords*/) {
  const char* name = PyUnicode_AsUTF8(arguments[0]);
  if (name == nullptr) return nullptr;
  int result = -1;
  {
    const WithoutGil without;
    result = acpx_unpublish(name);
  }
  return result < 0 ? raise_failure({"acpx_unpublish", arguments, count})
                    : to_python(result == 0);
}

}  // namespace

PyMethodDef* name_methods() {
  static PyMethodDef methods[] = {
      row("publish", publish),
      row("lookup", lookup),
      row("unpublish", unpublish),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
