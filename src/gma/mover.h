// Runs operations: chooses the way for each step, cuts copies into requests,
// places what replies bring.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gma/link.h"
#include "gma/operation.h"
#include "gma/relay.h"
#include "gmm/address_space.h"
#include "gmm/doorbell.h"
#include "protocol/operation.h"

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

/// Guarded by the engine's mutex. start() and the rest may call
/// OperationOwner::on_finished before they return.
class Mover {
 public:
  Mover(const gmm::AddressSpace& space,
        Links& links,
        gmm::ThreadWaker& waker,
        OperationOwner& owner);

  /// Begins the operation at its first step.
  void start(Operation& operation);

  /// A reply has arrived; unknown ids are dropped.
  void on_reply(std::span<const std::byte> bytes);

  /// What was posted as `id` is done; unknown ids are dropped.
  void on_posted_done(std::uint64_t id);

  /// Sends what found a path full, and takes one slice of each copy that this
  /// process does by itself. True when it copied: there may be more.
  bool pump();

  /// Fails everything under way to this peer.
  void fail_peer(transport::ProcId proc, Status status);

  /// acp_reset: forgets the paths, since ranks are about to move.
  /// Precondition: nothing is under way.
  void forget_paths();

  bool has_unsent() const noexcept {
    return !crowded_.empty() || !long_copies_.empty() || relay_.has_next();
  }

 private:
  /// Operations with requests for one peer and color.
  struct Path {
    Link link;
    std::deque<Operation*> unsent;  ///< Those that have pieces to send.
    std::uint64_t reply_bytes = 0;  ///< That replies under way may bring.
    bool is_crowded = false;        ///< In crowded_.
  };

  struct Request {
    Operation* operation = nullptr;  ///< Null: free.
    Path* path = nullptr;
    GlobalAddress local = 0;  ///< Where the result goes, or 0.
    std::uint64_t size = 0;   ///< Of a get; width of an atomic.
    std::uint64_t reply_bytes = 0;
    std::uint32_t generation = 0;
    bool is_posted = false;  ///< The wire answers, not the peer.
    bool is_in_parts = false;
  };
  enum class Progress : std::uint8_t { kDone, kPending, kFailed };

  void advance(Operation& operation);
  Progress run_step(Operation& operation, const Step& step);
  Progress run_copy(Operation& operation, const Step& step);
  Progress copy_slice(Operation& operation,
                      const Step& slice,
                      const gmm::Target& to,
                      const gmm::Target& from);
  Progress send_copy(Operation& operation,
                     const Step& rest,
                     const gmm::Target& to,
                     const gmm::Target& from);
  Progress run_remote(Operation& operation, const Step& step);
  Progress ring(Operation& operation, Rank rank);
  Progress copy_over_bounce(Operation& operation,
                            const Step& slice,
                            const gmm::Target& to,
                            const gmm::Target& from);
  Progress transfer(Operation& operation,
                    transport::Direction direction,
                    std::byte* local,
                    std::uint64_t size,
                    const gmm::Target& peer,
                    Color color);
  Progress enqueue(Operation& operation, Rank rank, Color color);
  Progress enqueue(Operation& operation, Path& path);
  bool fits_one_message(const Operation& operation, const Link& link) const;
  bool runs_here(const Operation& operation) const;
  Progress try_whole(Operation& operation);
  Progress try_whole_by_device(Operation& operation);
  bool is_relayed(const Step& copy,
                  const gmm::Target& to,
                  const gmm::Target& from) const;
  bool reaches(const gmm::Target& target, Color color) const;
  Progress fail(Operation& operation, Status status);
  Result<const std::byte*> source_at(GlobalAddress local,
                                     std::uint64_t size) const;
  void finish(Operation& operation);
  void end_relay_part(Operation& part);

  Path* path_to(Rank rank, Color color, Status& status);
  void pump_path(Path& path);
  Status send_data(Path& path,
                   Operation& operation,
                   std::span<const std::span<const std::byte>> parts,
                   transport::Ordering ordering);
  Status send_next(Path& path, Operation& operation);
  Status send_whole(Path& path, Operation& operation);
  Status send_part(Path& path, Operation& operation);
  Status send_part_of(Path& path,
                      Operation& operation,
                      std::span<const protocol::WireStep> steps,
                      std::span<const std::byte> data,
                      transport::Ordering ordering);
  Status end_parts(Path& path, Operation& operation, Status why);
  bool needs_parts(const Path& path, const Operation& operation) const;
  std::uint64_t part_bytes(const Path& path, const Operation& operation) const;
  std::size_t joinable_steps(const Path& path,
                             const Operation& operation) const;
  Status send_signal(Path& path, Operation& operation);
  bool is_for_device(const Step& step) const;
  bool has_step_for_device(const Operation& operation) const;
  bool has_signal_to_send(const Operation& operation) const;
  Color color_of(const Step& step) const;
  Status post_next(Path& path, Operation& operation);
  Status post_whole(Path& path, Operation& operation);
  Status post(Path& path,
              Operation& operation,
              std::span<const transport::RemoteStep> steps);
  Status remote_step(const Step& step, transport::RemoteStep& remote) const;
  Request* request_of(std::uint64_t id, bool is_posted);
  std::optional<std::uint64_t> open_request(Path& path,
                                            Operation& operation,
                                            GlobalAddress local,
                                            std::uint64_t size,
                                            std::uint64_t reply_bytes);
  void close_request(std::uint64_t id);
  void place(const Request& request,
             const protocol::ReplyView& reply,
             Operation& operation);
  void settle(Operation& operation, Path& path);

  const gmm::AddressSpace& space_;
  Links& links_;
  gmm::ThreadWaker& waker_;
  OperationOwner& owner_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Path>> paths_;
  std::vector<Path*> crowded_;           ///< Paths with unsent pieces.
  std::vector<Operation*> long_copies_;  ///< Their next slice is to be copied.
  std::vector<Operation*> turn_;         ///< Those that pump() is at.
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_requests_;
  std::vector<std::byte> bounce_;
  Relay relay_;
};

/// Whether a word step (put8 or atomic) is done here, and not by its owner's
/// agent, which may be this process's own.
bool is_direct_word(const gmm::AddressSpace& space,
                    const Step& step,
                    const gmm::Target& target);

/// Does one that is.
void run_direct_word(const gmm::AddressSpace& space,
                     gmm::ThreadWaker& waker,
                     const Step& step,
                     std::byte* address);

}  // namespace acp::gma
