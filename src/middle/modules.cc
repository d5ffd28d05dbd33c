// The order in which the modules of this layer start. Called by src/api in
// acp_init, and in a forked child. In the child, leave_job() may take no lock
// and free nothing, because other threads of the parent may have held locks.
#include "middle/modules.h"

#include <array>

#include "middle/channel/channels.h"
#include "middle/malloc/heaps.h"
#include "middle/names/names.h"
#include "middle/structure/site.h"

namespace acp::middle {

int add_modules(int (*add)(const acpx_module_t* module)) {
  // In the order of their start: a later module may use an earlier one.
  constexpr std::array kParts = {
      &Heaps::add_module, &channel::Channels::add_module,
      &structure::Site::add_module, &names::add_module};
  for (const auto add_part : kParts) {
    if (add_part(add) != 0) {
      return -1;
    }
  }
  return 0;
}

void leave_job() noexcept {
  Heaps::leave_job();
  channel::Channels::leave_job();
  structure::Site::leave_job();
}

}  // namespace acp::middle
