// Making the UCP endpoint to a peer, losing it, and flushing. Called by
// UcxTransport, by the other parts of Endpoint, and by UCX when it loses a
// peer. A callback of UCX may not close or make a UCP endpoint: a later flush
// does that.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "base/log.h"
#include "transport/ucx/endpoint.h"
#include "transport/ucx/ucx_log.h"

namespace acp::ucx {

namespace {

/// How long the launcher has to say how a peer has ended.
constexpr Duration kLauncherTime = std::chrono::seconds(2);

/// The lanes of a UCP endpoint, for the log: UCX tells them as text only.
std::string lanes_of(ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const stream = ::open_memstream(&text, &size);
  if (stream == nullptr) {
    return {};
  }
  ucp_ep_print_info(endpoint, stream);
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  std::istringstream lines(text);
  std::string lanes;
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find("lane["); at != std::string::npos) {
      lanes += (lanes.empty() ? "" : "; ") + line.substr(at);
    }
  }
  return lanes;
}

std::string tls_text(const std::string& tls) {
  return tls.empty() ? "unset" : tls;
}

}  // namespace

std::string Endpoint::describe() const {
  return fmt::format("{} on {} over ucx, color {}", shared_.name_of(peer_),
                     card_.host, worker_.color());
}

ucs_status_t Endpoint::create_in(ucp_err_handling_mode_t mode) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
      UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_USER_DATA;
  const WorkerAddresses& theirs = card_.addresses[worker_.color()];
  params.address = reinterpret_cast<const ucp_address_t*>(
      (locality_ == PeerLocality::kThisHost ? theirs.all : theirs.network)
          .data());
  params.err_mode = mode;
  params.err_handler.cb = on_error_callback;
  params.err_handler.arg = this;
  params.user_data = this;
  is_watched_ = mode == UCP_ERR_HANDLING_MODE_PEER;
  return ucp_ep_create(worker_.handle(), &params, &ucp_);
}

/// Mode PEER leaves out UCX's shared memory, which has no such mode. So mode
/// NONE comes first for a peer on this host, whose death the launcher notices,
/// and mode PEER for a peer on another host. UCX may refuse the first mode:
/// shared memory alone has no mode PEER, and rc_verbs finds no way to connect
/// by TCP in mode NONE. The last attempt lets UCX say why nothing leads to the
/// peer. In mode PEER it would complain of shared memory instead.
ucs_status_t Endpoint::create() {
  {
    // A refusal is expected, and the next attempt says why if it fails, too.
    const UcxLogLevel quiet("fatal");
    if ((locality_ == PeerLocality::kThisHost &&
         create_in(UCP_ERR_HANDLING_MODE_NONE) == UCS_OK) ||
        create_in(UCP_ERR_HANDLING_MODE_PEER) == UCS_OK) {
      return UCS_OK;
    }
  }
  return create_in(UCP_ERR_HANDLING_MODE_NONE);
}

/// Makes the UCP endpoint. False: the peer is gone.
bool Endpoint::connect() {
  const ucs_status_t status = create();
  if (status != UCS_OK) {
    ucp_ = nullptr;
    give_up_connecting(status);
    return false;
  }
  state_ = EndpointState::kReady;
  ++shared_.counters.connected;
  shared_.counters.unwatched += is_watched_ ? 0 : 1;
  say_connected();
  return true;
}

/// Says the error mode once, because it is that of most endpoints.
void Endpoint::say_connected() {
  if (!is_watched_ && !shared_.has_said_unwatched) {
    shared_.has_said_unwatched = true;
    log(LogLevel::kInfo,
        "ucx: the endpoint to {}, and others of its kind, have UCX's error "
        "mode NONE: UCX may use shared memory, and the launcher notices the "
        "death of a peer",
        shared_.name_of(peer_));
  }
  if (log_enabled(LogLevel::kDebug)) {
    log(LogLevel::kDebug, "ucx: endpoint to {}, color {}, mode {}: {}",
        shared_.name_of(peer_), worker_.color(), is_watched_ ? "PEER" : "NONE",
        lanes_of(ucp_));
  }
}

/// Settings may leave no way to the peer. Or the peer has just ended: then its
/// shared memory is gone, or it refuses a connection. UCX reports both in the
/// same way, so the launcher has its time. A process that has never been
/// reached cannot have left in acp_finalize, so it is missed.
void Endpoint::give_up_connecting(ucs_status_t status) {
  const char* remedy =
      shared_.tls != card_.tls ? "give all ranks equal UCX_TLS"
      : locality_ == PeerLocality::kThisHost
          ? "choose transports with UCX_TLS, and devices with UCX_NET_DEVICES "
            "or ACP_UCX_DEVICES, that lead from one to the other (acp_info "
            "lists them)"
          : "choose transports of networks with UCX_TLS, and devices with "
            "UCX_NET_DEVICES or ACP_UCX_DEVICES, that lead from host to host "
            "(acp_info lists them); UCX's shared memory does not";
  misses_peer_ = true;
  on_peer_gone(fmt::format(
      "no way to it: {}. UCX_TLS is {} there and {} here, UCX {}.{} there "
      "and {}.{} here, devices here: {}: {}",
      ucs_status_string(status), tls_text(card_.tls), tls_text(shared_.tls),
      card_.api >> 16, card_.api & 0xffff, library_version() >> 16,
      library_version() & 0xffff, worker_.devices(), remedy));
}

bool Endpoint::flush() {
  return flush(false);
}

bool Endpoint::flush_idle() {
  return flush(true);
}

/// Order: control frames, the packet, the flush of steps. Frames are appended
/// to the packet that then leaves.
bool Endpoint::flush(bool is_idle) {
  is_queued_for_flush_ = false;
  if (state_ == EndpointState::kGone) {
    close();
    return true;
  }
  if (state_ == EndpointState::kFailed ||
      (state_ == EndpointState::kIdle && !connect())) {
    return true;
  }
  bool is_empty = controls_.send();
  if (open_ != nullptr) {
    is_empty = send_packet() && is_empty;
  }
  if (!to_complete_.empty() && state_ == EndpointState::kReady) {
    // Flushes that follow a flush are collected while nobody waits.
    const bool may_wait =
        is_idle && flushes_ != 0 && to_complete_.size() < kPostWindow / 4;
    if (may_wait) {
      is_empty = false;
    } else {
      flush_steps();
    }
  }
  return is_empty || state_ != EndpointState::kReady;
}

void Endpoint::on_error_callback(void* endpoint,
                                 ucp_ep_h /*ep*/,
                                 ucs_status_t status) {
  auto& lost = *static_cast<Endpoint*>(endpoint);
  if (!lost.shared_.is_ending) {
    lost.on_peer_gone(ucs_status_string(status));
  }
}

/// The peer has left in acp_finalize, or it has died, or its host has. The
/// launcher sees the death of a process and describes it better. So only a peer
/// that is missed, and for two seconds, is a failure.
void Endpoint::on_peer_gone(std::string_view why) {
  if (state_ == EndpointState::kGone || state_ == EndpointState::kFailed) {
    return;
  }
  state_ = EndpointState::kGone;
  gone_at_ = SteadyClock().now();
  gone_why_ = why;
  misses_peer_ = misses_peer_ || posts_ != 0 || messages_ != 0;
  shared_.gone.push_back(this);
  controls_.drop_peer();
  if (open_ != nullptr) {
    misses_peer_ = misses_peer_ || open_->has_message;
    shared_.packets.give(*open_);
    open_ = nullptr;
  }
  for (PostedSteps* posted : to_complete_) {
    end_one(*posted, UCS_ERR_CONNECTION_RESET);
  }
  to_complete_.clear();
  queue_for_flush();  // close() is not for callbacks
}

/// Ends what UCX still does with memory of this process for the peer. UCX can
/// do that in mode PEER only. The rkeys go first. One that a UCX operation
/// uses goes when UCX has ended the operation.
void Endpoint::close() {
  if (ucp_ == nullptr || !is_watched_) {
    return;
  }
  controls_.release_registrations();
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  closing_ = ucp_ep_close_nbx(ucp_, &param);
  ucp_ = nullptr;
  if (UCS_PTR_IS_ERR(closing_)) {
    log(LogLevel::kDebug, "ucx: closing the endpoint to {}: {}",
        shared_.name_of(peer_), ucs_status_string(UCS_PTR_STATUS(closing_)));
    closing_ = nullptr;
  }
}

TimePoint Endpoint::gone_deadline() const noexcept {
  return misses_peer_ ? gone_at_ + kLauncherTime : TimePoint::max();
}

/// UCX touches no memory of this process for the peer, and begins to use none.
/// A dead peer of this host may leave UCX operations in mode NONE for ever, but
/// then the launcher ends the job. Precondition: the endpoint sends nothing.
bool Endpoint::is_quiet() const noexcept {
  const bool is_closed = ucp_ == nullptr && closing_ == nullptr;
  return posts_ == 0 && packets_ == 0 && (is_closed || !is_watched_);
}

void Endpoint::free_closed() noexcept {
  if (closing_ != nullptr &&
      ucp_request_check_status(closing_) != UCS_INPROGRESS) {
    ucp_request_free(closing_);
    closing_ = nullptr;
  }
}

void Endpoint::check_gone(TimePoint now) {
  if (state_ != EndpointState::kGone) {
    return;
  }
  free_closed();
  if (now >= gone_deadline() && is_quiet()) {
    fail(fmt::format("{}: {}", describe(), gone_why_));
  }
}

/// Precondition: the endpoint is quiet.
void Endpoint::fail(std::string_view why) {
  if (open_ != nullptr) {
    shared_.packets.give(*open_);
    open_ = nullptr;
  }
  controls_.drop_peer();
  state_ = EndpointState::kFailed;
  failure_ = why;
  shared_.failed.push_back(this);
}

bool Endpoint::abandon() {
  if (state_ == EndpointState::kFailed) {
    return true;
  }
  on_peer_gone("given up in another color");
  close();
  free_closed();
  if (!is_quiet()) {
    return false;
  }
  state_ = EndpointState::kFailed;
  return true;
}

}  // namespace acp::ucx
