// One peer in one color: the endpoint that the engine sends to, and its UCP
// endpoint. docs/ucx.md has states and rules.
//
//   endpoint.cc          messages and arrivals
//   endpoint_connect.cc  making the UCP endpoint, and losing it
//   endpoint_post.cc     posted steps, and their end
//   endpoint_control.cc  control frames: asking for registrations and telling
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/clock.h"
#include "transport/peer_name.h"
#include "transport/transport.h"
#include "transport/ucx/address_card.h"
#include "transport/ucx/fault_note.h"
#include "transport/ucx/packet.h"
#include "transport/ucx/pool.h"
#include "transport/ucx/worker.h"

namespace acp::ucx {

class Endpoint;

/// Largest step in bytes, and calls of post() that may be under way on one
/// endpoint.
inline constexpr std::size_t kMaxStepBytes = 1 << 20;
inline constexpr std::uint32_t kPostWindow = 128;
/// Packets under way on one endpoint.
inline constexpr std::uint32_t kPacketWindow = 32;

/// Counts of a transport, for tests and traces. Written by its endpoints.
struct Counters {
  std::uint64_t connected = 0;   ///< UCP endpoints made.
  std::uint64_t unwatched = 0;   ///< Part of `connected`: error mode NONE.
  std::uint64_t sent = 0;        ///< Packets.
  std::uint64_t received = 0;    ///< Packets.
  std::uint64_t early = 0;       ///< Part of `received`: before others.
  std::uint64_t delivered = 0;   ///< Messages.
  std::uint64_t posted = 0;      ///< Calls of post().
  std::uint64_t operations = 0;  ///< UCX operations of these calls.
  std::uint64_t flushes = 0;     ///< Flushes behind them.
  std::uint64_t done = 0;        ///< Part of `posted`: complete.
  transport::ControlCounts control{};
};

/// A packet that is filled, or that UCX sends. Written by its endpoint.
struct Packet {
  Endpoint* endpoint = nullptr;
  std::size_t bytes = 0;     ///< Used of `memory`, with the packet's header.
  bool has_message = false;  ///< False: control frames alone.
  std::unique_ptr<std::byte[]> memory =
      std::make_unique_for_overwrite<std::byte[]>(kPacketBytes);
};

/// Steps that were posted together. Written by their endpoint.
struct PostedSteps {
  std::uint64_t token = 0;
  std::uint32_t pending = 0;  ///< UCX operations, and a flush behind them.
  bool is_lost = false;       ///< A UCX operation has failed with its peer.
  struct UcxOperation* first = nullptr;
};

/// One UCX operation of posted steps. Written by its endpoint, and `result` by
/// UCX.
struct UcxOperation {
  Endpoint* endpoint = nullptr;
  PostedSteps* posted = nullptr;
  UcxOperation* next = nullptr;  ///< In the list of `posted`.
  PeerRegistration* theirs = nullptr;
  MyRegion* mine = nullptr;    ///< Local region that it uses; or null.
  std::byte* local = nullptr;  ///< Where an atomic's old value goes; or null.
  std::uint64_t operand = 0;   ///< Value of a put8 or an atomic.
  std::uint64_t result = 0;    ///< An atomic's old value.
  std::uint8_t result_bytes = 0;  ///< 0: no atomic.
};

/// A flush behind the steps of several calls of post(). Written by its
/// endpoint.
struct Flush {
  Endpoint* endpoint = nullptr;
  std::vector<PostedSteps*> posted{};
};

/// State shared by the endpoints of a transport, which owns it. Guarded by the
/// engine's mutex. Fields without a writer of their own are written by the
/// transport when it is made.
struct SharedState {
  transport::ProcId me;
  std::uint64_t job;
  Regions& regions;               ///< Changed by endpoints and transport.
  const FaultNote& fault_note;    ///< Told when calls are inside UCX.
  std::string tls;                ///< UCX_TLS of this process.
  bool executes_atomics = false;  ///< ACP_UCX_ATOMICS=device.
  /// The log has the line about mode NONE. Set by Endpoint::say_connected().
  bool has_said_unwatched = false;
  /// The transport is being destroyed: what UCX still reports counts no more.
  /// Set by the destructor of the transport.
  bool is_ending = false;
  /// Where arrivals go; null outside of the transport's poll(), which writes
  /// it.
  transport::MessageSink* sink = nullptr;
  Counters counters{};
  // Endpoints take records and give them back.
  Pool<Packet> packets{};
  Pool<PostedSteps> posted_steps{};
  Pool<UcxOperation> ucx_operations{};
  Pool<Flush> flushes{};
  // Endpoints add to these lists, and the transport removes.
  std::vector<std::uint64_t> done{};  ///< Tokens that are to be reported.
  std::vector<Endpoint*> to_flush{};  ///< Have something that is unsent.
  std::vector<Endpoint*> gone{};      ///< Lost their peer, not yet failed.
  /// Failed, not yet reported: other colors may not be quiet yet.
  std::vector<Endpoint*> failed{};
  transport::NameOf name_of = transport::name_at_launch;
};

/// State of an endpoint. docs/ucx.md, "Endpoints", has the transitions.
enum class EndpointState : std::uint8_t {
  kIdle,    ///< No UCP endpoint, never sent.
  kReady,   ///< Has a UCP endpoint: the only state that sends.
  kGone,    ///< UCX has lost the peer; see on_peer_gone().
  kFailed,  ///< Given up and reported, for good.
};

/// Where the peer of an endpoint is.
enum class PeerLocality : std::uint8_t { kThisHost, kOtherHost };

/// One thread at a time; the engine's mutex sees to that and guards all fields.
class Endpoint final : public transport::Endpoint,
                       public transport::ControlSender {
 public:
  Endpoint(SharedState& shared,
           Worker& worker,
           transport::ProcId peer,
           const AddressCard& card,
           PeerLocality locality);
  ~Endpoint() override;

  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override;

  Status post(std::span<const transport::RemoteStep> steps,
              std::uint64_t token) override;

  void announce(const transport::LocalBytes& bytes) override;

  /// Makes the UCP endpoint, sends the open packet and frames, and flushes
  /// posted steps. False: no room, call again. Not for use inside a callback of
  /// UCX.
  bool flush();
  /// Like flush(), but may keep a flush of steps back while another one is
  /// under way.
  bool flush_idle();

  /// A packet of the peer has arrived. A damaged one counts as the loss of the
  /// peer.
  void on_packet(const PacketHeader& header, std::span<const std::byte> packet);

  /// UCX has lost the peer, or refuses to send to it.
  void on_peer_gone(std::string_view why);
  /// In kGone: fails when something is lost and the launcher had its time.
  void check_gone(TimePoint now);
  /// In kGone: when check_gone() has to be called; max when never.
  TimePoint gone_deadline() const noexcept;

  /// Has flush() called.
  void queue_for_flush() override;

  /// Drops all that the two ends know of each other's memory, for acp_reset.
  void forget_regions() noexcept;

  /// Gives the peer up and queues the endpoint for one report.
  void fail(std::string_view why);
  /// Gives the peer up because another endpoint of it has failed. False: UCX
  /// may still touch memory of this process for the peer. Poll, then call
  /// again.
  bool abandon();
  /// Gives all that belongs to the worker back, which ends next.
  void release() noexcept;

  transport::ProcId peer() const noexcept { return peer_; }

  EndpointState state() const noexcept { return state_; }

  /// Why the endpoint has failed, as text for the user.
  const std::string& failure() const noexcept { return failure_; }

 private:
  struct Plan;

  Status append(FrameKind kind,
                std::span<const std::span<const std::byte>> parts);
  bool send_packet();
  void take_packet(std::span<const std::byte> packet);
  void on_packet_sent(Packet& packet, ucs_status_t status);

  bool flush(bool is_idle);
  bool connect();
  ucs_status_t create();
  ucs_status_t create_in(ucp_err_handling_mode_t mode);
  void say_connected();
  void give_up_connecting(ucs_status_t status);
  void close();
  bool is_quiet() const noexcept;
  void free_closed() noexcept;

  bool can_post(std::span<const transport::RemoteStep> steps) const noexcept;
  bool is_for_device(const transport::RemoteStep& step) const noexcept;
  Feasible plan_step(const transport::RemoteStep& step, Plan& plan);
  void start(const Plan& plan, std::uint64_t token);
  void fence();
  ucs_status_ptr_t start_ucx_operation(const transport::RemoteStep& step,
                                       std::uint64_t done,
                                       std::uint64_t size,
                                       UcxOperation& operation);
  ucs_status_ptr_t start_atomic(const transport::RemoteStep& step,
                                std::uint64_t address,
                                UcxOperation& operation);
  void on_ucx_operation_done(UcxOperation& operation, ucs_status_t status);
  void end_one(PostedSteps& posted, ucs_status_t status);
  void flush_steps();
  void on_flushed(Flush& flush, ucs_status_t status);

  Status append_control(std::span<const std::byte> frame) override;
  bool may_answer() const noexcept override;
  bool has_any_color() const noexcept;
  bool on_control(std::span<const std::byte> bytes);
  std::optional<Rkey> unpack_rkey(std::span<const std::byte> bytes);

  std::string describe() const;

  static void on_packet_sent_callback(void* request,
                                      ucs_status_t status,
                                      void* packet);
  static void on_ucx_operation_callback(void* request,
                                        ucs_status_t status,
                                        void* operation);
  static void on_flushed_callback(void* request,
                                  ucs_status_t status,
                                  void* flush);
  static void on_error_callback(void* endpoint, ucp_ep_h, ucs_status_t status);

  // The engine's mutex guards these fields: callbacks of UCX run only within
  // calls that hold it. The constructor writes the first five.
  SharedState& shared_;
  Worker& worker_;
  transport::ProcId peer_;
  const AddressCard& card_;  ///< The peer's.
  PeerLocality locality_;
  /// Written by connect(), on_peer_gone(), fail() and abandon().
  EndpointState state_ = EndpointState::kIdle;
  /// In SharedState::to_flush. Set by queue_for_flush(), cleared by flush().
  bool is_queued_for_flush_ = false;
  /// `ucp_` notices failures: mode PEER. Written by create_in().
  bool is_watched_ = false;
  /// Made by create_in(); null before, and after close().
  ucp_ep_h ucp_ = nullptr;
  /// Request that closes `ucp_`. Made by close(). free_closed() and release()
  /// free it.
  ucs_status_ptr_t closing_ = nullptr;

  /// Takes frames; null: none does. Opened by append(), and given to UCX by
  /// send_packet(). on_peer_gone() and fail() drop it.
  Packet* open_ = nullptr;
  // Packets under way in UCX. send_packet() counts up, and on_packet_sent()
  // down.
  std::uint32_t packets_ = 0;
  std::uint32_t messages_ = 0;  ///< Part of `packets_`: with messages.
  /// Number of the next packet. Counted by send_packet().
  std::uint32_t next_sent_ = 0;
  // Written by on_packet().
  std::uint32_t next_expected_ = 0;  ///< Number of the peer's next packet.
  /// Packets that came before their turn. They exist because UCX keeps no
  /// order between packets that it sends in different ways.
  std::map<std::uint32_t, std::vector<std::byte>> early_;

  /// Calls of post() that are not complete. start() counts up, and end_one()
  /// down.
  std::uint32_t posts_ = 0;
  /// They wait for the next flush of steps. start() adds; flush_steps() and
  /// on_peer_gone() take all.
  std::vector<PostedSteps*> to_complete_;
  /// Under way. flush_steps() counts up, and on_flushed() down.
  std::uint32_t flushes_ = 0;

  /// Changed by endpoint_control.cc, by steps that begin and end, and by the
  /// loss of the peer.
  ControlFrames controls_;

  // on_peer_gone() writes the first two.
  TimePoint gone_at_{};   ///< In kGone: since when.
  std::string gone_why_;  ///< In kGone: why, as text for the user.
  /// In kGone: a message or a posted step is unsent or lost, or the peer wants
  /// an answer. Set by each function that finds such a thing.
  bool misses_peer_ = false;
  std::string failure_;  ///< Written by fail(); see failure().
};

}  // namespace acp::ucx
