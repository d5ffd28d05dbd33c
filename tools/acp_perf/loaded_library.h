// Functions of a shared library that acp_perf does not link, so that it works
// on machines without it. The raw rows of the library open it when they run.
#pragma once

#include <dlfcn.h>

namespace acp::perf {

/// Opens a library, which stays loaded; null when the machine has none.
inline void* load_library(const char* name) {
  return ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/// Looks a function up; false when the library lacks it.
template <typename Function>
bool find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace acp::perf
