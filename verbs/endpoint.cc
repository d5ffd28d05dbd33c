// Messages, completions and failure of an Endpoint. Called by the
// engine and by VerbsTransport; never blocks.
#include "verbs/endpoint.h"

#include <arpa/inet.h>

#include "base/assert.h"
#include "base/log.h"

namespace acp::verbs {

namespace {

// A full queue always holds a signalled request, whose completion makes room.
static_assert(kSignalEvery < kSmallSendQueue - kEmptyPackets);

}  // namespace

Endpoint::Endpoint(SharedState& shared,
                   Device& device,
                   transport::ProcId peer,
                   const transport::Address& listen_address,
                   Executor atomics)
    : shared_(shared),
      device_(device),
      peer_(peer),
      atomics_(atomics),
      listen_address_(listen_address),
      controls_(*this, shared.regions, shared.counters.control) {
  // There is one connection to itself, which only atomics of devices use.
  if (shared.first_pair == PairSize::kSmall && peer != shared.me) {
    set_growth(Growth::kSmall);
  }
}

Endpoint::~Endpoint() {
  if (state_ == EndpointState::kReady) {
    rdma_disconnect(id_.get());
  }
  end_growth();
}

void Endpoint::queue_for_flush() {
  if (!is_queued_for_flush_) {
    is_queued_for_flush_ = true;
    shared_.to_flush.push_back(this);
  }
}

/// Entries of the send queue that are taken. Work requests that the device has
/// not completed take them, the batch and its proofs, and the open packet.
/// Credit does not bound this: a completion may come long after the peer has
/// returned credit.
std::uint32_t Endpoint::send_queue_used() const noexcept {
  return posted_ - freed_ +
         static_cast<std::uint32_t>(queue_->batched() + queue_->proofs) +
         (open_ == nullptr ? 0 : 1);
}

/// Entries of the send queue for packets and steps. The others are reserved for
/// empty packets, which return the credit that lets the peer go on.
/// Precondition: ready.
std::uint32_t Endpoint::usable_entries() const noexcept {
  return send_queue_entries() - kEmptyPackets;
}

/// The entry for the next work request that is posted.
Endpoint::WorkRequest& Endpoint::next_work_request() noexcept {
  ACP_ASSERT(posted_ - freed_ < send_queue_entries());
  return queue_->at(posted_++);
}

/// Whether the send queue has room for this many steps. Precondition: ready.
bool Endpoint::has_send_room(std::size_t steps) const noexcept {
  return send_queue_used() + steps <= usable_entries();
}

/// Whether a packet may be opened. Precondition: ready.
bool Endpoint::may_open_packet() const noexcept {
  return may_send_packets() && credit_.may_send() && has_send_room(1);
}

Status Endpoint::send(std::span<const std::span<const std::byte>> parts,
                      transport::Ordering) {
  return state_ == EndpointState::kReady ? append(parts, FrameKind::kMessage)
                                         : send_before_ready();
}

/// Appends to the open packet; closes it and opens another if it is full.
/// Precondition: ready.
Status Endpoint::append(std::span<const std::span<const std::byte>> parts,
                        FrameKind kind) {
  std::size_t bytes = 0;
  for (const std::span<const std::byte> part : parts) {
    bytes += part.size();
  }
  if (bytes > kMaxMessageBytes) {
    return Status::kTooLarge;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (open_ == nullptr) {
      if (!may_open_packet()) {
        if (!credit_.may_send()) {
          credit_.want_more();
        } else if (may_send_packets()) {
          want_growth();
        }
        ++shared_.counters.no_credit;
        return Status::kAgain;
      }
      open_ = device_.send_buffers().acquire();
      if (open_ == nullptr) {
        ++shared_.counters.no_buffer;
        return Status::kAgain;
      }
    }
    const std::size_t used =
        append_frame(open_->bytes(), open_bytes_, parts, bytes, kind);
    if (used != 0) {
      open_bytes_ = static_cast<std::uint32_t>(used);
      queue_for_flush();
      return Status::kOk;
    }
    if (is_held()) {
      return Status::kAgain;
    }
    close_packet();
    if (state_ != EndpointState::kReady) {
      return Status::kPeerDead;
    }
  }
  return Status::kTooLarge;  // not reached: an empty packet takes any message
}

void Endpoint::close_packet(InFront in_front) {
  Buffer* buffer = open_;
  const std::size_t bytes = open_bytes_;
  open_ = nullptr;
  open_bytes_ = 0;
  has_sent_ = true;
  post(buffer, bytes, in_front, credit_.on_send(Load::kFrames));
}

/// Posts one packet with one doorbell. `buffer` null: an empty packet. `credit`
/// is its immediate data. The buffer is free at once if the data go inline,
/// else at a completion. A packet behind the batch is signalled: its completion
/// ends the batch, too. On rxe all packets are signalled, because reads and
/// atomics wait for them.
void Endpoint::post(Buffer* buffer,
                    std::size_t bytes,
                    InFront in_front,
                    std::uint32_t credit) {
  const bool is_inline =
      buffer != nullptr && bytes <= device_.inline_bytes(pair_size());
  const bool is_behind = in_front == InFront::kBatch;
  ++unsignalled_;
  const bool is_signalled =
      is_behind || device_.is_rxe() || growth_ == Growth::kLastSent ||
      unsignalled_ >= kSignalEvery || device_.send_buffers().is_low();
  ibv_sge piece{};
  ibv_send_wr send{};
  ibv_send_wr* const first =
      is_behind ? take_batch(queue_->batched(), &send) : &send;
  send.wr_id = std::uint64_t{posted_} << 1;
  send.opcode = IBV_WR_SEND_WITH_IMM;
  send.imm_data = htonl(credit);
  send.send_flags = (is_inline ? unsigned{IBV_SEND_INLINE} : 0U) |
                    (is_signalled ? unsigned{IBV_SEND_SIGNALED} : 0U);
  if (buffer != nullptr) {
    piece.addr = reinterpret_cast<std::uintptr_t>(buffer->data);
    piece.length = static_cast<std::uint32_t>(bytes);
    piece.lkey = buffer->lkey;
    send.sg_list = &piece;
    send.num_sge = 1;
  }
  WorkRequest& work = next_work_request();
  writes_end_ = posted_;
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(id_->qp, first, &bad);
  const bool is_free = buffer != nullptr && (is_inline || error != 0);
  if (is_free) {
    device_.send_buffers().release(buffer);
  }
  work = {.buffer = is_free ? nullptr : buffer};
  if (error != 0) {
    fail(fmt::format("posting a send: {}", errno_text(error)));
    return;
  }
  unsignalled_ = is_signalled ? 0 : unsignalled_;
  ++shared_.counters.sent;
  shared_.counters.behind += is_behind ? 1 : 0;
  shared_.counters.empty += buffer == nullptr ? 1 : 0;
  shared_.counters.inlined += is_inline || buffer == nullptr ? 1 : 0;
  shared_.counters.signalled += is_signalled ? 1 : 0;
}

bool Endpoint::flush() {
  return flush(false);
}

bool Endpoint::flush_idle() {
  return flush(true);
}

bool Endpoint::flush(bool is_idle) {
  const bool is_clean = flush_parts(is_idle);
  is_queued_for_flush_ = !is_clean;  // last, so that it is not queued twice
  return is_clean;
}

/// Order: control frames into the open packet, the batch, the packet, then
/// credit. The batch is first, because packets must not overtake what is held,
/// or a stream of them could hold it for ever. False: a part is left, and flush
/// has to be called again.
bool Endpoint::flush_parts(bool is_idle) {
  if (state_ == EndpointState::kGone && misses_peer()) {
    // These messages and steps will never arrive. Failing waits for the
    // launcher, which knows better why the peer has left.
    if (!launcher_had_time()) {
      return false;
    }
    fail(gone_why_);
  }
  if (state_ != EndpointState::kReady) {
    return true;
  }
  bool is_clean = controls_.send();
  const bool may_wait = is_idle && steps_posted_ != 0 && !owes_last_packet();
  if (may_wait) {
    is_clean = is_clean && queue_->batched() == 0;
  } else if (state_ == EndpointState::kReady) {
    post_batch();
  }
  if (state_ == EndpointState::kReady && is_held()) {
    return false;
  }
  if (state_ == EndpointState::kReady && open_ != nullptr) {
    close_packet();
  }
  is_clean = return_credit() && is_clean;
  continue_growth();
  return is_clean || state_ != EndpointState::kReady;
}

/// Credit first, then the frames in order. A packet that breaks a rule fails
/// the peer, since the stream behind it has no meaning.
void Endpoint::on_packet(std::uint32_t queue_pair,
                         std::uint32_t credit,
                         std::span<const std::byte> packet,
                         transport::MessageSink& sink) {
  if (state_ == EndpointState::kAccepting) {
    become_ready();  // a packet proves it before the event does
  }
  if (state_ == EndpointState::kFailed) {
    return;
  }
  ++shared_.counters.received;
  if (!take_move(queue_pair, credit) ||
      !take_credit(credit, packet.empty() ? Load::kNone : Load::kFrames)) {
    return;
  }
  while (!packet.empty() && state_ != EndpointState::kFailed) {
    const auto frame = take_frame(packet);
    if (!frame ||
        (frame->kind == FrameKind::kControl && !on_control(frame->bytes))) {
      fail("a packet with a damaged frame");
      return;
    }
    if (frame->kind == FrameKind::kMessage) {
      ++shared_.counters.delivered;
      sink.on_message(peer_, device_.color(), frame->bytes);
    }
  }
}

/// A queue pair completes in order, so one completion ends all work requests up
/// to `number`. Those in front of one that has failed are done, because a
/// request that fails has a completion of its own. With proofs they are not:
/// what has failed may be their proof. Each entry is released before the sink
/// is called, which may post.
bool Endpoint::on_sent(std::uint32_t number,
                       bool is_good,
                       transport::MessageSink& sink) {
  // Modulo 2^32. A number outside of [freed_, posted_) is not outstanding.
  if (number - freed_ >= posted_ - freed_) {
    return false;
  }
  const bool is_step = queue_->at(number).theirs != nullptr;
  has_lost_step_ = has_lost_step_ || (is_step && !is_good);
  while (freed_ != number + 1) {
    bool is_done = state_ != EndpointState::kFailed &&
                   (is_good || (freed_ != number && !shared_.proves_writes));
    WorkRequest& work = queue_->at(freed_);
    const WorkRequest done = work;
    if (work.buffer != nullptr) {
      device_.send_buffers().release(work.buffer);
    }
    // A loop is repeated before its registration and region are released.
    is_done = is_done && (work.atomic == nullptr || end_atomic(work));
    free_atomic(work);
    end_use(work);
    work = {};
    ++freed_;
    if (done.ends_chain && is_done) {
      ++shared_.counters.done;
      sink.on_posted_done(done.token);
    }
  }
  if (growth_ == Growth::kMade || growth_ == Growth::kAccepted ||
      growth_ == Growth::kDraining) {
    queue_for_flush();  // continue_growth() may have waited for this
  }
  return is_step;
}

/// Finds out first whether the failed work request still matters. A flush
/// alone means that the peer's end has closed. With any other status this
/// endpoint fails.
void Endpoint::on_error(std::string_view what, const ibv_wc& completion) {
  // A connection whose peer has left flushes its queue. The peer had all that
  // it needed, so this is no error; docs/verbs.md, "Failures".
  if (state_ == EndpointState::kGone || state_ == EndpointState::kFailed) {
    return;
  }
  // After the move nothing is under way on the small queue pair but receives.
  if (small_ != nullptr && completion.qp_num == small_->qp->qp_num) {
    return;
  }
  const std::string why = fmt::format(
      "{}: {} (status {}, vendor error {:#x}, queue pair {})", what,
      ibv_wc_status_str(completion.status), static_cast<int>(completion.status),
      completion.vendor_err, completion.qp_num);
  if (completion.status == IBV_WC_WR_FLUSH_ERR) {
    on_peer_gone(why);
  } else {
    fail(why);
  }
}

std::string Endpoint::describe() const {
  return fmt::format("{} at {} by {}", shared_.name_of(peer_),
                     transport::format_address(listen_address_),
                     device_.name());
}

void Endpoint::fail(std::string_view why) {
  if (state_ == EndpointState::kFailed) {
    return;
  }
  failure_ = fmt::format("{}: {}", describe(), why);
  abandon();
  shared_.failed.push_back(this);
}

void Endpoint::abandon() {
  set_state(EndpointState::kFailed);
  end_growth();
  drop_steps();
  if (open_ != nullptr) {
    device_.send_buffers().release(open_);
    open_ = nullptr;
    open_bytes_ = 0;
  }
}

}  // namespace acp::verbs
