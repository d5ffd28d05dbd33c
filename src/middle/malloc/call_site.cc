// Walks the stack from an allocation to the program's own line. Called by debug
// mode alone. It knows no heap, and names only public functions.
#include "middle/malloc/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace acp::middle {

namespace {

/// The mapped file that an address belongs to; null: none.
const void* module_of(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

/// The name of the public function at an address, or null. Only public names
/// are known at run time.
const char* function_at(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) == 0 ? nullptr : info.dli_sname;
}

std::string describe(const void* site) {
  Dl_info info{};
  if (::dladdr(site, &info) == 0 || info.dli_fname == nullptr) {
    return fmt::format("{}", site);
  }
  std::string_view file(info.dli_fname);
  file.remove_prefix(file.find_last_of('/') + 1);
  const auto distance =
      static_cast<const char*>(site) - static_cast<const char*>(info.dli_fbase);
  return info.dli_sname == nullptr
             ? fmt::format("{}+{:#x}", file, distance)
             : fmt::format("{}+{:#x} in {}", file, distance, info.dli_sname);
}

}  // namespace

/// Follows the stack from this library's frames to the first frame outside.
std::string describe_call_site(const void* site) {
  static const char anchor = 0;
  const void* library = module_of(&anchor);
  if (module_of(site) != library) {
    return describe(site);
  }
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const void* inside = nullptr;
  for (int i = 0; i < count; ++i) {
    const void* frame = frames[static_cast<std::size_t>(i)];
    if (module_of(frame) == library) {
      inside = frame;
    } else if (inside != nullptr) {
      const char* function = function_at(inside);
      return function == nullptr
                 ? describe(frame)
                 : fmt::format("{} ({})", describe(frame), function);
    }
  }
  // The program is linked with libacp.a: nothing tells library and program
  // apart.
  return describe(site);
}

}  // namespace acp::middle
