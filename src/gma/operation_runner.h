// Runs operations: picks the way of each step, keeps its flight going, and ends
// the operation. docs/gma.md has the states and ways as tables.
//
//   operation_runner.cc  from step to step, answers, lost peers, the end
//   operation_start.cc   the way of a step and its flight
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gma/endpoints.h"
#include "gma/flight_sender.h"
#include "gma/local_copy.h"
#include "gma/operation.h"
#include "gma/peer_queue.h"
#include "gma/relay.h"
#include "gma/request_table.h"
#include "gmm/address_space.h"
#include "gmm/doorbell.h"

namespace acp::gma {

/// Told when an operation has ended; the operation may be reused then.
class OperationOwner {
 public:
  OperationOwner() = default;
  OperationOwner(const OperationOwner&) = delete;
  OperationOwner& operator=(const OperationOwner&) = delete;
  virtual void on_finished(Operation& operation) = 0;

 protected:
  ~OperationOwner() = default;
};

/// Whether the ends of a step have to be checked before the step is sent.
enum class EndChecks : std::uint8_t {
  kDue,   ///< Memory may have been unregistered since the call.
  kDone,  ///< The call that goes on here has checked them.
};

/// Guarded by the engine's mutex. Each function but the last two may call
/// OperationOwner::on_finished before it returns, which must not call back.
/// docs/gma.md numbers the invariants that comments here refer to.
class OperationRunner {
 public:
  OperationRunner(const gmm::AddressSpace& space,
                  Endpoints& endpoints,
                  gmm::ThreadWaker& waker,
                  OperationOwner& owner);

  /// Begins the operation at its first step. Precondition: no step of it has
  /// run since it was made, or since Operation::begin().
  void start(Operation& operation, EndChecks checks = EndChecks::kDue);

  /// Posts an operation to the endpoint of `queue`, behind all that is posted
  /// there. False: nothing was done. Either one post to this endpoint cannot do
  /// the operation, or the endpoint does not take it now.
  bool post_behind(Operation& operation, PeerQueue& queue);

  /// The queue to whose endpoint all of the operation is posted, if it is one
  /// step and the endpoint takes steps behind it. Null otherwise. Precondition:
  /// the operation is under way or waits.
  PeerQueue* queue_of_posted(const Operation& operation);

  /// Takes a reply; one with an unknown id is dropped.
  void on_reply(std::span<const std::byte> bytes);

  /// Takes a reply that several requests share. Unknown ids are skipped.
  void on_shared_reply(std::span<const std::byte> bytes);

  /// Takes the completion of a post; an unknown id is dropped.
  void on_posted_done(std::uint64_t id);

  /// Sends as much as endpoints have room for, and copies one portion of each
  /// copy that this process does by itself. True when it copied: portions may
  /// be left.
  bool pump();

  /// Fails all operations that have requests or pieces for this process.
  void fail_peer(transport::ProcId proc, Status status);

  /// acp_reset: forgets the queues to peers, since ranks are about to move.
  /// Precondition: no operation is under way.
  void forget_peers();

  bool has_unsent() const noexcept {
    return queues_.has_listed() || !long_copies_.empty() || relay_.has_next();
  }

 private:
  enum class Progress : std::uint8_t { kDone, kPending, kFailed };

  void advance(Operation& operation, EndChecks checks = EndChecks::kDue);
  void finish(Operation& operation);
  void end_relay_part(Operation& part);
  static Progress fail(Operation& operation, Status status);

  Progress run_step(Operation& operation, const Step& step, EndChecks checks);
  Progress do_word(Operation& operation, const Step& step);
  Progress send_word(Operation& operation, const Step& step, EndChecks checks);
  Progress copy_portion(Operation& operation, const Step& copy, Way way);
  Progress send_copy(Operation& operation,
                     const Step& rest,
                     Way way,
                     EndChecks checks);
  std::size_t puts_in_turn(const Operation& operation) const;
  Progress send_bulk(Operation& operation, const Step& bulk);
  Progress send_or_queue(Operation& operation, PeerQueue& queue);
  Progress run_signal(Operation& operation, Rank rank);
  bool is_relayable(const Step& copy);
  bool reaches(GlobalAddress ga);
  std::optional<Step> postable_form(const Step& step) const;
  PeerQueue* ordered_queue_to(const Step& step);

  Progress start_chain(Operation& operation);
  bool runs_here(const Operation& operation) const;
  Progress enqueue(Operation& operation, Rank rank, Color color);

  void send_queue(PeerQueue& queue);
  void close_request(const protocol::ReplyView& reply);
  void settle(Operation& operation, PeerQueue& queue);
  void end_flight(Operation& operation);

  const gmm::AddressSpace& space_;
  Endpoints& endpoints_;
  gmm::ThreadWaker& waker_;
  OperationOwner& owner_;
  // The engine's mutex guards these parts and lists.
  PeerQueues queues_;
  RequestTable requests_;
  FlightSender sender_;
  LocalCopier copier_;
  Relay relay_;
  std::vector<Operation*> long_copies_;  ///< Copies with a portion to do next.
  std::vector<Operation*> turn_;         ///< Copies that pump() is working on.
};

}  // namespace acp::gma
