// Opens libucp once. Called by UcpPair. acp_perf does not link the library: a
// machine without it skips the raw UCP rows.
#include "ucp_library.h"

#include <optional>

#include "loaded_library.h"

namespace acp::perf {

namespace {

std::optional<UcpLibrary> load() {
  void* const file = load_library("libucp.so.0");
  if (file == nullptr) return std::nullopt;
  UcpLibrary library;
#define ACP_UCP_FIND(name) \
  if (!find_function(file, #name, library.name)) return std::nullopt;
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
