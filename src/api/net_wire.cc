#include "api/net_wire.h"

#include "base/log.h"

namespace acp::api {

Result<std::unique_ptr<transport::Transport>> make_net_wire(
    const Settings&, const protocol::HostSegment&, std::uint32_t) {
  log_error("udp is not built in");
  return Status::kUnsupported;
}

}  // namespace acp::api
