// Reports a peer that this process cannot talk to as lost. Called within poll()
// of udp, verbs and ucx, as every loss of a peer is. It reports once, and logs
// nothing: the transport has logged what does not fit.
#include "transport/unfit_peer.h"

#include <fmt/core.h>

#include <utility>

namespace acp::transport {

void UnfitPeer::report(MessageSink& sink) {
  if (std::exchange(is_unreported_, false)) {
    sink.on_peer_failed(
        peer_, fmt::format("it has other settings of {}, as the error message "
                           "before this one says",
                           network_));
  }
}

}  // namespace acp::transport
