// How a endpoint gets its connection, and loses it.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "transport/socket_address.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

namespace {

constexpr int kResolveTimeoutMs = 10'000;
/// What a rejection of InfiniBand's connection manager says when the number of
/// the queue pair is, to the asked side, one of a connection that was lost.
constexpr int kStaleConnection = 10;
/// Of "receiver not ready": 7 is for ever.
constexpr std::uint8_t kNotReadyRetries = 7;

/// What the launcher may take to send_control how a process has died.
constexpr Duration kLauncherTime = std::chrono::seconds(2);

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

void reject(rdma_cm_id& id, Refusal refusal) noexcept {
  const auto data = encode_refusal(refusal);
  if (rdma_reject(&id, data.data(), data.size()) != 0) {
    // The asking side has given up meanwhile.
    log(LogLevel::kDebug, "verbs: rejecting a request: {}", errno_text(errno));
  }
}

}  // namespace

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

/// One attempt: this, and the events that follow.
void Endpoint::start_attempt() {
  ++attempts_;
  rdma_cm_id* raw = nullptr;
  if (rdma_create_id(&shared_.channel, &raw, this, RDMA_PS_TCP) != 0) {
    fail(fmt::format("making an rdma_cm id: {}", errno_text(errno)));
    return;
  }
  id_.reset(raw);
  set_ack_timer(*raw, shared_.timers.ack_timeout);
  transport::SocketAddress from =
      transport::to_socket(device_.listen_address().address);
  transport::SocketAddress to = transport::to_socket(listen_address_.address);
  transport::set_port(from, 0);
  set_state(EndpointState::kResolving);
  if (rdma_resolve_addr(raw, &from.any, &to.any, kResolveTimeoutMs) != 0) {
    on_attempt_failed(
        fmt::format("resolving its address: {}", errno_text(errno)));
  }
}

void Endpoint::resolve_route() {
  if (rdma_resolve_route(id_.get(), kResolveTimeoutMs) != 0) {
    on_attempt_failed(
        fmt::format("resolving the route: {}", errno_text(errno)));
  }
}

void Endpoint::request() {
  if (id_->verbs != &device_.context()) {
    fail(fmt::format("the route goes by {}",
                     ibv_get_device_name(id_->verbs->device)));
    return;
  }
  if (device_.add_connection(*id_, *this) != Status::kOk) {
    fail(fmt::format("making a queue pair: {}", errno_text(errno)));
    return;
  }
  const auto hello = encode_hello({.source = shared_.me,
                                   .destination = peer_,
                                   .color = device_.color(),
                                   .packet_bytes = kPacketBytes,
                                   .window = kWindow,
                                   .job = shared_.job});
  rdma_conn_param parameters{};
  parameters.private_data = hello.data();
  parameters.private_data_len = hello.size();
  parameters.responder_resources = device_.responder_resources();
  parameters.initiator_depth = device_.initiator_depth();
  parameters.retry_count = shared_.timers.retries;
  parameters.rnr_retry_count = kNotReadyRetries;
  if (rdma_connect(id_.get(), &parameters) != 0) {
    fail(fmt::format("connecting: {}", errno_text(errno)));
    return;
  }
  set_state(EndpointState::kConnecting);
}

void Endpoint::on_request(CmId id, ReadDepths asked) {
  switch (state_) {
    case EndpointState::kIdle:
    case EndpointState::kAwaited:
    case EndpointState::kBackingOff: accept(std::move(id), asked); return;
    case EndpointState::kResolving:
    case EndpointState::kConnecting:
      if (peer_ < shared_.me) {
        ++shared_.counters.crossed;
        drop_attempt();
        accept(std::move(id), asked);
        return;
      }
      refuse(std::move(id), Refusal::kCrossed);
      return;
    case EndpointState::kAccepting:
      // A peer makes one attempt at a time: it has given the first one up.
      drop_attempt();
      accept(std::move(id), asked);
      return;
    case EndpointState::kReady:
      refuse(std::move(id), Refusal::kCrossed);
      return;
    case EndpointState::kGone:
    case EndpointState::kFailed: refuse(std::move(id), Refusal::kGone); return;
  }
}

void Endpoint::accept(CmId id, ReadDepths asked) {
  id_ = std::move(id);
  id_->context = this;
  set_ack_timer(*id_, shared_.timers.ack_timeout);
  rdma_conn_param parameters{};
  parameters.responder_resources =
      std::min(device_.responder_resources(), asked.responder_resources);
  parameters.initiator_depth =
      std::min(device_.initiator_depth(), asked.initiator_depth);
  parameters.rnr_retry_count = kNotReadyRetries;
  if (device_.add_connection(*id_, *this) != Status::kOk) {
    on_peer_gone(
        fmt::format("a queue pair for its connection: {}", errno_text(errno)));
    reject(*id_, Refusal::kGone);
    return;
  }
  set_state(EndpointState::kAccepting);
  if (rdma_accept(id_.get(), &parameters) != 0) {
    // Most likely there is nobody any more to accept: who has given this
    // attempt up asks again.
    log(LogLevel::kDebug, "verbs: {}: accepting its connection: {}", describe(),
        errno_text(errno));
    rdma_reject(id_.get(), nullptr, 0);
    on_attempt_failed("accepting");
  }
}

void Endpoint::become_ready() {
  set_state(EndpointState::kReady);
  ++shared_.counters.connected;
  queue_ = std::make_unique<SendQueue>();
  // rdma_cm leaves the longest time there is, 655 ms.
  ibv_qp_attr attributes{};
  attributes.min_rnr_timer = not_ready_code(shared_.timers.not_ready_delay);
  const int error = ibv_modify_qp(id_->qp, &attributes, IBV_QP_MIN_RNR_TIMER);
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
      error == 0 ? "" : ", long not-ready timer");
}

void Endpoint::drop_attempt() noexcept {
  if (id_ != nullptr) {
    device_.drop_connection(*id_);
    id_.reset();
  }
}

void Endpoint::on_event(rdma_cm_event_type event,
                        int status,
                        std::span<const std::byte> data) {
  if (state_ == EndpointState::kFailed) {
    return;
  }
  switch (event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED: resolve_route(); return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED: request(); return;
    case RDMA_CM_EVENT_ESTABLISHED:
      // Its first packet may have said so before.
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
          status < 0 ? errno_text(-status) : fmt::to_string(status).c_str()));
      return;
    default:
      log(LogLevel::kDebug, "verbs: {}: {}", describe(), rdma_event_str(event));
      return;
  }
}

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

/// The other end is no more. Not an error by itself: a peer that has finalized
/// closes, and of one that has died the launcher tells, and how. Only if
/// neither ends this process soon it is one, for who wants to send.
void Endpoint::on_peer_gone(std::string_view why) {
  if (state_ == EndpointState::kGone || state_ == EndpointState::kFailed) {
    return;
  }
  set_state(EndpointState::kGone);
  gone_at_ = SteadyClock().now();
  gone_why_ = why;
  if (id_->qp != nullptr) {
    rdma_disconnect(id_.get());  // so what is still in the queue comes back
  }
  shared_.regions.drop_holder(*this);  // it reaches nothing any more
  if (open_ != nullptr || has_steps()) {
    queue_for_flush();
  }
}

bool Endpoint::launcher_had_time() const noexcept {
  return SteadyClock().now() - gone_at_ >= kLauncherTime;
}

}  // namespace acp::verbs
