// How an Endpoint gets its connection and loses it: attempts, requests of the
// peer, and events of rdma_cm. Called by send(), endpoint_retry.cc and
// VerbsTransport. It may not wait for an answer of the peer: an event of a
// later poll brings it.
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/log.h"
#include "transport/socket_address.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

namespace {

constexpr int kResolveTimeoutMs = 10'000;
/// Status of a rejection by InfiniBand's connection manager: the asked side
/// still knows the queue pair number from a lost connection.
constexpr int kStaleConnection = 10;
/// Retries after "receiver not ready": 7 means without limit.
constexpr std::uint8_t kNotReadyRetries = 7;

bool is_being_made(EndpointState state) noexcept {
  return state == EndpointState::kAwaited ||
         state == EndpointState::kResolving ||
         state == EndpointState::kConnecting ||
         state == EndpointState::kAccepting;
}

void set_ack_timer(rdma_cm_id& id, std::chrono::milliseconds timeout) noexcept {
  std::uint8_t code = ack_timeout_code(timeout);
  if (rdma_set_option(&id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code,
                      sizeof code) != 0) {
    log(LogLevel::kDebug, "verbs: the time-out of acknowledgements: {}",
        errno_text(errno));
  }
}

/// The side that connects sets it for both: the other one takes it from the
/// request. 0 leaves what the administrator has set (cma_roce_tos).
void set_traffic_class(rdma_cm_id& id, std::uint8_t traffic_class) noexcept {
  if (traffic_class != 0 &&
      rdma_set_option(&id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &traffic_class,
                      sizeof traffic_class) != 0) {
    log_warning("ACP_VERBS_TRAFFIC_CLASS={}: {}", traffic_class,
                errno_text(errno));
  }
}

}  // namespace

void reject(rdma_cm_id& id, Refusal refusal) noexcept {
  const auto data = encode_refusal(refusal);
  if (rdma_reject(&id, data.data(), data.size()) != 0) {
    // The asking side has given up in the meantime.
    log(LogLevel::kDebug, "verbs: rejecting a request: {}", errno_text(errno));
  }
}

void refuse(CmId id, Refusal refusal) noexcept {
  reject(*id, refusal);
}

void Endpoint::set_state(EndpointState state) noexcept {
  shared_.connecting -= is_being_made(state_) ? 1 : 0;
  shared_.connecting += is_being_made(state) ? 1 : 0;
  state_ = state;
}

Status Endpoint::send_before_ready() {
  if (state_ == EndpointState::kIdle) {
    connect();
  } else if (state_ == EndpointState::kGone && launcher_had_time()) {
    fail(gone_why_);
  }
  return state_ == EndpointState::kFailed ? Status::kPeerDead : Status::kAgain;
}

/// Begins one attempt to connect; events of rdma_cm carry it on.
void Endpoint::start_attempt() {
  ++attempts_;
  set_state(EndpointState::kResolving);
  const std::string why = make_id(id_);
  if (!why.empty() && id_ == nullptr) {
    fail(why);
  } else if (!why.empty()) {
    on_attempt_failed(why);
  }
}

/// Makes an id and begins to resolve the peer's address. The text says what has
/// failed; empty: nothing.
std::string Endpoint::make_id(CmId& id) {
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(&shared_.channel, &raw, this, RDMA_PS_TCP) != 0) {
    return fmt::format("making an rdma_cm id: {}", errno_text(errno));
  }
  id.reset(raw);
  set_ack_timer(*raw, shared_.timers.ack_timeout);
  set_traffic_class(*raw, shared_.traffic_class);
  transport::SocketAddress from =
      transport::to_socket(device_.listen_address());
  transport::SocketAddress to = transport::to_socket(listen_address_);
  transport::set_port(from, 0);
  return rdma_resolve_addr(raw, &from.any, &to.any, kResolveTimeoutMs) == 0
             ? ""
             : fmt::format("resolving its address: {}", errno_text(errno));
}

std::string Endpoint::resolve_route(rdma_cm_id& id) {
  return rdma_resolve_route(&id, kResolveTimeoutMs) == 0
             ? ""
             : fmt::format("resolving the route: {}", errno_text(errno));
}

/// The route is resolved: makes the queue pair and sends the request with the
/// hello. The text says what has failed; empty: nothing.
std::string Endpoint::request(rdma_cm_id& id, PairKind kind) {
  if (id.verbs != &device_.context()) {
    return fmt::format("the route goes by {}",
                       ibv_get_device_name(id.verbs->device));
  }
  const PairSize size =
      kind == PairKind::kSmall ? PairSize::kSmall : PairSize::kLarge;
  if (device_.add_connection(id, *this, size) != Status::kOk) {
    return fmt::format("making a queue pair: {}", errno_text(errno));
  }
  const auto hello = encode_hello({.source = shared_.me,
                                   .destination = peer_,
                                   .color = device_.color(),
                                   .packet_bytes = kPacketBytes,
                                   .window = kWindow,
                                   .pair = kind,
                                   .job = shared_.job});
  rdma_conn_param parameters{};
  parameters.private_data = hello.data();
  parameters.private_data_len = hello.size();
  parameters.responder_resources = device_.responder_resources();
  parameters.initiator_depth = device_.initiator_depth();
  parameters.retry_count = shared_.timers.retries;
  parameters.rnr_retry_count = kNotReadyRetries;
  return rdma_connect(&id, &parameters) == 0
             ? ""
             : fmt::format("connecting: {}", errno_text(errno));
}

/// Decides between two attempts that cross: the request of the lower process
/// number wins. docs/verbs.md, "Connections", has the table.
void Endpoint::on_request(CmId id, ReadDepths asked, PairKind kind) {
  if (kind == PairKind::kGrown) {
    on_growth_request(std::move(id), asked);
    return;
  }
  switch (state_) {
    case EndpointState::kIdle:
    case EndpointState::kAwaited:
    case EndpointState::kBackingOff: accept_first(std::move(id), asked); return;
    case EndpointState::kResolving:
    case EndpointState::kConnecting:
      if (peer_ < shared_.me) {
        ++shared_.counters.crossed;
        drop_attempt();
        accept_first(std::move(id), asked);
        return;
      }
      refuse(std::move(id), Refusal::kCrossed);
      return;
    case EndpointState::kAccepting:
      // A peer makes one attempt at a time, so it has given up the first one.
      drop_attempt();
      accept_first(std::move(id), asked);
      return;
    case EndpointState::kReady:
      refuse(std::move(id), Refusal::kCrossed);
      return;
    case EndpointState::kGone:
    case EndpointState::kFailed: refuse(std::move(id), Refusal::kGone); return;
  }
}

void Endpoint::accept_first(CmId id, ReadDepths asked) {
  id_ = std::move(id);
  id_->context = this;
  set_state(EndpointState::kAccepting);
  const std::string why = accept(*id_, asked, pair_size());
  if (why.empty()) {
    return;
  }
  if (id_->qp == nullptr) {
    on_peer_gone(why);
    reject(*id_, Refusal::kGone);
  } else {
    on_attempt_failed(why);
  }
}

/// The queue pair is made before the answer, so the peer's first packet finds
/// its buffers. The text says what has failed; empty: nothing. Without a queue
/// pair the request is not answered yet.
std::string Endpoint::accept(rdma_cm_id& id, ReadDepths asked, PairSize size) {
  set_ack_timer(id, shared_.timers.ack_timeout);
  rdma_conn_param parameters{};
  parameters.responder_resources =
      std::min(device_.responder_resources(), asked.responder_resources);
  parameters.initiator_depth =
      std::min(device_.initiator_depth(), asked.initiator_depth);
  parameters.rnr_retry_count = kNotReadyRetries;
  if (device_.add_connection(id, *this, size) != Status::kOk) {
    return fmt::format("a queue pair for its connection: {}",
                       errno_text(errno));
  }
  if (rdma_accept(&id, &parameters) != 0) {
    // Most likely the peer has given this attempt up. It will ask again.
    std::string why = fmt::format("accepting: {}", errno_text(errno));
    rdma_reject(&id, nullptr, 0);
    return why;
  }
  return "";
}

/// rdma_cm leaves this timer at its longest value, 655 ms.
bool Endpoint::set_not_ready_timer(ibv_qp& pair) const {
  ibv_qp_attr attributes{};
  attributes.min_rnr_timer = not_ready_code(shared_.timers.not_ready_delay);
  return ibv_modify_qp(&pair, &attributes, IBV_QP_MIN_RNR_TIMER) == 0;
}

/// Makes the send queue. Called once, by the event or by the first packet.
void Endpoint::become_ready() {
  set_state(EndpointState::kReady);
  ++shared_.counters.connected;
  queue_ = std::make_unique<SendQueue>();
  queue_->resize(pair_size());
  const bool is_timed = set_not_ready_timer(*id_->qp);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr made{};
  static_cast<void>(ibv_query_qp(
      id_->qp, &attributes,
      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_PATH_MTU,
      &made));
  log(LogLevel::kDebug,
      "verbs: connected with {}, queue pair {}, time-out code {}, {} retries, "
      "MTU code {}, {} bytes inline{}",
      describe(), id_->qp->qp_num, attributes.timeout, attributes.retry_cnt,
      static_cast<int>(attributes.path_mtu), made.cap.max_inline_data,
      is_timed ? "" : ", long not-ready timer");
}

void Endpoint::drop_attempt() noexcept {
  if (id_ != nullptr) {
    device_.drop_connection(*id_);
    id_.reset();
  }
}

/// Carries an attempt on, or ends it. docs/verbs.md, "Connections".
void Endpoint::on_event(const rdma_cm_id& id,
                        rdma_cm_event_type event,
                        int status,
                        std::span<const std::byte> data) {
  if (state_ == EndpointState::kFailed || &id == small_.get()) {
    return;  // nothing is under way on a small queue pair after the move
  }
  if (&id == large_.get()) {
    if (state_ == EndpointState::kReady) {
      on_growth_event(event, status, data);
    }
    return;
  }
  switch (event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (const std::string why = resolve_route(*id_); !why.empty()) {
        on_attempt_failed(why);
      }
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      if (const std::string why = request(*id_, first_pair()); !why.empty()) {
        fail(why);
      } else {
        set_state(EndpointState::kConnecting);
      }
      return;
    case RDMA_CM_EVENT_ESTABLISHED:
      // The peer's first packet may have made the endpoint ready before.
      if (is_being_made(state_)) {
        become_ready();
      }
      return;
    case RDMA_CM_EVENT_REJECTED: on_rejected(status, data); return;
    case RDMA_CM_EVENT_DISCONNECTED:
      on_peer_gone("it has closed the connection");
      return;
    case RDMA_CM_EVENT_CONNECT_ERROR:
      on_peer_gone(
          fmt::format("connecting: {}", errno_text(status < 0 ? -status : 0)));
      return;
    case RDMA_CM_EVENT_DEVICE_REMOVAL: fail(kDeviceRemoved); return;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      on_attempt_failed(fmt::format(
          "{} ({})", rdma_event_str(event),
          status < 0 ? errno_text(-status) : std::to_string(status).c_str()));
      return;
    default:
      log(LogLevel::kDebug, "verbs: {}: {}", describe(), rdma_event_str(event));
      return;
  }
}

/// The meaning of a rejection depends on its sender: a peer whose own attempt
/// goes on, a peer that has given up, or a stranger.
void Endpoint::on_rejected(int status, std::span<const std::byte> data) {
  const auto refusal = decode_refusal(data);
  if (refusal == Refusal::kCrossed) {
    ++shared_.counters.crossed;
    drop_attempt();
    set_state(EndpointState::kAwaited);
  } else if (refusal == Refusal::kGone) {
    fail("it has given up on this process");
  } else if (state_ == EndpointState::kAccepting ||
             status == kStaleConnection) {
    on_attempt_failed(fmt::format(
        "{} (status {}{})", rdma_event_str(RDMA_CM_EVENT_REJECTED), status,
        status == kStaleConnection ? ", stale connection" : ""));
  } else {
    on_peer_gone(fmt::format(
        "it rejects a connection (status {}); nobody listens there any more, "
        "or another job does",
        status));
  }
}

/// The peer has closed its end: it has finalized, or it has died and the
/// launcher will tell. So this is no failure by itself. It becomes one if this
/// process misses the peer when the launcher has had its time.
void Endpoint::on_peer_gone(std::string_view why) {
  if (state_ == EndpointState::kGone || state_ == EndpointState::kFailed) {
    return;
  }
  set_state(EndpointState::kGone);
  end_growth();
  gone_at_ = SteadyClock().now();
  gone_why_ = why;
  for (const CmId* id : {&id_, &large_, &small_}) {
    if (*id != nullptr && (*id)->qp != nullptr) {
      rdma_disconnect(id->get());  // flushes the send queue
    }
  }
  controls_.drop_peer();  // its queue pair is closed
  if (misses_peer()) {
    queue_for_flush();
  }
}

/// Whether something of this process can end only as a failure of the peer,
/// once the peer's end has closed: unsent messages, or steps. A flushed step
/// counts as well, because its chain is never reported as done.
bool Endpoint::misses_peer() const noexcept {
  return open_ != nullptr || has_steps() || has_lost_step_;
}

bool Endpoint::launcher_had_time() const noexcept {
  return SteadyClock().now() - gone_at_ >= shared_.timers.launcher_time;
}

}  // namespace acp::verbs
