// Functions of libraries that a module of ACP has loaded. acp_info calls them
// so, because it links none of these libraries and runs without them.
#pragma once

#include <dlfcn.h>

namespace acp::info {

/// Returns a library that is in this process already, and stays open; null
/// without it.
inline void* loaded_library(const char* name) {
  return ::dlopen(name, RTLD_NOW | RTLD_NOLOAD);
}

/// Finds a function; false without the library or the function.
template <typename Function>
bool find_loaded(void* library, const char* name, Function*& function) {
  function = library == nullptr
                 ? nullptr
                 : reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace acp::info
