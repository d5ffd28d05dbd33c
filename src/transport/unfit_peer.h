// The peer whose address card does not fit this process's own. The endpoint to
// it is refused, and the next poll() ends the job. Other ranks may wait for
// what this process cannot send. One part of each transport between hosts.
#pragma once

#include <string_view>

#include "transport/transport.h"

namespace acp::transport {

/// Guarded by the engine's mutex.
class UnfitPeer {
 public:
  /// `network` is the name of the transport.
  explicit UnfitPeer(std::string_view network) noexcept : network_(network) {}

  /// Logs that the peer, which messages call `name`, has no valid address card,
  /// and notes the peer. Returns kProtocol.
  Status refuse_card(ProcId peer, std::string_view name);

  /// Notes the peer. The owner has logged what does not fit. Returns `why`.
  Status refuse(ProcId peer, Status why) noexcept {
    is_found_ = true;
    is_unreported_ = true;
    peer_ = peer;
    return why;
  }

  /// A peer has been refused: the job ends, so no other has to be looked at.
  bool is_found() const noexcept { return is_found_; }

  /// report() has something to do: poll() has to be called.
  bool is_unreported() const noexcept { return is_unreported_; }

  /// Tells the sink, once. Called by poll().
  void report(MessageSink& sink);

 private:
  std::string_view network_;  ///< The name in the report.
  // refuse() writes these fields.
  ProcId peer_ = 0;  ///< The first such peer.
  bool is_found_ = false;
  bool is_unreported_ = false;  ///< report() clears it.
};

}  // namespace acp::transport
