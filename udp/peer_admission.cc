// Compares address cards with this process's own settings. Called by
// UdpTransport at the first contact with a peer; sends nothing.
#include "udp/peer_admission.h"

#include <fmt/core.h>

#include "base/log.h"

namespace acp::udp {

/// Loopback is compared before the protection of packets, since a
/// loopback address alone makes packets unprotected.
std::string why_unfit(const AddressCard& peer,
                      std::span<const transport::Address> mine) {
  if (peer.colors != mine.size()) {
    return fmt::format("has {} colors, this one has {}", peer.colors,
                       mine.size());
  }
  for (std::size_t color = 0; color < mine.size(); ++color) {
    const transport::Address& theirs = peer.addresses[color];
    const bool is_alike =
        theirs.family == mine[color].family &&
        transport::is_loopback(theirs) == transport::is_loopback(mine[color]);
    if (!is_alike) {
      return fmt::format(
          "is at {} in color {}, this one at {}: both have to be of one IP "
          "version, and both or none loopback",
          transport::format_address(theirs), color,
          transport::format_address(mine[color]));
    }
  }
  return {};
}

/// Every rank of a job has to have the settings that are compared here alike,
/// so a difference is an error of the user.
Status PeerAdmission::admit(transport::ProcId peer,
                            const Result<AddressCard>& card,
                            std::span<const Address> mine) {
  if (unfit_.is_found()) {
    return Status::kBadOption;  // said before, and the job ends
  }
  if (card.status() == Status::kProtocol) {
    return unfit_.refuse_card(peer, name_of_(peer));
  }
  if (!card.ok()) {
    return card.status();
  }
  if (const std::string why = why_unfit(*card, mine); !why.empty()) {
    log_error(
        "udp: {} {}: set ACP_UDP_INTERFACES alike for all ranks, in acprun's "
        "environment",
        name_of_(peer), why);
    return unfit_.refuse(peer, Status::kBadOption);
  }
  if (card->security != security_) {
    log_error(
        "udp: {} has packets {}, this one has them {}: set ACP_UDP_SECURITY "
        "alike for all ranks",
        name_of_(peer), text_of(card->security), text_of(security_));
    return unfit_.refuse(peer, Status::kBadOption);
  }
  return Status::kOk;
}

}  // namespace acp::udp
