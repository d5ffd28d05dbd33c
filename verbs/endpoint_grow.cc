// The large queue pair of a connection: the attempts to make it, and the move
// to it from the small one. Called by the other parts of Endpoint. No message
// and no step may be repeated or overtaken by a move. The protocol is in
// docs/verbs.md, "Small and large queue pairs".
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

namespace {

/// States in which events of rdma_cm are looked for in each pass.
bool is_being_made(Growth growth) noexcept {
  return growth == Growth::kResolving || growth == Growth::kAsking ||
         growth == Growth::kAccepted;
}

bool is_on(const CmId& id, std::uint32_t queue_pair) noexcept {
  return id != nullptr && id->qp != nullptr && id->qp->qp_num == queue_pair;
}

}  // namespace

void Endpoint::set_growth(Growth growth) noexcept {
  shared_.connecting -= is_being_made(growth_) ? 1 : 0;
  shared_.connecting += is_being_made(growth) ? 1 : 0;
  growth_ = growth;
}

/// The size of the queue pair over which this end sends.
PairSize Endpoint::pair_size() const noexcept {
  return growth_ == Growth::kLarge ? PairSize::kLarge : PairSize::kSmall;
}

/// The kind of the first queue pair, as a request names it.
PairKind Endpoint::first_pair() const noexcept {
  return pair_size() == PairSize::kLarge ? PairKind::kLarge : PairKind::kSmall;
}

/// Whether this end may post packets: not between its last one on the small
/// queue pair and its first one on the large one.
bool Endpoint::may_send_packets() const noexcept {
  return growth_ != Growth::kLastSent && growth_ != Growth::kDraining;
}

/// The queues of the small queue pair are full. Called again as long as they
/// are, so an attempt that failed is repeated from here.
void Endpoint::want_growth() {
  if (growth_ != Growth::kSmall || state_ != EndpointState::kReady ||
      SteadyClock().now() < grow_at_) {
    return;
  }
  ++grow_attempts_;
  set_growth(Growth::kResolving);
  if (const std::string why = make_id(large_); !why.empty()) {
    on_growth_failed(why, false);
  }
}

/// An attempt is over. The connection works as before, and the next full queue
/// begins another attempt, later and later. The last failure is for good.
void Endpoint::on_growth_failed(std::string_view why, bool is_final) {
  drop_large();
  is_final = is_final || grow_attempts_ >= kConnectAttempts;
  log(LogLevel::kDebug, "verbs: {}: no large queue pair: {}{}", describe(), why,
      is_final ? "; it stays small" : "");
  grow_at_ = SteadyClock().now() +
             retry_delay(std::max(grow_attempts_, 1U), shared_.jitter);
  set_growth(is_final ? Growth::kStaysSmall : Growth::kSmall);
}

/// The connection has ended. What it has of the large queue pair is released
/// with the endpoint.
void Endpoint::end_growth() noexcept {
  if (growth_ != Growth::kLarge) {
    set_growth(Growth::kStaysSmall);
  }
}

void Endpoint::drop_large() noexcept {
  if (large_ != nullptr) {
    device_.drop_connection(*large_);
    large_.reset();
  }
}

/// The peer needs a large queue pair. Of two attempts that cross, that of the
/// lower process number wins, as for the first queue pair.
void Endpoint::on_growth_request(CmId id, ReadDepths asked) {
  if (state_ == EndpointState::kAccepting) {
    become_ready();  // the request proves that the peer is connected
  }
  const bool is_mine_better = is_being_made(growth_) &&
                              growth_ != Growth::kAccepted &&
                              peer_ > shared_.me;
  if (is_mine_better) {
    refuse(std::move(id), Refusal::kCrossed);
    return;
  }
  const bool may_accept = growth_ == Growth::kSmall ||
                          growth_ == Growth::kStaysSmall ||
                          (is_being_made(growth_) && !has_read_last_);
  if (state_ != EndpointState::kReady || !may_accept) {
    refuse(std::move(id), Refusal::kStaySmall);
    return;
  }
  shared_.counters.crossed +=
      growth_ == Growth::kResolving || growth_ == Growth::kAsking ? 1 : 0;
  drop_large();  // mine, or an attempt that the peer has given up
  large_ = std::move(id);
  large_->context = this;
  set_growth(Growth::kAccepted);
  moves_first_ = false;
  const std::string why = accept(*large_, asked, PairSize::kLarge);
  if (why.empty()) {
    static_cast<void>(set_not_ready_timer(*large_->qp));
    return;
  }
  if (large_->qp == nullptr) {
    reject(*large_, Refusal::kStaySmall);
  }
  on_growth_failed(why, false);
}

/// Carries the attempt on, or ends it. Before this end or the peer has posted
/// its last packet, an attempt that fails leaves the small queue pair in use.
void Endpoint::on_growth_event(rdma_cm_event_type event,
                               int status,
                               std::span<const std::byte> data) {
  const bool is_made = growth_ == Growth::kMade ||
                       growth_ == Growth::kLastSent ||
                       growth_ == Growth::kDraining || has_read_last_;
  std::string why;
  switch (event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED: why = resolve_route(*large_); break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      why = request(*large_, PairKind::kGrown);
      if (why.empty()) {
        set_growth(Growth::kAsking);
      }
      break;
    case RDMA_CM_EVENT_ESTABLISHED:
      if (growth_ == Growth::kAsking) {
        moves_first_ = true;
        static_cast<void>(set_not_ready_timer(*large_->qp));
        set_growth(Growth::kMade);
        queue_for_flush();
      }
      return;
    case RDMA_CM_EVENT_DEVICE_REMOVAL: fail(kDeviceRemoved); return;
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_DISCONNECTED:
      why = fmt::format("{} (status {})", rdma_event_str(event), status);
      break;
    default:
      log(LogLevel::kDebug, "verbs: {}: large queue pair: {}", describe(),
          rdma_event_str(event));
      return;
  }
  if (why.empty()) {
    return;
  }
  if (is_made) {
    on_peer_gone(why);
    return;
  }
  const bool is_refused = event == RDMA_CM_EVENT_REJECTED;
  if (is_refused && decode_refusal(data) == Refusal::kCrossed) {
    ++shared_.counters.crossed;
    --grow_attempts_;  // not a failure: the peer's request is coming
  }
  on_growth_failed(why,
                   is_refused && decode_refusal(data) == Refusal::kStaySmall);
}

/// Notes what a packet says about the peer's move. False: it breaks a rule, and
/// the peer has failed.
bool Endpoint::take_move(std::uint32_t queue_pair, std::uint32_t credit) {
  if (state_ != EndpointState::kReady) {
    return true;  // the connection has ended, and with it the move
  }
  if (is_on(large_, queue_pair) && !has_peer_moved_) {
    // The peer moves first, and only after it has read my last packet.
    if (growth_ != Growth::kLastSent || moves_first_) {
      fail("a packet on a queue pair that is not in use yet");
      return false;
    }
    has_peer_moved_ = true;
    set_growth(Growth::kDraining);
    queue_for_flush();
  } else if (small_ != nullptr && is_on(id_, queue_pair)) {
    has_peer_moved_ = true;  // its first packet by the large queue pair
    queue_for_flush();
  }
  const auto note = decode_credit(credit);
  if (!note || !note->moves) {
    return true;
  }
  if (large_ == nullptr || has_read_last_ || !is_on(id_, queue_pair) ||
      growth_ != (moves_first_ ? Growth::kLastSent : Growth::kAccepted)) {
    fail("a move to a queue pair that does not exist");
    return false;
  }
  has_read_last_ = true;
  if (moves_first_) {
    set_growth(Growth::kDraining);
  }
  queue_for_flush();
  return true;
}

/// Whether this end's last packet by the small queue pair is due.
bool Endpoint::owes_last_packet() const noexcept {
  return growth_ == Growth::kMade ||
         (growth_ == Growth::kAccepted && has_read_last_);
}

/// Takes the steps of the move that are due. Called in flush only, when all
/// receives are posted again and no event is being handled. Waits for nothing:
/// completions and packets queue the endpoint for the next flush.
void Endpoint::continue_growth() {
  if (state_ != EndpointState::kReady) {
    return;
  }
  if (owes_last_packet() && open_ == nullptr && queue_->batched() == 0 &&
      send_queue_used() < send_queue_entries()) {
    set_growth(Growth::kLastSent);
    post(nullptr, 0, InFront::kNothing, credit_.move());
  }
  if (growth_ == Growth::kDraining && open_ == nullptr &&
      queue_->batched() == 0 && posted_ == freed_) {
    move();
  }
  if (small_ != nullptr && has_peer_moved_) {
    close_small();
  }
}

/// Makes the large queue pair the one that this end posts to. Precondition: all
/// posted work requests are complete, and the peer has read this end's last
/// packet. An empty packet by the large queue pair tells the peer so.
void Endpoint::move() {
  queue_->resize(PairSize::kLarge);
  small_ = std::exchange(id_, std::move(large_));
  device_.receives().take_over(*id_->qp, credit_.window());
  set_growth(Growth::kLarge);
  ++shared_.counters.grown;
  log(LogLevel::kDebug, "verbs: {}: moved to queue pair {} with {} entries",
      describe(), id_->qp->qp_num, kSendQueue);
  post(nullptr, 0, InFront::kNothing, credit_.on_send(Load::kNone));
}

/// Destroys the small queue pair. Both ends have moved, so neither has anything
/// under way on it.
void Endpoint::close_small() noexcept {
  device_.drop_connection(*small_);
  small_.reset();
}

}  // namespace acp::verbs
