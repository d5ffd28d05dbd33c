// How a network opens: the function that its folder provides, and the settings
// and address cards that this function gets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "protocol/host_segment.h"
#include "protocol/rank_names.h"
#include "settings/settings.h"
#include "status/result.h"
#include "transport/transport.h"

namespace acp::transport {

/// The bytes of every address card that belong to one network. A plain value.
struct CardPart {
  std::size_t offset = 0;
  std::size_t bytes = SIZE_MAX;  ///< At most, up to the end.

  template <typename Byte>
  std::span<Byte> of(std::span<Byte> card) const {
    const auto rest = card.subspan(std::min(offset, card.size()));
    return rest.first(std::min(bytes, rest.size()));
  }
};

/// The parts of the job that a network may use, while it opens and as long as
/// its transport lives.
struct NetworkContext {
  const Settings& settings;
  const protocol::HostSegment& segment;
  ProcId proc = 0;  ///< This process.
  /// Asks the launcher for the address card of a process of another host, and
  /// blocks until it has come (runtime/bootstrap.h).
  std::function<Result<std::span<const std::byte>>(ProcId)> ask_for_card{};
  /// The part of each address card for this network.
  CardPart part{};
  /// The job has another network: this one fails without a message where the
  /// host has no device for it.
  bool is_optional = false;
  /// Whether this process speaks to another one by this network. Empty: to all.
  std::function<bool(ProcId)> reaches{};

  /// How messages to the user name a process.
  std::string name_of(ProcId peer) const {
    return protocol::name_of_proc(segment, peer);
  }

  /// Whether reading the address card of a peer may block.
  bool fetches_cards() const noexcept {
    return segment.header().card_table == protocol::CardTable::kOfHost;
  }

  /// The address card of a process; its bytes are 0 until that process has
  /// opened its own transport. Where the segment lacks it, this blocks for a
  /// round trip to the launcher, and the bytes are valid until the next call.
  /// One thread at a time. kAborted, logged: the job ends.
  Result<std::span<const std::byte>> card_of(ProcId peer) const;

  /// Room for an address card, in bytes.
  std::size_t card_room() const { return part.of(segment.card(proc)).size(); }

  /// Writes this process's address card. The peers read it after the rendezvous
  /// of acp_init. Fails (logged) with kTooLarge when the host segment has not
  /// so much room.
  [[nodiscard]] Status publish_card(std::span<const std::byte> card) const;
};

/// Publishes the address card of a transport that has opened. The transport
/// opens before, because peers may send once they can read the address card.
template <typename Opened>
Result<std::unique_ptr<Transport>> publish(
    const NetworkContext& context, Result<std::unique_ptr<Opened>> opened) {
  if (!opened.ok()) {
    return opened.status();
  }
  if (const Status status = context.publish_card((*opened)->card());
      status != Status::kOk) {
    return status;
  }
  return std::unique_ptr<Transport>(std::move(*opened));
}

/// Opens a network: the transport is bound and its address card is published.
/// Each network's folder defines one function of this type, `open_network`.
/// Errors are logged.
using OpenNetwork =
    Result<std::unique_ptr<Transport>>(const NetworkContext& context);

/// The process for which this rank waits at the moment. A transport asks for it
/// in order to find out early that this process is dead.
struct WaitedFor {
  enum class Whom : std::uint8_t {
    kNobody,
    kPeer,    ///< The wait ends by an act of `peer`.
    kAnybody  ///< Any peer that this process has spoken to may end the wait.
  };

  Whom whom = Whom::kNobody;
  ProcId peer = 0;
};

/// Reads the record of the wait that the process `context.proc` is in. A wait
/// that the launcher ends (acp_reset, acp_finalize) has no peer, because a peer
/// that has left is no error there. Safe from any thread of this process.
WaitedFor waited_for(const NetworkContext& context);

}  // namespace acp::transport
