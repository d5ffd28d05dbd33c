// Sends the requests to agents, and the posts, of which a flight consists.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "gma/peer_queue.h"
#include "gma/request_table.h"
#include "gmm/address_space.h"
#include "protocol/operation.h"
#include "transport/transport.h"

namespace acp::gma {

/// Guarded by the engine's mutex. Addresses are looked up again whenever bytes
/// are sent: a region may have been unregistered since the last send.
class FlightSender {
 public:
  FlightSender(const gmm::AddressSpace& space, RequestTable& requests)
      : space_(space), requests_(requests) {}

  /// Sends the next request or post of the operation's flight, which is Pieces,
  /// Parts, Chain or Signal. Writes has_unsent, current and the flight.
  /// kAgain: no room now, nothing has changed. kUnsupported for a Chain: the
  /// chain cannot go as one flight, and nothing was sent. Any other failure
  /// ends the operation.
  Status send(PeerQueue& queue, Operation& operation);

  /// Posts the step of a flight of Pieces, which is at most max_posted bytes,
  /// behind all that was posted to this endpoint. Unlike send(), it never sends
  /// a message. kUnsupported, kAgain, kBadKey: nothing was posted.
  Status post_behind(PeerQueue& queue, Operation& operation) {
    return post_piece(queue, operation, std::get<Pieces>(operation.flight),
                      Turn::kBehindAll);
  }

  /// Whether the request and the reply of a chain fit one message each.
  static bool fits_one_message(const Operation& operation,
                               const PeerEndpoint& to);

  /// Whether a put has to be sent as Parts. A put that is posted goes as Pieces
  /// of max_posted bytes.
  static bool needs_parts(std::uint64_t bytes, const PeerEndpoint& to);

  /// Whether only the owner's device may execute the step.
  bool is_for_device(const Step& step) const;
  bool has_step_for_device(const Operation& operation) const;

  /// The color that leads to the executor of the step. Devices of one rank are
  /// not atomic with each other, so atomics for a device always go to color 0.
  Color color_of(const Step& step) const;

  /// Whether a Signal has to follow the flight, because a device executed a
  /// step with a signal and devices ring no doorbell.
  bool owes_signal(const Operation& operation) const;

 private:
  /// The order of a post and the earlier posts to its endpoint.
  enum class Turn : std::uint8_t { kAny, kBehindAll };

  Status post_or_send_piece(PeerQueue& queue,
                            Operation& operation,
                            Pieces& pieces);
  Status send_piece_message(PeerQueue& queue,
                            Operation& operation,
                            Pieces& pieces);
  std::optional<protocol::RequestHeader> begin_request(const Request& request);
  void cancel_request(const protocol::RequestHeader& header);
  Status send_chain(PeerQueue& queue, Operation& operation, Chain& chain);
  Status send_chain_message(PeerQueue& queue, Operation& operation);
  Status send_signal(PeerQueue& queue, Operation& operation);
  Status send_part(PeerQueue& queue, Operation& operation, Parts& parts);
  Status open_parts(PeerQueue& queue, Operation& operation, Parts& parts);
  std::optional<std::uint64_t> open_words(PeerQueue& queue,
                                          Operation& operation,
                                          std::span<const Step> words);
  Status send_part_message(PeerQueue& queue,
                           Operation& operation,
                           const Parts& parts,
                           std::span<const protocol::StepBytes> steps,
                           std::span<const std::byte> data,
                           bool is_last);
  Status end_parts(PeerQueue& queue, Operation& operation, Parts& parts);
  std::size_t joinable_steps(const PeerQueue& queue,
                             const Operation& operation,
                             std::size_t first,
                             const Step& put) const;
  Status post_piece(PeerQueue& queue,
                    Operation& operation,
                    Pieces& pieces,
                    Turn turn = Turn::kAny);
  Status post_with_words(PeerQueue& queue,
                         Operation& operation,
                         Pieces& pieces);
  Status post_chain(PeerQueue& queue, Operation& operation, Chain& chain);
  Status post_in_front(PeerQueue& queue,
                       Operation& operation,
                       Chain& chain,
                       std::span<const transport::RemoteStep> posted);
  Status post_and_request(PeerQueue& queue,
                          Operation& operation,
                          std::span<const transport::RemoteStep> steps,
                          std::span<const Step> words);
  Status post(PeerQueue& queue,
              Operation& operation,
              std::span<const transport::RemoteStep> steps,
              std::span<const std::span<const std::byte>> message = {},
              Turn turn = Turn::kAny);
  Status remote_step(const Step& step, transport::RemoteStep& remote) const;
  static Status send_data(PeerQueue& queue,
                          Operation& operation,
                          std::span<const std::span<const std::byte>> parts,
                          transport::Ordering ordering);
  Result<const std::byte*> source_at(GlobalAddress local,
                                     std::uint64_t size) const;

  const gmm::AddressSpace& space_;
  RequestTable& requests_;
};

}  // namespace acp::gma
