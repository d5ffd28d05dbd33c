// One peer in one color: the endpoint that the engine sends to, and its
// connection. docs/verbs.md has states and rules.
//
//   endpoint.cc          messages, completions, failure
//   endpoint_credit.cc   credit and the receive buffers for it
//   endpoint_connect.cc  making and losing the connection
//   endpoint_retry.cc    attempts to connect that fail
//   endpoint_grow.cc     the large queue pair, and the move to it
//   endpoint_plan.cc     whether and how the devices can do steps
//   endpoint_post.cc     posting these steps, and their end
//   endpoint_atomic.cc   atomics among them
//   endpoint_control.cc  control frames: asking for registrations and telling
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "transport/peer_name.h"
#include "transport/registrations/control_frames.h"
#include "transport/transport.h"
#include "verbs/address_card.h"
#include "verbs/credit.h"
#include "verbs/device.h"
#include "verbs/hello.h"
#include "verbs/packet.h"
#include "verbs/registration.h"
#include "verbs/resource.h"
#include "verbs/timers.h"
#include "verbs/word_atomic.h"

namespace acp::verbs {

class Endpoint;

/// How many RDMA reads and atomics may be outstanding, as rdma_cm names them.
/// The first is from the peer to this side, the second from this side to the
/// peer.
struct ReadDepths {
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
};

/// Largest step in bytes, and work requests of steps that may be posted or
/// batched on one connection.
inline constexpr std::size_t kMaxStepBytes = 256 << 10;
inline constexpr std::uint32_t kStepWindow = 64;
/// Atomics among these work requests.
inline constexpr std::size_t kAtomicWindow = 16;

/// An endpoint gives spare credit up after it has sent no message for one to
/// two times this long.
inline constexpr Duration kIdleAfter = std::chrono::seconds(1);

/// Counts of a transport, for tests and traces. Written by its endpoints.
struct Counters {
  std::uint64_t connected = 0;  ///< Connections made.
  std::uint64_t crossed = 0;    ///< Attempts given up for the peer's.
  std::uint64_t retried = 0;    ///< Attempts after a failed one.
  std::uint64_t refused = 0;    ///< Requests of other jobs.
  std::uint64_t grown = 0;      ///< Connections moved to a large queue pair.
  std::uint64_t sent = 0;       ///< Packets.
  std::uint64_t behind = 0;     ///< Part of `sent`: with the doorbell of steps;
                                ///< the others have one each.
  std::uint64_t empty = 0;      ///< Part of `sent`: only credit.
  std::uint64_t inlined = 0;    ///< Part of `sent`: without a buffer.
  std::uint64_t signalled = 0;  ///< Part of `sent`: with a completion.
  std::uint64_t given_up = 0;   ///< Part of `empty`: give credit up.
  std::uint64_t no_credit = 0;  ///< Messages put off: no credit or queue room.
  std::uint64_t no_buffer = 0;  ///< Messages put off: no send buffer.
  std::uint64_t received = 0;   ///< Packets, empty ones included.
  std::uint64_t delivered = 0;  ///< Messages.
  std::uint64_t posted = 0;     ///< Chains given to the device.
  std::uint64_t requests = 0;   ///< Work requests of these chains.
  std::uint64_t joined = 0;     ///< Chains with a message in the same list.
  std::uint64_t proofs = 0;     ///< Reads that prove lists of writes.
  std::uint64_t doorbells = 0;  ///< Doorbells of steps and of proofs.
  std::uint64_t done = 0;       ///< Chains that are complete.
  std::uint64_t atomics = 0;    ///< Work requests that were atomics.
  std::uint64_t repeated = 0;   ///< Atomics repeated by a loop.
  transport::ControlCounts control{};
};

/// State shared by the endpoints of a transport, which owns it. Guarded by the
/// engine's mutex. Fields without a writer of their own are written by the
/// transport when it is made.
struct SharedState {
  transport::ProcId me;
  JobId job;
  rdma_event_channel& channel;
  Regions& regions;               ///< Changed by endpoints and transport.
  bool executes_atomics = false;  ///< ACP_VERBS_ATOMICS=device.
  /// ACP_VERBS_WRITES is not ordered: writes of a connection may reach memory
  /// in any order, also after their acknowledgement and after later messages.
  /// Each list of writes ends with a proof.
  bool proves_writes = false;
  PairSize first_pair = PairSize::kSmall;  ///< VerbsOptions::first_pair.
  Timers timers{};
  std::uint8_t traffic_class = 0;  ///< ACP_VERBS_TRAFFIC_CLASS.
  Counters counters{};
  /// Endpoints that are connecting. Counted by Endpoint::set_state() and
  /// set_growth().
  std::uint32_t connecting = 0;
  // Endpoints add themselves to the four lists, and the transport removes them.
  // Each list has room for all endpoints.
  std::vector<Endpoint*> backing_off{};  ///< Wait for retry_at().
  Jitter jitter{0};  ///< Seeded by job and process. Drawn from by endpoints.
  std::vector<Endpoint*> to_flush{};  ///< Have unsent data or credit.
  std::vector<Endpoint*> failed{};    ///< Failed, not yet reported.
  /// Have more credit than idle ones need. VerbsTransport lets those that are
  /// idle give it up at next_idle_look, which is set while there are some.
  std::vector<Endpoint*> spare{};
  TimePoint next_idle_look{};
  transport::NameOf name_of = transport::name_at_launch;
};

/// State of an endpoint's connection. docs/verbs.md, "Connections", has the
/// transitions.
enum class EndpointState : std::uint8_t {
  kIdle,        ///< No connection, never used.
  kAwaited,     ///< No connection; the peer's request is coming.
  kBackingOff,  ///< No connection; my attempt failed and I retry.
  kResolving,   ///< My attempt: address and route.
  kConnecting,  ///< My attempt: the request is sent.
  kAccepting,   ///< The peer's attempt; I have accepted.
  kReady,       ///< Connected: the only state that sends.
  kGone,        ///< The peer's end has closed; see on_peer_gone().
  kFailed,      ///< Given up and reported, for good.
};

/// How far a connection is on its way to a large queue pair. docs/verbs.md,
/// "Small and large queue pairs", has the transitions.
enum class Growth : std::uint8_t {
  kSmall,       ///< A small queue pair, which is enough so far.
  kResolving,   ///< My attempt: address and route.
  kAsking,      ///< My attempt: the request is sent.
  kAccepted,    ///< The peer's attempt; I have accepted. It moves first.
  kMade,        ///< My attempt: connected. I move first.
  kLastSent,    ///< My last packet on the small queue pair is posted.
  kDraining,    ///< No step is taken any more; I move when all is complete.
  kLarge,       ///< Over the large queue pair, now or from the start.
  kStaysSmall,  ///< The large queue pair cannot be made.
};

/// One thread at a time; the engine's mutex sees to that and guards all fields.
class Endpoint final : public transport::Endpoint,
                       public transport::ControlSender {
 public:
  Endpoint(SharedState& shared,
           Device& device,
           transport::ProcId peer,
           const transport::Address& listen_address,
           Executor atomics);
  ~Endpoint() override;

  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override;

  Status post(std::span<const transport::RemoteStep> steps,
              std::uint64_t token) override;

  Status post_behind(std::span<const transport::RemoteStep> steps,
                     std::uint64_t token) override;

  /// Posts the batch, the steps and the open packet with one doorbell. The
  /// message is the last frame of that packet.
  Status post_then_send(
      std::span<const transport::RemoteStep> steps,
      std::uint64_t token,
      std::span<const std::span<const std::byte>> message) override;

  void announce(const transport::LocalBytes& bytes) override;

  /// Sends the open packet, the credit that is due, and the batch of steps.
  /// False: no room, call again.
  bool flush();
  /// Like flush(), but keeps the batch while other steps are outstanding.
  bool flush_idle();

  /// A packet of the peer has arrived by that queue pair. `credit` is its
  /// immediate data.
  void on_packet(std::uint32_t queue_pair,
                 std::uint32_t credit,
                 std::span<const std::byte> packet,
                 transport::MessageSink& sink);
  /// The receive buffer of a packet with messages is posted again, so its
  /// credit may go back. Precondition: all receives are posted.
  void on_consumed();

  /// Gives spare credit up if nothing was sent since the last call. True: no
  /// spare credit is left, so the endpoint leaves SharedState::spare.
  bool give_up_if_idle();

  /// Work request `number` has completed, with success if `is_good`. All before
  /// it have completed with success. True when it belonged to a step.
  bool on_sent(std::uint32_t number,
               bool is_good,
               transport::MessageSink& sink);
  /// A work request has failed.
  void on_error(std::string_view what, const ibv_wc& completion);

  /// Drops all that the two ends know of each other's memory, for acp_reset.
  void forget_regions() noexcept;

  /// The peer requests a connection; `id` becomes it if accepted.
  void on_request(CmId id, ReadDepths asked, PairKind kind);
  /// Any other event of the connection. `data` is the private data of a
  /// rejection, `status` the status of the event.
  void on_event(const rdma_cm_id& id,
                rdma_cm_event_type event,
                int status,
                std::span<const std::byte> data);

  /// When the next attempt to connect is due. Precondition: backing off.
  TimePoint retry_at() const noexcept { return retry_at_; }

  /// Makes the next attempt. Precondition: backing off.
  void retry();

  /// Gives the peer up and queues the endpoint for one report.
  void fail(std::string_view why);
  /// Gives the peer up without a report: another endpoint of it has failed.
  void abandon();

  transport::ProcId peer() const noexcept { return peer_; }

  EndpointState state() const noexcept { return state_; }

  Growth growth() const noexcept { return growth_; }

  /// Why the endpoint has failed, as text for the user.
  const std::string& failure() const noexcept { return failure_; }

 private:
  /// An outstanding or batched work request: a packet, or a part of a step.
  /// Written by the endpoint when it is made and when it completes.
  struct WorkRequest {
    Buffer* buffer = nullptr;
    MyRegion* mine = nullptr;  ///< Local region that it uses; or null.
    PeerRegistration* theirs = nullptr;  ///< Null: no step.
    std::uint64_t token = 0;
    bool ends_chain = false;       ///< Its completion reports `token`.
    std::uint64_t operand = 0;     ///< Value of a put8 until it is posted.
    WordAtomic* atomic = nullptr;  ///< Null: not an atomic.
    RegisteredWord word{};         ///< Value of a put8 that is not inline.
  };

  static constexpr std::size_t kBatch = 16;

  /// The send queue of a connection, made when it becomes ready and enlarged
  /// when it moves. Written by the endpoint alone.
  struct SendQueue {
    /// Entries of the send queue; a power of 2.
    std::uint32_t entries = 0;
    /// By number modulo `entries`, which is its size.
    std::vector<WorkRequest> outstanding{};

    WorkRequest& at(std::uint32_t number) noexcept {
      return outstanding[number & (entries - 1)];
    }

    /// Precondition: none is outstanding.
    void resize(PairSize size) {
      entries = send_entries(size);
      outstanding.assign(entries, {});
    }

    /// The batch: work requests in [batch_begin, batch_end) that wait for a
    /// doorbell, with their descriptors. The extra kAtomicWindow entries are
    /// for loops, which repeat while completions are handled and must always
    /// find room.
    std::array<ibv_send_wr, kBatch + kAtomicWindow> requests{};
    std::array<ibv_sge, kBatch + kAtomicWindow> sges{};
    std::array<WorkRequest, kBatch + kAtomicWindow> batch{};
    std::size_t batch_begin = 0;
    std::size_t batch_end = 0;
    /// Proofs that the batch needs at most: one for each run of writes in it.
    /// They have their entries of the send queue. 0 unless writes are proved.
    std::size_t proofs = 0;
    std::array<WordAtomic, kAtomicWindow> atomics{};
    std::size_t atomics_used = 0;
    /// Address of the last word that an atomic changed, and its value then.
    std::uint64_t last_address = 0;
    std::uint64_t last_value = 0;

    std::size_t batched() const noexcept { return batch_end - batch_begin; }
  };

  struct Plan;

  /// The work requests that share the doorbell of a packet.
  enum class InFront : std::uint8_t { kNothing, kBatch };

  Status send_before_ready();
  Status append(std::span<const std::span<const std::byte>> parts,
                FrameKind kind);
  bool flush(bool is_idle);
  bool flush_parts(bool is_idle);
  std::uint32_t send_queue_used() const noexcept;

  /// Entries of the send queue, a power of 2. Precondition: ready.
  std::uint32_t send_queue_entries() const noexcept { return queue_->entries; }

  std::uint32_t usable_entries() const noexcept;
  PairSize pair_size() const noexcept;
  PairKind first_pair() const noexcept;
  bool may_send_packets() const noexcept;
  WorkRequest& next_work_request() noexcept;
  bool has_send_room(std::size_t steps) const noexcept;
  bool may_open_packet() const noexcept;
  Status post_planned(std::span<const transport::RemoteStep> steps,
                      std::uint64_t token,
                      Plan& plan);
  bool has_steps() const noexcept;
  bool misses_peer() const noexcept;
  bool has_read() const noexcept;
  bool may_follow_atomics(
      std::span<const transport::RemoteStep> steps) const noexcept;
  bool can_device_do_atomic(const transport::RemoteStep& step,
                            std::size_t steps) const noexcept;
  bool can_devices_do(
      std::span<const transport::RemoteStep> steps) const noexcept;
  Feasible plan_steps(std::span<const transport::RemoteStep> steps, Plan& plan);
  Feasible plan_step(const transport::RemoteStep& step, Plan& plan);
  bool has_room_for(const Plan& plan, std::size_t packets) noexcept;
  bool stays_too_small_for(const Plan& plan,
                           std::size_t packets) const noexcept;
  bool has_atomic_room(std::size_t atomics, std::size_t words) const noexcept;
  WordAtomic& begin_atomic(const transport::RemoteStep& step,
                           std::uint64_t address,
                           std::uint32_t rkey);
  void fill_atomic(const WordAtomic& atomic,
                   ibv_send_wr& request,
                   ibv_sge& piece) noexcept;
  bool end_atomic(WorkRequest& work);
  void repeat_atomic(WorkRequest& work);
  void free_atomic(WorkRequest& work) noexcept;
  void collect(Plan& plan, std::uint64_t token);
  bool ends_with_new_run() const noexcept;
  bool has_unacknowledged_write() const noexcept;
  std::size_t postable() const noexcept;
  bool is_held() const noexcept;
  void post_batch();
  void post_proved(std::size_t count);
  void post_list(ibv_send_wr& first, std::size_t count);
  ibv_send_wr* take_batch(std::size_t count, ibv_send_wr* behind);
  void put_into_word(WorkRequest& work, ibv_sge& piece) noexcept;
  void end_use(WorkRequest& work);
  void free_word(WorkRequest& work) noexcept;
  void drop_steps() noexcept;
  Status append_control(std::span<const std::byte> frame) override;
  bool may_answer() const noexcept override;
  bool has_any_color() const noexcept;
  bool on_control(std::span<const std::byte> bytes);
  void close_packet(InFront in_front = InFront::kNothing);
  void post(Buffer* buffer,
            std::size_t bytes,
            InFront in_front,
            std::uint32_t credit);
  bool take_credit(std::uint32_t credit, Load load);
  bool return_credit();
  void queue_for_flush() override;

  void connect();
  void start_attempt();
  std::string make_id(CmId& id);
  std::string resolve_route(rdma_cm_id& id);
  std::string request(rdma_cm_id& id, PairKind kind);
  std::string accept(rdma_cm_id& id, ReadDepths asked, PairSize size);
  void back_off(std::string_view why);
  void on_attempt_failed(std::string_view why);
  void accept_first(CmId id, ReadDepths asked);
  bool set_not_ready_timer(ibv_qp& pair) const;
  void become_ready();

  void want_growth();
  void on_growth_request(CmId id, ReadDepths asked);
  void on_growth_event(rdma_cm_event_type event,
                       int status,
                       std::span<const std::byte> data);
  void on_growth_failed(std::string_view why, bool is_final);
  bool take_move(std::uint32_t queue_pair, std::uint32_t credit);
  bool owes_last_packet() const noexcept;
  void continue_growth();
  void move();
  void drop_large() noexcept;
  void close_small() noexcept;
  void end_growth() noexcept;
  void set_growth(Growth growth) noexcept;
  void on_peer_gone(std::string_view why);
  bool launcher_had_time() const noexcept;
  void on_rejected(int status, std::span<const std::byte> data);
  void drop_attempt() noexcept;
  void set_state(EndpointState state) noexcept;
  std::string describe() const;

  // The engine's mutex guards all fields. Only functions of this class write
  // them.

  SharedState& shared_;
  Device& device_;
  transport::ProcId peer_;
  EndpointState state_ = EndpointState::kIdle;  ///< Written by set_state().
  /// In the transport's list for flush(). queue_for_flush() sets it, and
  /// flush() clears it.
  bool is_queued_for_flush_ = false;
  /// In SharedState::spare. take_credit() sets it, and give_up_if_idle() clears
  /// it.
  bool is_spare_ = false;
  /// Frames were sent since the last give_up_if_idle(). close_packet() sets it.
  bool has_sent_ = false;
  /// The executor of this process's atomics on the peer's memory.
  const Executor atomics_;
  transport::Address listen_address_;  ///< The peer's, from its address card.
  /// The connection, or the attempt; null in between. Written by
  /// endpoint_connect.cc, and by move().
  CmId id_;

  // The growth to a large queue pair. endpoint_grow.cc writes these fields.
  Growth growth_ = Growth::kLarge;  ///< Written by set_growth().
  CmId
      large_;  ///< From kResolving to kDraining: the queue pair, or an attempt.
  /// The small queue pair from the move until the peer has moved, too.
  CmId small_;
  bool moves_first_ = false;     ///< From kMade on: this end's attempt.
  bool has_read_last_ = false;   ///< Read its last packet on the small one.
  bool has_peer_moved_ = false;  ///< Read its first packet on the large one.
  std::uint32_t grow_attempts_ = 0;  ///< Attempts to grow.
  TimePoint grow_at_{};              ///< No attempt to grow begins before.

  /// Packet that takes messages; or null. append() opens it. close_packet() and
  /// abandon() end it.
  Buffer* open_ = nullptr;
  std::uint32_t open_bytes_ = 0;  ///< Written with open_, and by append().

  /// Numbers of work requests, modulo 2^32. Invariants:
  /// 1. [freed_, posted_) are with the device and described in
  ///    queue_->outstanding; posted_ - freed_ <= send_queue_entries().
  /// 2. Only next_work_request() advances posted_, and only on_sent() advances
  ///    freed_.
  /// 3. Packets and steps use at most usable_entries() of them, so that empty
  ///    packets, which return credit, always find room.
  std::uint32_t posted_ = 0;
  std::uint32_t freed_ = 0;
  /// Number behind the last write or send that was posted. Written where these
  /// are posted; only rxe needs it.
  std::uint32_t writes_end_ = 0;
  /// Number behind the last get's last read. Written where that is posted.
  std::uint32_t reads_end_ = 0;
  /// Sends since the last signalled one. Written by post() of a packet and by
  /// post_list().
  std::uint32_t unsignalled_ = 0;
  /// Outstanding ones of steps. endpoint_post.cc counts them.
  std::uint32_t steps_posted_ = 0;
  /// A step was flushed, so its chain never ends. Set by on_sent(), for good.
  bool has_lost_step_ = false;
  std::unique_ptr<SendQueue> queue_;  ///< Made by become_ready().

  /// Changed by endpoint_control.cc, plan_step(), end_use() and drop_steps().
  ControlFrames controls_;

  /// Credit of both directions. Changed where packets are sent and read.
  Credit credit_;

  // Attempts to connect. endpoint_retry.cc writes the times, and
  // start_attempt() counts.
  std::uint32_t attempts_ = 0;  ///< Attempts to connect.
  TimePoint first_attempt_{};   ///< The time of the first.
  TimePoint retry_at_{};        ///< In kBackingOff: the next attempt.

  // The end of the connection. on_peer_gone() writes the first two.
  TimePoint gone_at_{};   ///< In kGone: since when.
  std::string gone_why_;  ///< In kGone: why, as text for the user.
  std::string failure_;   ///< Written by fail(); see failure().
};

/// Why an endpoint of a removed device has failed, as text for the user.
inline constexpr std::string_view kDeviceRemoved =
    "the device was removed from this host";

/// Refuses a connection request. Logged at debug level.
void refuse(CmId id, Refusal refusal) noexcept;
void reject(rdma_cm_id& id, Refusal refusal) noexcept;

}  // namespace acp::verbs
