// One peer in one color: the endpoint that the engine sends to, and its
// connection. docs/verbs.md has states and rules. Messages are in endpoint.cc,
// the making of the connection in endpoint_connect.cc, attempts that fail in
// endpoint_retry.cc, steps without the peer in endpoint_post.cc, atomics among
// them in endpoint_atomic.cc, and what the two ends say of their memory in
// endpoint_control.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "transport/transport.h"
#include "verbs/control.h"
#include "verbs/device.h"
#include "verbs/hello.h"
#include "verbs/packet.h"
#include "verbs/peer_memory.h"
#include "verbs/regions.h"
#include "verbs/resource.h"
#include "verbs/timers.h"
#include "verbs/word_atomic.h"

namespace acp::verbs {

class Endpoint;

/// Reads and atomics at a time, as rdma_cm has them: those that the other side
/// asks this one to take, and those that it takes from this one.
struct ReadDepths {
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
};

/// Bytes of a step at most, and work requests of steps under way or batch on
/// one connection.
inline constexpr std::size_t kMaxStepBytes = 256 << 10;
inline constexpr std::uint32_t kStepWindow = 64;
/// Atomics of these.
inline constexpr std::size_t kAtomicWindow = 16;

/// What happened, for tests, traces and acp_info.
struct Counters {
  std::uint64_t connected = 0;  ///< Connections made.
  std::uint64_t crossed = 0;    ///< Attempts given up for the other side's.
  std::uint64_t retried = 0;    ///< Attempts made after one that failed.
  std::uint64_t refused = 0;    ///< Requests of strangers.
  std::uint64_t sent = 0;       ///< Packets, each one doorbell.
  std::uint64_t empty = 0;      ///< Of these, with nothing but credit.
  std::uint64_t inlined = 0;    ///< Of these, without a buffer.
  std::uint64_t signalled = 0;  ///< Of these, with a completion.
  std::uint64_t no_credit = 0;  ///< Messages put off: window or queue is full,
  std::uint64_t no_buffer = 0;  ///< or all send buffers are in use.
  std::uint64_t received = 0;   ///< Packets, empty ones included.
  std::uint64_t delivered = 0;  ///< Messages.
  std::uint64_t posted = 0;     ///< Chains without the peer,
  std::uint64_t requests = 0;   ///< their work requests,
  std::uint64_t doorbells = 0;  ///< each one completion,
  std::uint64_t done = 0;       ///< and chains that are done.
  std::uint64_t atomics = 0;    ///< Work requests that were atomics,
  std::uint64_t repeated = 0;   ///< of them those of a loop after its first.
  std::uint64_t wanted = 0;     ///< Windows asked for,
  std::uint64_t told = 0;       ///< and told of.
  std::uint64_t revoked = 0;    ///< Regions that a peer was to drop.
};

/// What the endpoints of a transport share. The transport owns it.
struct SharedState {
  transport::ProcId me;
  JobId job;
  rdma_event_channel& channel;
  Regions& regions;
  bool executes_atomics = false;  ///< Atomics of 8 bytes are the devices'.
  Timers timers{};
  Counters counters{};
  std::uint32_t connecting = 0;  ///< Links whose connection is being made.
  /// Links that will try again, at the times that they say. Has room for all.
  std::vector<Endpoint*> backing_off{};
  std::minstd_rand random{};          ///< Seeded by job and process.
  std::vector<Endpoint*> to_flush{};  ///< To be looked at by the next flush.
  std::vector<Endpoint*> failed{};    ///< To be reported.
};

/// How far a connection is.
enum class EndpointState : std::uint8_t {
  kIdle,        ///< None, never used.
  kAwaited,     ///< None; the peer's is on its way.
  kBackingOff,  ///< None; my last attempt has failed, and another will follow.
  kResolving,   ///< Mine: address and route.
  kConnecting,  ///< Mine: the peer has been asked.
  kAccepting,   ///< The peer's; it may not know yet that I have accepted.
  kReady,
  kGone,  ///< The peer's end of it is no more.
  kFailed,
};

/// One thread at a time.
class Endpoint final : public transport::Endpoint {
 public:
  Endpoint(SharedState& shared,
           Device& device,
           transport::ProcId peer,
           const ListenAddress& listen_address);
  ~Endpoint() override;

  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override;

  Status post(std::span<const transport::RemoteStep> steps,
              std::uint64_t token) override;

  /// Sends the open packet, the credit that is due, and what was posted.
  /// False: no room, call again.
  bool flush();
  /// The same, but steps wait for batching while others are under way.
  bool flush_idle();

  /// A packet of the peer has arrived.
  void on_packet(std::uint32_t consumed,
                 std::span<const std::byte> packet,
                 transport::MessageSink& sink);
  /// The buffer of a packet with messages is with the device again.
  void on_consumed();
  /// All work requests before this one have completed well, and this one too
  /// or not. True when this one was a part of a step.
  bool on_sent(std::uint32_t number,
               bool is_good,
               transport::MessageSink& sink);
  /// A work request has failed.
  void on_error(std::string_view what, const ibv_wc& completion);

  /// Asks the peer to drop what it was told of the region, and to say so.
  void revoke(const transport::Region& region);
  /// acp_reset: what the two ends know of each other's memory is void.
  void forget_regions() noexcept;

  /// A request of this endpoint's peer; `id` is the connection that it would
  /// be.
  void on_request(CmId id, ReadDepths asked);
  /// Any other event of the connection. `data` is private data of a rejection,
  /// `status` the event's.
  void on_event(rdma_cm_event_type event,
                int status,
                std::span<const std::byte> data);

  /// When the next attempt to connect is due. Only while backing off.
  TimePoint retry_at() const noexcept { return retry_at_; }

  /// Makes that attempt.
  void retry();

  /// Nothing goes to or comes from the peer any more; reported once.
  void fail(std::string_view why);
  /// The same, without a report: another endpoint of the peer has failed.
  void abandon();

  transport::ProcId peer() const noexcept { return peer_; }

  EndpointState state() const noexcept { return state_; }

  /// Why it has failed, for people.
  const std::string& failure() const noexcept { return failure_; }

 private:
  /// A work request under way: a packet's buffer, or a part of a step.
  struct WorkRequest {
    Buffer* buffer = nullptr;
    MyRegion* mine = nullptr;      ///< In use by it; null: none.
    PeerWindow* theirs = nullptr;  ///< In use by it; null: no step.
    std::uint64_t token = 0;
    bool ends_chain = false;
    std::uint64_t operand = 0;     ///< Of a put8, until it is posted.
    WordAtomic* atomic = nullptr;  ///< Null: no atomic.
    RegisteredWord word{};         ///< A put8's value, unless it went inline.
  };

  static constexpr std::size_t kBatch = 16;

  /// What a connection needs besides; made with it.
  struct SendQueue {
    std::array<WorkRequest, kSendQueue> outstanding{};
    /// Work requests that are not posted yet: a batch, and the next rounds of
    /// loops, which have to find room while completions are looked at.
    std::array<ibv_send_wr, kBatch + kAtomicWindow> requests{};
    std::array<ibv_sge, kBatch + kAtomicWindow> sges{};
    std::array<WorkRequest, kBatch + kAtomicWindow> batch{};
    std::size_t batched = 0;
    std::array<WordAtomic, kAtomicWindow> atomics{};
    std::size_t atomics_used = 0;
    /// The last word that an atomic was done on, as it left it.
    std::uint64_t last_address = 0;
    std::uint64_t last_value = 0;
  };

  struct Plan;

  /// What can be done with a step.
  enum class Feasible : std::uint8_t {
    kNow,
    kLater,  ///< When the peer has told, or has nothing under way there.
    kNever,  ///< Not by the devices, or not in this flight.
  };

  Status send_before_ready();
  Status append(std::span<const std::span<const std::byte>> parts, Row row);
  bool flush(bool is_idle);
  bool flush_parts(bool is_idle);
  std::uint32_t send_queue_used() const noexcept;
  WorkRequest& next_work_request() noexcept;
  bool has_send_room(std::size_t steps) const noexcept;
  bool may_open_packet() const noexcept;
  bool has_steps() const noexcept;
  bool can_devices_do(
      std::span<const transport::RemoteStep> steps) const noexcept;
  Feasible plan_step(const transport::RemoteStep& step, Plan& plan);
  Feasible find_window(const transport::RemoteStep& step,
                       std::uint64_t offset,
                       PeerWindow*& theirs);
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
  void ask_for_window(const transport::RemoteStep& step);
  void collect(Plan& plan, std::uint64_t token);
  void post_batch();
  void put_into_word(WorkRequest& work, ibv_sge& piece) noexcept;
  void end_use(WorkRequest& work);
  void free_word(WorkRequest& work) noexcept;
  void drop_steps() noexcept;
  void send_control(const Control& control);
  bool send_controls();
  bool on_control(std::span<const std::byte> bytes);
  void on_want(const Control& want);
  void on_region(const Control& told);
  void on_revoke(const Control& revoke);
  void close_packet();
  void post(Buffer* buffer, std::size_t bytes);
  void queue_for_flush();

  void connect();
  void start_attempt();
  void back_off(std::string_view why);
  void on_attempt_failed(std::string_view why);
  void resolve_route();
  void request();
  void accept(CmId id, ReadDepths asked);
  void become_ready();
  void on_peer_gone(std::string_view why);
  bool launcher_had_time() const noexcept;
  void on_rejected(int status, std::span<const std::byte> data);
  void drop_attempt() noexcept;
  void set_state(EndpointState state) noexcept;
  std::string describe() const;

  SharedState& shared_;
  Device& device_;
  transport::ProcId peer_;
  EndpointState state_ = EndpointState::kIdle;
  bool is_queued_for_flush_ = false;
  ListenAddress listen_address_;
  CmId id_;

  Buffer* open_ = nullptr;  ///< The packet that messages are appended to.
  std::uint32_t open_bytes_ = 0;

  /// Work requests, by number modulo 2^32: [freed_, posted_) are with the
  /// device, described in queue_. next_work_request() counts the first,
  /// on_sent() the second; the difference is never more than kSendQueue.
  std::uint32_t posted_ = 0;
  std::uint32_t freed_ = 0;
  std::uint32_t unsignalled_ = 0;   ///< Since the last signalled one.
  std::uint32_t steps_posted_ = 0;  ///< Of these, parts of steps.
  std::unique_ptr<SendQueue> queue_;

  PeerMemory peer_memory_;
  bool is_asking_ = false;         ///< A kWant is not answered yet.
  bool is_denied_ = false;         ///< The last one was, and nobody knows yet.
  transport::RemoteStep asked_;    ///< What the last one was for.
  std::vector<Control> controls_;  ///< To be told to the peer, in order.

  /// Packets with messages, modulo 2^32.
  std::uint32_t packets_sent_ = 0;
  std::uint32_t peer_consumed_ = 0;  ///< Of those, as the peer said last.
  std::uint32_t consumed_ = 0;       ///< Of the peer's,
  std::uint32_t credit_sent_ = 0;    ///< as I said last.

  std::uint32_t attempts_ = 0;  ///< To connect, so far.
  TimePoint first_attempt_{};
  TimePoint retry_at_{};  ///< kBackingOff.

  TimePoint gone_at_{};   ///< kGone.
  std::string gone_why_;  ///< For people.
  std::string failure_;
};

/// Why what used a device has failed, for people.
inline constexpr std::string_view kDeviceRemoved =
    "the device was removed from this host";

/// Refuses a connection request. Logged at debug level.
void refuse(CmId id, Refusal refusal) noexcept;

}  // namespace acp::verbs
