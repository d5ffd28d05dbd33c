// Whether this process can send packets to a peer and take them from there, by
// the peer's address card. UdpTransport asks before it makes an endpoint.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "status/result.h"
#include "transport/peer_name.h"
#include "transport/transport.h"
#include "transport/unfit_peer.h"
#include "udp/address_card.h"
#include "udp/security.h"

namespace acp::udp {

/// Why the addresses of a peer do not fit `mine`, color by color; "" when they
/// fit. Pure.
std::string why_unfit(const AddressCard& peer, std::span<const Address> mine);

/// Refuses peers. The first one that is refused ends the job, so only this one
/// is logged. Guarded by the engine's mutex.
class PeerAdmission {
 public:
  /// `security` is that of this process.
  PeerAdmission(Security security, transport::NameOf name_of)
      : security_(security), name_of_(std::move(name_of)) {}

  /// `card` is the peer's, or kProtocol when there is no valid one; another
  /// status is returned. `mine` are the addresses of this process, by color.
  /// kProtocol and kBadOption, logged: the peer is refused. kBadOption, not
  /// logged: another one was.
  [[nodiscard]] Status admit(transport::ProcId peer,
                             const Result<AddressCard>& card,
                             std::span<const Address> mine);

  /// report() has something to do: poll() has to be called.
  bool is_unreported() const noexcept { return unfit_.is_unreported(); }

  /// Tells the sink of the refused peer, once. Called by poll().
  void report(transport::MessageSink& sink) { unfit_.report(sink); }

 private:
  const Security security_;
  const transport::NameOf name_of_;
  transport::UnfitPeer unfit_{"udp"};
};

}  // namespace acp::udp
