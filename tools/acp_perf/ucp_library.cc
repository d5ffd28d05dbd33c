// Opens libucp once. Called by UcpPair.
#include "ucp_library.h"

#include <dlfcn.h>

#include <optional>

namespace acp::perf {

namespace {

/// Looks a function up; false when the library lacks it.
template <typename Function>
bool find(void* file, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(file, name));
  return function != nullptr;
}

std::optional<UcpLibrary> load() {
  void* const file = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) return std::nullopt;
  UcpLibrary library;
#define ACP_UCP_FIND(name) \
  if (!find(file, #name, library.name)) return std::nullopt;
  ACP_UCP_FUNCTIONS(ACP_UCP_FIND)
#undef ACP_UCP_FIND
  return library;
}

}  // namespace

const UcpLibrary* ucp_library() {
  static const std::optional<UcpLibrary> library = load();
  return library ? &*library : nullptr;
}

}  // namespace acp::perf
