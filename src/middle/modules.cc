#include "middle/modules.h"

#include <span>

namespace acp::middle {

namespace {

using Add = int (*)(const acpx_module_t*);
/// A part's function that adds its module: 0, or -1.
using AddPart = int (*)(Add);

/// In the order of their start; later ones may use earlier ones.
std::span<const AddPart> parts() {
  return {};
}

}  // namespace

int add_modules(Add add) {
  for (const AddPart add_part : parts()) {
    if (add_part(add) != 0) {
      return -1;
    }
  }
  return 0;
}

}  // namespace acp::middle
