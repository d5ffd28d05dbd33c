// Decisions from the settings and the host segment, before a rank opens its
// transports: which networks, how to wait, how many colors.
#pragma once

#include "gma/waiting.h"
#include "gmm/address_space.h"
#include "protocol/host_segment.h"
#include "settings/settings.h"
#include "status/status.h"
#include "transport/transport.h"

namespace acp::runtime {

/// Whether the number of ranks and their memory fit. kTooLarge, kBadOption,
/// logged.
[[nodiscard]] Status check_sizes(const Settings& settings,
                                 const protocol::HostHeader& header);

/// Whether there is a way from rank to rank. kUnsupported, kBadOption, logged.
[[nodiscard]] Status check_net(const Settings& settings);

/// A network is used between hosts, and everywhere when it was asked for.
bool wants_net(const Settings& settings, const protocol::HostHeader& header);

/// How the callers of this rank wait.
gma::WaitPolicy wait_policy(const Settings& settings,
                            const protocol::HostHeader& header);

/// Colors of a job whose ranks need no network: one for each udp address, so
/// that a program sees as many wherever its ranks run.
gmm::Color colors_without_net(const Settings& settings);

/// Which memory this rank loads and stores directly, and which atomics its CPU
/// may do. `net` is null where ranks need no network.
gmm::Reach reach_with(const Settings& settings,
                      const transport::Transport* net);

}  // namespace acp::runtime
