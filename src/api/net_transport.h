// Which networks this build has.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/settings.h"
#include "protocol/host_segment.h"
#include "transport/transport.h"

namespace acp::api {

/// As runtime::NetTransportFactory: verbs when ACP_NET asks for it, else udp.
Result<std::unique_ptr<transport::Transport>> make_net_transport(
    const Settings& settings,
    const protocol::HostSegment& segment,
    std::uint32_t proc);

}  // namespace acp::api
