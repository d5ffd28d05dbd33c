// The type _acp.Region. acp/memory.py derives acp.Memory from it, and decides
// what memory is behind a region and how it ends. Only the counting of exported
// buffers is here, since classes of Python 3.11 cannot export any.
#include "python/native/region.h"

#include <structmember.h>

namespace acp::python {

namespace {

PyTypeObject* g_type = nullptr;

Region* region_of(PyObject* object) {
  return reinterpret_cast<Region*>(object);
}

/// The region that a part belongs to, which counts the exports of its parts.
Region* whole(Region* region) {
  while (Region* owner = as_region(region->owner))
    region = owner;
  return region;
}

/// Region(ga, size, pointer, owner=None): pointer is 0 where there is none.
int init(PyObject* self, PyObject* arguments, PyObject* /*keywords*/) {
  unsigned long long ga = 0;
  unsigned long long size = 0;
  unsigned long long pointer = 0;
  PyObject* owner = Py_None;
  if (!PyArg_ParseTuple(arguments, "KKK|O:Region", &ga, &size, &pointer,
                        &owner)) {
    return -1;
  }
  Region* mine = region_of(self);
  mine->ga = ga;
  mine->size = size;
  mine->data = reinterpret_cast<void*>(pointer);  // NOLINT: from Python
  Py_XSETREF(mine->owner, Py_NewRef(owner));
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_CLEAR(region_of(self)->owner);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(region_of(self)->owner);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(region_of(self)->owner);
  return 0;
}

int export_buffer(PyObject* self, Py_buffer* view, int flags) {
  Region* mine = region_of(self);
  view->obj = nullptr;
  if (!is_open(mine)) return -1;
  if (mine->data == nullptr) {
    PyErr_SetString(PyExc_BufferError,
                    "this process cannot reach the memory by a pointer: use "
                    "get() and put()");
    return -1;
  }
  if (PyBuffer_FillInfo(view, self, mine->data,
                        static_cast<Py_ssize_t>(mine->size), 0, flags) != 0) {
    return -1;
  }
  ++whole(mine)->exports;
  return 0;
}

void release_buffer(PyObject* self, Py_buffer* /*view*/) {
  --whole(region_of(self))->exports;
}

/// close(): from now on every use fails. BufferError while buffers are
/// exported.
PyObject* close(PyObject* self, PyObject* /*unused*/) {
  Region* mine = region_of(self);
  if (mine->exports != 0) {
    return PyErr_Format(PyExc_BufferError,
                        "%zd views of this memory exist: delete the arrays and "
                        "memoryviews first",
                        mine->exports);
  }
  mine->is_closed = true;
  Py_RETURN_NONE;
}

PyObject* closed(PyObject* self, void* /*unused*/) {
  return PyBool_FromLong(whole(region_of(self))->is_closed ? 1 : 0);
}

PyObject* is_reachable(PyObject* self, void* /*unused*/) {
  return PyBool_FromLong(region_of(self)->data != nullptr ? 1 : 0);
}

PyObject* pointer(PyObject* self, void* /*unused*/) {
  return PyLong_FromVoidPtr(region_of(self)->data);
}

PyMethodDef g_methods[] = {
    {"close", close, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef g_members[] = {
    {"ga", T_ULONGLONG, offsetof(Region, ga), READONLY, nullptr},
    {"size", T_ULONGLONG, offsetof(Region, size), READONLY, nullptr},
    {"owner", T_OBJECT, offsetof(Region, owner), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef g_properties[] = {
    {"closed", closed, nullptr, nullptr, nullptr},
    {"is_reachable", is_reachable, nullptr, nullptr, nullptr},
    {"pointer", pointer, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot g_slots[] = {
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_methods, g_methods},
    {Py_tp_members, g_members},
    {Py_tp_getset, g_properties},
    {Py_bf_getbuffer, reinterpret_cast<void*>(export_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

PyType_Spec g_spec = {
    "acp._acp.Region", sizeof(Region), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, g_slots};

}  // namespace

bool add_region_type(PyObject* module) {
  g_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&g_spec));
  return g_type != nullptr && PyModule_AddType(module, g_type) == 0;
}

Region* as_region(PyObject* object) {
  return object != nullptr && PyObject_TypeCheck(object, g_type)
             ? region_of(object)
             : nullptr;
}

bool is_open(const Region* region) {
  const Region* const all =
      whole(const_cast<Region*>(region));  // NOLINT: reads
  if (all->is_closed) {
    PyErr_SetString(PyExc_ValueError, "the memory has been freed");
    return false;
  }
  return true;
}

}  // namespace acp::python
