// The functions of the extension module acp._acp, a table for each subject.
// Called by module.cc.
#pragma once

#include "python/native/object.h"

namespace acp::python {

/// Each table ends with a row without a name, and lives as long as the process.
PyMethodDef* job_methods();     ///< start, end, ranks, barrier
PyMethodDef* memory_methods();  ///< registration, heap, addresses
PyMethodDef* access_methods();  ///< copies, atomics, chains
PyMethodDef* wait_methods();    ///< waits with a time limit
PyMethodDef* channel_methods();
PyMethodDef* sequence_methods();  ///< vectors and deques
PyMethodDef* list_methods();
PyMethodDef* table_methods();  ///< sets and maps
PyMethodDef* workspace_methods();
PyMethodDef* name_methods();

}  // namespace acp::python
