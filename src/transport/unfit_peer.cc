// Refuses a peer that this process cannot talk to, and reports it as lost.
// Called by udp, verbs and ucx at the first contact, and within poll(), as
// every loss of a peer is reported. report() tells the sink once, and logs
// nothing: the log has what does not fit.
#include "transport/unfit_peer.h"

#include <fmt/core.h>

#include <utility>

#include "base/log.h"

namespace acp::transport {

Status UnfitPeer::refuse_card(ProcId peer, std::string_view name) {
  log_error(
      "{0}: {1} has no valid address card: it has not opened {0}, or its "
      "library is of a different build; give all ranks the same ACP_NET and "
      "the same build of libacp",
      network_, name);
  return refuse(peer, Status::kProtocol);
}

void UnfitPeer::report(MessageSink& sink) {
  if (std::exchange(is_unreported_, false)) {
    sink.on_peer_failed(
        peer_, fmt::format("it has other settings of {}, as the error message "
                           "before this one says",
                           network_));
  }
}

}  // namespace acp::transport
