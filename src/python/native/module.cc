// The extension module acp._acp: functions of C with arguments of Python. It
// has no state but a factory of exceptions and a type. The modules of the
// package acp beside it make its protocols, and are its only callers.
#include "python/native/errors.h"
#include "python/native/object.h"
#include "python/native/region.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "acp._acp",
                        "The functions of libacp, for the package acp.",
                        -1,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

PyMethodDef g_factory_methods[] = {
    {"set_error_factory", set_error_factory, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* make_module() {
  Object module(PyModule_Create(&g_module));
  if (!module || !add_region_type(module.get())) return nullptr;
  for (PyMethodDef* methods :
       {g_factory_methods, job_methods(), memory_methods(), access_methods(),
        wait_methods(), channel_methods(), sequence_methods(), list_methods(),
        table_methods(), workspace_methods(), name_methods()}) {
    if (PyModule_AddFunctions(module.get(), methods) != 0) return nullptr;
  }
  return module.release();
}

}  // namespace

}  // namespace acp::python

// Python looks for this name. NOLINTNEXTLINE(*-reserved-identifier,*-naming)
PyMODINIT_FUNC PyInit__acp() {
  return acp::python::make_module();
}
