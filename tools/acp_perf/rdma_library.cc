// Opens libibverbs once. Called by RdmaLoop. acp_perf does not link the
// library: a machine without it skips the raw RDMA rows.
#include "rdma_library.h"

#include <optional>

#include "loaded_library.h"

namespace acp::perf {

namespace {

std::optional<RdmaLibrary> load() {
  void* const file = load_library("libibverbs.so.1");
  if (file == nullptr) return std::nullopt;
  RdmaLibrary library;
#define ACP_RDMA_FIND(name) \
  if (!find_function(file, #name, library.name)) return std::nullopt;
  ACP_RDMA_FUNCTIONS(ACP_RDMA_FIND)
#undef ACP_RDMA_FIND
  return library;
}

}  // namespace

const RdmaLibrary* rdma_library() {
  static const std::optional<RdmaLibrary> library = load();
  return library ? &*library : nullptr;
}

}  // namespace acp::perf
