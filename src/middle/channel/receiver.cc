// The state machine of a receiving end. Called by Channels with the end's lock
// held. Every post may be refused; it then changes nothing and is tried again.
#include "middle/channel/receiver.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "middle/log.h"

namespace acp::middle::channel {

Receiver::Receiver(Site& site,
                   int sender,
                   acp_ga_t block,
                   std::atomic<const std::uint64_t*>& head)
    : site_(site),
      sender_(sender),
      block_(block),
      mine_(static_cast<ReceiverBlock*>(acp_query_address(block))),
      sender_rank_block_(site.block_of(sender)),
      ring_(site, *mine_, sender_rank_block_, head),
      copier_(proven_copy(0)),
      ended_keys_(site),
      granter_(site, *mine_, ended_keys_) {
  mine_->wants_credit = 0;
  mine_->is_released = 0;
  std::ranges::fill(mine_->arrived, 0);
}

/// The copy of offer `number`. kFetches offers have different words.
ProvenCopy Receiver::proven_copy(std::uint64_t number) {
  const std::size_t index = number % kFetches;
  return {mine_->fetched[index], block_ + offsetof(ReceiverBlock, fetched) +
                                     index * sizeof(std::uint64_t)};
}

void Receiver::accept(acp_ga_t sender_block, std::uint64_t ring_limit) {
  sender_block_ = sender_block;
  if (block_ == ACP_GA_NULL) {
    phase_ = Phase::kClosing;
    return;
  }
  direct_ = static_cast<SenderBlock*>(acpx_pointer(sender_block));
  ring_.connect(sender_block, direct_, ring_limit);
  if (direct_ == nullptr) {
    granter_.connect(sender_, sender_block);
  }
  phase_ = Phase::kAccepting;
  give_answer();
}

/// Tells the sender where the ring is. `answer` is written last in the chain.
void Receiver::give_answer() {
  const std::array ops = {
      put8(sender_block_ + offsetof(SenderBlock, receiver_block), block_),
      put8(sender_block_ + offsetof(SenderBlock, ring_bytes), ring_.size()),
      put8(sender_block_ + offsetof(SenderBlock, answer), kAccepted, true)};
  const acp_handle_t handle = channel::post(ops);
  if (handle != ACP_HANDLE_NULL) {
    last_ = handle;
    phase_ = Phase::kOpen;
    ring_.show_head();
  }
}

void Receiver::post(Request& request) {
  posted_.push(request);
  granter_.add(request);
  if (phase_ == Phase::kOpen) {
    if (ring_.header() != 0) {
      advance();
    } else {
      granter_.advance(last_);
    }
  } else if (phase_ == Phase::kClosing || phase_ == Phase::kClosed ||
             phase_ == Phase::kLost) {
    fail_posted();
  }
}

void Receiver::lose_sender() {
  phase_ = Phase::kLost;
  fail_posted();
}

bool Receiver::is_idle() const {
  if (phase_ == Phase::kWaiting) {
    return true;
  }
  if (phase_ == Phase::kLost) {
    return !is_closing_;
  }
  if (phase_ == Phase::kAccepting || phase_ == Phase::kClosing) {
    return false;
  }
  return is_done() && finished_ == 0 && ended_keys_.is_empty() &&
         !is_closing_ && (phase_ != Phase::kOpen || !ring_.owes_credit());
}

bool Receiver::is_gone() const {
  if (phase_ == Phase::kLost) {
    return is_closing_;
  }
  return is_closing_ && phase_ == Phase::kClosed && ended_keys_.is_empty() &&
         (block_ == ACP_GA_NULL || load(mine_->is_released) != 0) &&
         is_complete(last_);
}

/// Order: ended keys, the answer, records, credit, fetches,
/// grants, and the last word when the end is closing.
bool Receiver::advance() {
  bool has_worked = ended_keys_.advance();
  if (phase_ == Phase::kWaiting || phase_ == Phase::kLost ||
      phase_ == Phase::kClosed) {
    return has_worked;
  }
  if (phase_ == Phase::kAccepting) {
    give_answer();
    if (phase_ != Phase::kOpen) {
      return true;
    }
  }
  if (phase_ == Phase::kOpen) {
    has_worked = take_records() || has_worked;
    if (ring_.owes_credit()) {
      ring_.return_credit(last_);  // it was refused before
    }
    has_worked = finish_fetches() || has_worked;
    if (!has_ended_) {
      has_worked = granter_.advance(last_) || has_worked;
    }
    if (fetches_.empty() &&
        (has_ended_ || (is_closing_ && posted_.is_empty()))) {
      phase_ = Phase::kClosing;
      fail_posted();
    }
  }
  if (finished_ != 0) {
    tell_finished();
  }
  if (phase_ == Phase::kClosing) {
    has_worked = tell_closed() || has_worked;
  }
  return has_worked;
}

bool Receiver::take_records() {
  bool has_worked = false;
  while (!has_ended_) {
    const std::uint64_t header = ring_.header();
    if (header == 0 || !take_record(header)) {
      break;
    }
    has_worked = true;
  }
  if (has_worked) {
    ring_.show_head();
  }
  return has_worked;
}

/// Takes one record. False: it stays in the ring, because no receive is posted
/// for it or its fetch cannot start.
bool Receiver::take_record(std::uint64_t header) {
  const std::uint64_t size = bytes_of(header);
  const std::byte* bytes = ring_.body();
  const Record record = record_of(header);
  if (record == Record::kSkip || record == Record::kEnd) {
    has_ended_ = record == Record::kEnd;
    ring_.consume(size, last_);
    return true;
  }
  Request* request = posted_.front();
  if (request == nullptr) {
    return false;
  }
  if (record == Record::kOffer) {
    Offer offer{};
    std::memcpy(&offer, bytes, sizeof offer);
    if (!start_fetch(offer)) {
      return false;
    }
  } else {
    ring_.note(record);
    const std::uint64_t wanted = std::min(size, request->size - request->done);
    if (wanted == 8) {
      std::memcpy(request->buffer + request->done, bytes, 8);
    } else if (wanted != 0) {
      std::memcpy(request->buffer + request->done, bytes, wanted);
    }
    if (wanted != size) {
      tell_of_cut(*request);
    }
    request->done += wanted;
    if (record == Record::kMessage) {
      take_posted();
      end_grant(*request, request->done >= kOfferFrom);
      request->finish();
    }
  }
  ring_.consume(size, last_);
  return true;
}

/// Takes the oldest receive out of the queue, since its message is here.
void Receiver::take_posted() {
  granter_.pass(*posted_.front());
  posted_.pop();
}

/// The specification allows it, but a program seldom wants it.
void Receiver::tell_of_cut(const Request& request) {
  if (!is_cut_told_) {
    is_cut_told_ = true;
    log_warning(
        "acp_nbrecv_ch: a message from rank {} to rank {} is longer than the "
        "{} bytes of its receive, and its end is lost; the channel says so "
        "once",
        sender_, site_.rank, request.size);
  }
}

/// Ends a receive's grant, if it has one. `is_large`: its message has
/// kOfferFrom bytes or more.
void Receiver::end_grant(Request& request, bool is_large) {
  if (request.is_granted) {
    granter_.finish(request, is_large);
  } else {
    granter_.learn(request, is_large);
  }
}

/// Starts to fetch an offer for the oldest receive. If the receive is granted,
/// the sender puts the message instead. False: not now.
bool Receiver::start_fetch(const Offer& offer) {
  if (offer.size > posted_.front()->size) {
    tell_of_cut(*posted_.front());
  }
  if (posted_.front()->is_granted) {
    Request* granted = posted_.front();
    take_posted();
    fetches_.push_back({granted, offer.address,
                        std::min(offer.size, granted->size),
                        proven_copy(offers_), false, false});
    return true;
  }
  // Messages go one after the other when the sender helps or keys are short.
  const bool is_alone = direct_ != nullptr || is_short_of_keys_;
  if (fetches_.size() >= (is_alone ? 1 : kFetches)) {
    return false;
  }
  Request* request = posted_.front();
  Fetch fetch{request,
              offer.address,
              std::min(offer.size, request->size),
              proven_copy(offers_),
              false,
              false};
  if (fetch.size != 0 && !begin_fetch(fetch)) {
    drop_key(*request);
    return false;
  }
  ++offers_;
  if (fetch.is_shared) {
    PieceCopier::publish(direct_->shared, offers_,
                         acp_query_ga(request->key, request->buffer),
                         fetch.size);
  }
  take_posted();
  fetches_.push_back(fetch);
  return true;
}

bool Receiver::begin_fetch(Fetch& fetch) {
  Request& request = *fetch.request;
  request.key = take_key(site_, request.buffer, fetch.size);
  is_short_of_keys_ = request.key == ACP_ATKEY_NULL;
  if (is_short_of_keys_) {
    if (!fetches_.empty()) {
      return false;  // a key of this channel comes back soon
    }
    fetch.is_bounced = true;
  }
  fetch.is_shared = direct_ != nullptr && !fetch.is_bounced;
  return fetch.is_shared || fetch_piece(fetch);
}

void Receiver::drop_key(Request& request) {
  if (request.key != ACP_ATKEY_NULL) {
    ended_keys_.end(request.key);
    request.key = ACP_ATKEY_NULL;
  }
}

/// Fetches the message, or its next piece when it goes through the block.
/// False: the window is full. A copy that cannot start at all fails its
/// request.
bool Receiver::fetch_piece(Fetch& fetch) {
  Request& request = *fetch.request;
  acp_ga_t to = block_ + offsetof(ReceiverBlock, bounce);
  std::uint64_t size =
      std::min<std::uint64_t>(fetch.size - request.done, sizeof mine_->bounce);
  if (!fetch.is_bounced) {
    to = acp_query_ga(request.key, request.buffer);
    size = fetch.size;
  }
  const int reason = fetch.copy.start(to, fetch.from + request.done, size);
  if (reason == ACPX_AGAIN) {
    return false;
  }
  if (reason != 0) {
    request.error = reason;
    fetch.size = request.done;
  }
  return true;
}

/// Completes fetches in order, since their handles complete in order.
bool Receiver::finish_fetches() {
  bool has_worked = false;
  while (!fetches_.empty() && go_on(fetches_.front(), has_worked)) {
    Request& request = *fetches_.front().request;
    const bool was_fetched = !request.is_granted;
    end_grant(request, true);
    drop_key(request);
    request.done = fetches_.front().size;
    if (was_fetched) {
      failures_ |= request.error != 0 ? failure_bit(fetched_) : 0;
      ++fetched_;
      ++finished_;
    }
    request.end();
    fetches_.pop_front();
    has_worked = true;
  }
  return has_worked;
}

/// Continues a fetch. True: the whole message is here, or the fetch has failed.
bool Receiver::go_on(Fetch& fetch, bool& has_worked) {
  if (fetch.request->is_granted) {
    return granter_.is_put(*fetch.request, fetch.request->error);
  }
  if (fetch.is_shared) {
    SharedCopy& shared = direct_->shared;
    has_worked = copier_.advance(shared, offers_, fetch.from) || has_worked;
    if (load(shared.copied) != PieceCopier::pieces_of(fetch.size)) {
      return false;
    }
    fetch.request->error = static_cast<int>(load(shared.error));
    return true;
  }
  while (fetch.copy.is_over()) {
    if (fetch.copy.has_failed()) {
      fetch.request->error = ACPX_BAD_ADDRESS;
      return true;
    }
    if (!fetch.is_bounced) {
      return true;
    }
    has_worked = true;
    take_bounced(fetch);
    if (fetch.request->done == fetch.size) {
      return true;
    }
    if (!fetch_piece(fetch)) {
      break;
    }
  }
  return false;
}

/// Copies a piece that has arrived in the block to the program's buffer.
void Receiver::take_bounced(Fetch& fetch) {
  if (!fetch.copy.is_started()) {
    return;
  }
  Request& request = *fetch.request;
  const std::uint64_t size =
      std::min<std::uint64_t>(fetch.size - request.done, sizeof mine_->bounce);
  std::memcpy(request.buffer + request.done, mine_->bounce, size);
  request.done += size;
  fetch.copy.end();
}

/// The failures come before the count, so that the sender finds them when it
/// sees the count. Chains may be applied in any order, and the sender takes
/// each count for its oldest fetches. So no count follows failures before these
/// are there.
void Receiver::tell_finished() {
  if (!is_complete(failures_told_)) {
    return;
  }
  const std::array ops = {
      xor8(sender_block_ + offsetof(SenderBlock, failures), failures_),
      add8(sender_block_ + offsetof(SenderBlock, finished), finished_, true)};
  const acp_handle_t handle =
      channel::post(std::span(ops).subspan(failures_ == 0 ? 1 : 0));
  if (handle != ACP_HANDLE_NULL) {
    last_ = handle;
    failures_told_ = failures_ != 0 ? handle : failures_told_;
    finished_ = 0;
    failures_ = 0;
  }
}

/// Fails the receives for which no message will come. The sender has no message
/// left, so it puts nothing into granted buffers.
void Receiver::fail_posted() {
  while (Request* request = posted_.front()) {
    take_posted();
    end_grant(*request, false);
    request->fail(ACPX_CLOSED);
  }
}

/// Tells the sender that this side touches its block no more, after all other
/// operations there are complete (invariant 3). The sender's library answers by
/// releasing the receiver's block. True: something was done, or a refused post
/// has to be tried again.
bool Receiver::tell_closed() {
  if (finished_ != 0) {
    return true;  // the sender hears of this before kClosed
  }
  if (!is_complete(last_)) {
    return false;
  }
  const std::array ops = {
      put8(sender_block_ + offsetof(SenderBlock, answer), kClosed, true),
      add8(sender_rank_block_ + offsetof(RankBlock, closed_ends), 1, true)};
  const acp_handle_t handle = channel::post(ops);
  if (handle != ACP_HANDLE_NULL) {
    last_ = handle;
    phase_ = Phase::kClosed;
    ring_.hide_head();
  }
  return true;
}

bool Receiver::arm() {
  if (phase_ == Phase::kOpen && direct_ != nullptr &&
      load(direct_->wants_doorbell) == 0) {
    store(direct_->wants_doorbell, 1);
    fence();  // pairs with the sender's exchange on the lock of its end
    return true;
  }
  return false;
}

}  // namespace acp::middle::channel
