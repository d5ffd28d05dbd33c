// The state machine of a sending end. Called by Channels with the end's lock
// held. Every post may be refused; it then changes nothing and is tried again.
#include "middle/channel/sender.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace acp::middle::channel {

namespace {

/// How far ahead cache lines of the ring are prefetched for writing.
constexpr std::uint64_t kPrefetchBytes = 512;

/// Smallest part that a message is split into.
constexpr std::uint64_t kSmallestPart = 256;

/// Over a network: chains that leave in the calls that post messages, until a
/// pass of progress finds nothing gathered. Later records are gathered into one
/// chain.
constexpr int kLoneChains = 2;

/// Gathered records of this size leave without a pass.
constexpr std::uint64_t kGatherBytes = std::uint64_t{4} << 10;

}  // namespace

Sender::Sender(Site& site, int receiver, acp_ga_t block, bool has_mirror)
    : site_(site),
      receiver_(receiver),
      block_(block),
      mine_(static_cast<SenderBlock*>(acp_query_address(block))),
      mirror_(has_mirror ? reinterpret_cast<std::byte*>(mine_ + 1) : nullptr),
      receiver_rank_block_(site.block_of(receiver)),
      ended_keys_(site),
      granted_puts_(*mine_, block) {
  *mine_ = SenderBlock{};
  mine_->next = kNotKnown;
  mine_->sender = static_cast<std::uint64_t>(site.rank);
  mine_->ring_limit = has_mirror ? site.ring_bytes : UINT64_MAX;
}

void Sender::post(Request& request) {
  if (queue_.is_empty() && phase_ == Phase::kOpen &&
      request.size < kOfferFrom && write_message(request)) {
    ++sent_;
    request.finish();
    wake_receiver();
    return;
  }
  queue_.push(request);
  advance();
}

bool Sender::is_idle() const {
  if (!ended_keys_.is_empty()) {
    return false;
  }
  if (phase_ == Phase::kReleasing || phase_ == Phase::kReleased) {
    return phase_ == Phase::kReleased && !is_closing_;
  }
  return is_done() && !is_gathering() && (!is_closing_ || is_end_written_);
}

bool Sender::is_gone() const {
  return is_closing_ && phase_ == Phase::kReleased && ended_keys_.is_empty() &&
         is_complete(last_);
}

/// Order: ended keys, the answer, finished offers, a piece of the oldest offer,
/// new records, puts into granted memory, the gathered records. The end record
/// follows when nothing is left.
bool Sender::advance() {
  bool has_worked = ended_keys_.advance();
  const std::uint64_t answer = load(mine_->answer);
  if (answer == kClosed) [[unlikely]] {
    finish_offers();  // the receiver has told of them before it closed
    drop_all();
    return (phase_ != Phase::kReleased && release()) || has_worked;
  }
  if (phase_ == Phase::kConnecting) {
    if (answer == kNoAnswer) {
      return has_worked;
    }
    open();
  }
  const std::uint64_t before = produced_;
  has_worked = finish_offers() || has_worked;
  if (direct_ != nullptr && !offers_.is_empty()) {
    has_worked = help() || has_worked;
  }
  while (Request* request = queue_.front()) {
    const Wrote wrote = write_next(*request);
    if (wrote == Wrote::kNothing) {
      break;
    }
    has_worked = true;
    queue_.pop();
    request->number = sent_++;
    if (wrote == Wrote::kOffer) {
      offers_.push(*request);
    } else {
      request->finish();
    }
  }
  if (direct_ == nullptr && !offers_.is_empty()) {
    has_worked = granted_puts_.advance(offers_, sent_, last_) || has_worked;
  }
  if (is_gathering()) {
    has_worked = put_gathered() || has_worked;
  } else {
    chains_ = 0;
  }
  if (is_closing_ && !is_end_written_ && is_done() && !is_gathering()) {
    is_end_written_ = write_end();
  }
  wake_receiver();
  return has_worked || produced_ != before;
}

void Sender::open() {
  phase_ = Phase::kOpen;
  receiver_block_ = mine_->receiver_block;
  ring_bytes_ = mine_->ring_bytes;
  granted_puts_.connect(receiver_block_);
  if (mirror_ == nullptr) {
    direct_ = static_cast<ReceiverBlock*>(acpx_pointer(receiver_block_));
    ring_ = reinterpret_cast<std::byte*>(direct_ + 1);
  } else {
    ring_ = mirror_;
  }
}

/// Offers a large message, or writes it to the ring when there is no key.
Sender::Wrote Sender::write_next(Request& request) {
  if (request.size >= kOfferFrom && !request.takes_ring) {
    if (request.key == ACP_ATKEY_NULL) {
      request.key = take_key(site_, request.buffer, request.size);
    }
    if (request.key != ACP_ATKEY_NULL) {
      return write_offer(request) ? Wrote::kOffer : Wrote::kNothing;
    }
    request.takes_ring = true;
  }
  return write_message(request) ? Wrote::kMessage : Wrote::kNothing;
}

/// Writes a message in one or several records. True: all of it is in the ring.
/// False: there is no room, and a part of it may be written.
bool Sender::write_message(Request& request) {
  while (true) {
    const std::uint64_t left = request.size - request.done;
    const std::uint64_t to_end = ring_bytes_ - position();
    const std::uint64_t longest = ring_bytes_ / 4 - kHeaderBytes;
    std::uint64_t bytes = std::min(left, longest);
    if (footprint(bytes) > to_end) [[unlikely]] {
      if (left <= longest || to_end < kSmallestPart) {
        if (!skip_to_start(footprint(bytes))) {
          return false;
        }
        continue;
      }
      bytes = to_end - kHeaderBytes;
    }
    const bool is_last = bytes == left;
    if (!write(is_last ? Record::kMessage : Record::kPart,
               request.buffer + request.done, bytes)) {
      return false;
    }
    request.done += bytes;
    if (is_last) {
      return true;
    }
  }
}

/// Over a network the receiver learns how to reach a message that it will most
/// likely fetch.
bool Sender::write_offer(const Request& request) {
  if (footprint(sizeof(Offer)) > ring_bytes_ - position() &&
      !skip_to_start(footprint(sizeof(Offer)))) {
    return false;
  }
  const Offer offer{acp_query_ga(request.key, request.buffer), request.size};
  if (direct_ == nullptr && !expects_grants_) {
    announce(offer.address, offer.size, receiver_);
  }
  if (!write(Record::kOffer, &offer, sizeof offer)) {
    return false;
  }
  if (direct_ != nullptr) {
    // the receiver's program may compute, so wake its library to fetch
    ring_doorbell();
  }
  return true;
}

/// Invariant 1: kRecordUnit bytes stay free. The record that skips to the
/// start, and the 0 in front of the next record, therefore always fit.
bool Sender::has_room(std::uint64_t bytes) {
  const auto fits = [&] {
    return produced_ - consumed_ + bytes + kRecordUnit <= ring_bytes_;
  };
  if (fits()) [[likely]] {
    return true;
  }
  consumed_ = load(mine_->consumed);
  return fits();
}

bool Sender::ask_for_credit() {
  const bool has_end_to_write = is_closing_ && is_done() && !is_end_written_;
  if (phase_ != Phase::kOpen || direct_ == nullptr ||
      (queue_.is_empty() && !has_end_to_write)) {
    return false;
  }
  if (owes_doorbell_) {
    ring_doorbell();
  }
  if (load(direct_->wants_credit) != 0) {
    return false;
  }
  store(direct_->wants_credit, 1);
  fence();  // pairs with the fence in RingReader::return_credit
  return true;
}

/// Writes a record that covers the rest of the ring, so that the next record
/// begins at the ring's start. Over a network it leaves with that record, whose
/// footprint is `next_length`, if there is room for both. False: no room.
bool Sender::skip_to_start(std::uint64_t next_length) {
  const std::uint64_t to_end = ring_bytes_ - position();
  if (!has_room(to_end) || !put_gathered()) {
    return false;
  }
  if (direct_ == nullptr) {
    const acpx_op_t skip =
        put8(receiver_block_ + sizeof(ReceiverBlock) + position(),
             make_header(Record::kSkip, to_end - kHeaderBytes));
    const std::array ops = {has_room(to_end + next_length) ? leaves_later(skip)
                                                           : skip};
    const acp_handle_t handle = channel::post(ops);
    if (handle == ACP_HANDLE_NULL) {
      return false;
    }
    last_ = handle;
  } else {
    store(*reinterpret_cast<std::uint64_t*>(ring_), 0);
    store(*reinterpret_cast<std::uint64_t*>(ring_ + position()),
          make_header(Record::kSkip, to_end - kHeaderBytes));
  }
  produced_ += to_end;
  put_ = produced_;
  return true;
}

/// Writes one record, which fits in front of the ring's end. False: no room. On
/// one host the order is: 0 for the next header, bytes, header. Over a network
/// the record joins those that are gathered in the mirror, and leaves with them
/// now or in the next pass of progress.
bool Sender::write(Record record, const void* bytes, std::uint64_t size) {
  const std::uint64_t length = footprint(size);
  if (!has_room(length)) {
    return false;
  }
  const std::uint64_t at = position();
  std::byte* const record_at = ring_ + at;
  const std::uint64_t header = make_header(record, size);
  if (direct_ != nullptr) {
    // The next header must be 0 before the receiver looks there. The receiver
    // cannot be there before this record's header is written.
    const std::uint64_t next = (at + length) & (ring_bytes_ - 1);
    __builtin_prefetch(
        ring_ + ((at + length + kPrefetchBytes) & (ring_bytes_ - 1)), 1);
    store(*reinterpret_cast<std::uint64_t*>(ring_ + next), 0);
    if (size == 8) {
      std::memcpy(record_at + kHeaderBytes, bytes, 8);
    } else if (size != 0) {
      std::memcpy(record_at + kHeaderBytes, bytes, size);
    }
    store(*reinterpret_cast<std::uint64_t*>(record_at), header);
  } else {
    // A chain of gathered records does not go across the ring's end.
    if (at == 0 && !put_gathered()) {
      return false;
    }
    std::memcpy(record_at, &header, sizeof header);
    if (size != 0) {
      std::memcpy(record_at + kHeaderBytes, bytes, size);
    }
    site_.records_sent.store(
        site_.records_sent.load(std::memory_order_relaxed) + 1,
        std::memory_order_relaxed);
    produced_ += length;
    newest_end_ = produced_ - length + kHeaderBytes + size;
    if (chains_ < kLoneChains || produced_ - put_ >= kGatherBytes) {
      (void)put_gathered();  // refused: the next pass tries again
    }
    return true;
  }
  produced_ += length;
  owes_doorbell_ = true;
  return true;
}

/// Puts the gathered records in one chain: all bytes behind the first header,
/// then the first header, with a signal. The receiver believes no header before
/// the first one, so it reads complete records. Chains may arrive in any order,
/// so a chain touches no byte of another record; the receiver clears what it
/// has taken. False: the post was refused, and nothing has changed.
bool Sender::put_gathered() {
  if (!is_gathering()) {
    return true;
  }
  const std::uint64_t at = put_ & (ring_bytes_ - 1);
  const acp_ga_t ring = receiver_block_ + sizeof(ReceiverBlock) + at;
  const acp_ga_t mirror = block_ + sizeof(SenderBlock) + at;
  std::uint64_t first_header = 0;
  std::memcpy(&first_header, mirror_ + at, sizeof first_header);
  const std::uint64_t size = newest_end_ - put_ - kHeaderBytes;
  const int before = acp_errno;
  const std::array<acpx_op_t, 2> ops = {
      acpx_op_t{ACPX_PUT, 0, ring + kHeaderBytes, mirror + kHeaderBytes, size,
                0, 0},
      put8(ring, first_header, true)};
  const acp_handle_t handle =
      channel::post(std::span(ops).subspan(size == 0 ? 1 : 0));
  if (handle == ACP_HANDLE_NULL) {
    acp_errno = before;  // no error: the post is tried again
    return false;
  }
  last_ = handle;
  put_ = produced_;
  ++chains_;
  return true;
}

/// Writes the end record, and counts it as a closed end, so that the receiver
/// looks at this end even if its program does not.
bool Sender::write_end() {
  const std::array ops = {
      put8(receiver_block_ + sizeof(ReceiverBlock) + position(),
           make_header(Record::kEnd, 0), true),
      add8(receiver_rank_block_ + offsetof(RankBlock, closed_ends), 1, true)};
  if (!has_room(kRecordUnit)) {
    return false;
  }
  if (direct_ != nullptr) {
    store(*reinterpret_cast<std::uint64_t*>(
              ring_ + ((position() + kRecordUnit) & (ring_bytes_ - 1))),
          0);
  }
  const acp_handle_t handle = channel::post(ops);
  if (handle == ACP_HANDLE_NULL) {
    return false;
  }
  last_ = handle;
  produced_ += kRecordUnit;
  put_ = produced_;
  return true;
}

/// Completes offers in order. A granted message is complete with its put. The
/// receiver counts the other messages, and counts a message only when all
/// before it are there. So the count never means a message whose grant this end
/// has not seen.
bool Sender::finish_offers() {
  const std::uint64_t finished = load(mine_->finished);
  bool has_worked = false;
  while (Request* request = offers_.front()) {
    if (request->put != ACP_HANDLE_NULL) {
      if (!granted_puts_.is_done(*request, last_)) {
        break;
      }
    } else if (finished_ != finished) {
      request->error = take_failure(finished_++);
    } else {
      break;
    }
    expects_grants_ = request->put != ACP_HANDLE_NULL;
    offers_.pop();
    ended_keys_.end(request->key);
    request->key = ACP_ATKEY_NULL;
    request->end();
    has_worked = true;
  }
  return has_worked;
}

/// The code of a failure of fetched message `number`, or 0.
int Sender::take_failure(std::uint64_t number) {
  const std::uint64_t changed =
      (load(mine_->failures) ^ failures_) & failure_bit(number);
  failures_ ^= changed;
  return changed != 0 ? ACPX_BAD_ADDRESS : 0;
}

/// Helps to copy the oldest offered message: on one host both ends do.
bool Sender::help() {
  const Request& request = *offers_.front();
  return copier_.advance(mine_->shared, finished_ + 1,
                         acp_query_ga(request.key, request.buffer));
}

/// Completes all sends: the receiver has freed its end and drops them. A send
/// whose put has failed fails.
void Sender::drop_all() {
  put_ = produced_;
  for (RequestQueue* queue : {&offers_, &queue_}) {
    while (Request* request = queue->front()) {
      queue->pop();
      if (request->key != ACP_ATKEY_NULL) {
        ended_keys_.end(request->key);
        request->key = ACP_ATKEY_NULL;
      }
      request->end();
    }
  }
}

/// Tells the receiver that this side touches its block no more, after
/// everything that was written there is complete. True: something was done, or
/// a refused post has to be tried again.
bool Sender::release() {
  const acp_ga_t receiver_block = mine_->receiver_block;
  if (receiver_block != ACP_GA_NULL) {
    phase_ = Phase::kReleasing;
    if (!is_complete(last_)) {
      return false;
    }
    const std::array ops = {
        put8(receiver_block + offsetof(ReceiverBlock, is_released), 1, true)};
    const acp_handle_t handle = channel::post(ops);
    if (handle == ACP_HANDLE_NULL) {
      return true;
    }
    last_ = handle;
  }
  phase_ = Phase::kReleased;
  return true;
}

/// The wish is cleared before the doorbell rings, so a wish that is set
/// meanwhile stays.
void Sender::ring_doorbell() {
  store(mine_->wants_doorbell, 0);
  const std::array ops = {
      add8(receiver_rank_block_ + offsetof(RankBlock, doorbell), 1, true)};
  (void)channel::post(ops);  // to memory that is mapped here: never refused
  owes_doorbell_ = false;
}

}  // namespace acp::middle::channel
