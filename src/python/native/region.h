// _acp.Region: a range of global memory as an object of Python. acp.Memory is
// made of it. Its buffer protocol gives NumPy views without copies.
#pragma once

#include <acp.h>

#include "python/native/object.h"

namespace acp::python {

/// A region keeps its owner alive, and an exported buffer keeps the region. So
/// a view keeps its memory. A region with exported buffers cannot be closed.
struct Region {
  PyObject head;  // NOLINT: PyObject_HEAD by its own type
  acp_ga_t ga;
  std::size_t size;
  void* data;       ///< NULL where this process cannot load and store the bytes
  PyObject* owner;  ///< another Region of which this is a part, or any object
  Py_ssize_t exports;  ///< buffers of this region and of its parts
  bool is_closed;  ///< is written for the whole region, and not for its parts
};

/// Adds the type to the module; false with an exception.
bool add_region_type(PyObject* module);

/// The region that an object is, or NULL.
Region* as_region(PyObject* object);

/// False, with an exception set, if the region or what it is a part of is
/// closed.
bool is_open(const Region* region);

}  // namespace acp::python
