// The functions of chapter 4.8, acp/workspace.h. Programs call them. Each makes
// one call and translates the result, and takes no lock.
#include "acp/workspace.h"
#include "middle/workspace/workspaces.h"

using acp::middle::structure::Site;
using acp::middle::workspace::Way;
using acp::middle::workspace::workspaces;

extern "C" {

acp_wsd_t acp_create_ws(size_t size) {
  Site* site = Site::of_call("acp_create_ws");
  return site == nullptr ? ACP_WSD_NULL : workspaces().create(*site, size);
}

void acp_destroy_ws(acp_wsd_t wsd) {
  if (Site* site = Site::of_call("acp_destroy_ws")) {
    workspaces().destroy(*site, wsd);
  }
}

int acp_read_ws(acp_wsd_t wsd, acp_ga_t ga, size_t size, size_t offset) {
  Site* site = Site::of_call("acp_read_ws");
  return site != nullptr &&
                 workspaces().copy(*site, Way::kRead, wsd, ga, size, offset)
             ? 0
             : 1;
}

int acp_setparams_ws(size_t proc_start, size_t size_default) {
  Site* site = Site::of_call("acp_setparams_ws");
  return site != nullptr &&
                 workspaces().set_parameters(*site, {proc_start, size_default})
             ? 0
             : 1;
}

int acp_write_ws(acp_wsd_t wsd, const acp_ga_t ga, size_t size, size_t offset) {
  Site* site = Site::of_call("acp_write_ws");
  return site != nullptr &&
                 workspaces().copy(*site, Way::kWrite, wsd, ga, size, offset)
             ? 0
             : 1;
}

}  // extern "C"
