// The sender's half of the engine: the way of each message, the room in rings,
// and the help that receivers ask for.
#include <algorithm>
#include <cstring>
#include <new>

#include "acp/extension.h"
#include "hmpi/copy.h"
#include "hmpi/end_job.h"
#include "hmpi/engine.h"
#include "hmpi/protection.h"

namespace hmpi {

namespace {

/// Copies of complete sends at most, in bytes. Beyond it a send waits.
constexpr std::size_t kMostLeftBytes = std::size_t{64} << 20;
/// Bytes that a copy takes beside its data: its block, record and place.
constexpr std::size_t kLeftOverhead = 256;
/// Inline data that wait for room in a ring at most, for one peer.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;
/// Copies that each further copy looks at, so that it takes a bounded time.
constexpr std::size_t kLooks = 4;
/// Records that are taken from the heap at a time.
constexpr std::size_t kRecordsAtOnce = 64;

Bytes copy_bytes(std::span<const std::byte> data) {
  Bytes copy(static_cast<std::byte*>(std::malloc(data.size() + 1)));
  if (copy != nullptr && !data.empty()) {
    std::memcpy(copy.get(), data.data(), data.size());
  }
  return copy;
}

}  // namespace

bool Engine::open_ring(Peer peer) {
  Partner& partner = peers_[peer];
  void* memory = g_host_memory.take_reserved(sizeof(RingMemory));
  if (memory == nullptr) {
    return false;
  }
  std::memset(memory, 0, sizeof(RingMemory));
  partner.out_memory = new (memory) RingMemory;
  partner.out.emplace(*partner.out_memory);
  // The reader finds the ring at an address of its own process.
  const std::uint64_t there =
      reinterpret_cast<std::uintptr_t>(memory) - partner.shift;
  partner.memory->rings[me_].store(there, std::memory_order_relaxed);
  // Release: pairs with progress().
  partner.memory->ringing[me_ / 64].fetch_or(std::uint64_t{1} << (me_ % 64),
                                             std::memory_order_release);
  return true;
}

/// The reader of a full ring wakes this process when it has made room. It is
/// asked once, until it has, and may have made room meanwhile.
bool Engine::ask_for_room(Partner& partner, const Message& message) {
  std::atomic<std::uint32_t>& waits = partner.out_memory->writer_waits;
  if (waits.load(std::memory_order_relaxed) != 0) {
    return false;
  }
  waits.store(1, std::memory_order_relaxed);
  // Pairs with drain().
  fences_.seldom();
  return partner.out->write(message);
}

bool Engine::write(Partner& partner, const Message& message) {
  if (!partner.out && !open_ring(static_cast<Peer>(&partner - peers_.data()))) {
    end_job("no memory for a ring of " + std::to_string(sizeof(RingMemory)) +
            " bytes; give each process a larger heap by HMPI_HEAP_SIZE");
  }
  if (!partner.out->write(message) && !ask_for_room(partner, message)) {
    return false;
  }
  // Pairs with begin_sleep().
  fences_.often();
  if (partner.memory->sleeps.load(std::memory_order_relaxed) != 0) {
    wake(static_cast<Peer>(&partner - peers_.data()));
  }
  return true;
}

/// Messages that are kept go first. An inline message without room is copied;
/// when too many are, it stays where it is and completes later.
void Engine::post(Send& send, const Message& message) {
  Partner& partner = peers_[send.peer];
  const bool is_offer = message.kind == Kind::kOffer;
  if (partner.kept.empty() && write(partner, message)) {
    send.is_complete = !is_offer;
    return;
  }
  Kept kept;
  kept.message = message;
  const std::size_t bytes = message.in_ring.size();
  if (message.kind == Kind::kGive) {
    send.is_complete = true;
  } else if (!is_offer && partner.kept_bytes + bytes <= kMostKeptBytes &&
             (kept.copy = copy_bytes(message.in_ring)) != nullptr) {
    kept.message.in_ring = {kept.copy.get(), bytes};
    partner.kept_bytes += bytes;
    send.is_complete = true;
  } else if (!is_offer) {
    kept.owner = &send;
  }
  partner.kept.push_back(std::move(kept));
  ++kept_messages_;
  acpx_hurry_progress();
}

bool Engine::flush(Peer peer) {
  Partner& partner = peers_[peer];
  bool has_moved = false;
  while (!partner.kept.empty() &&
         write(partner, partner.kept.front().message)) {
    Kept& kept = partner.kept.front();
    if (kept.owner != nullptr) {
      kept.owner->is_complete = true;
    }
    if (kept.copy != nullptr) {
      partner.kept_bytes -= kept.message.in_ring.size();
    }
    partner.kept.pop_front();
    --kept_messages_;
    has_moved = true;
  }
  return has_moved;
}

bool Engine::has_record() {
  if (free_records_.empty()) {
    auto* memory = static_cast<std::byte*>(
        g_host_memory.take_reserved(kRecordsAtOnce * sizeof(SendRecord)));
    for (std::size_t i = 0; memory != nullptr && i < kRecordsAtOnce; ++i) {
      free_records_.push_back(new (memory + i * sizeof(SendRecord)) SendRecord);
    }
  }
  return !free_records_.empty();
}

SendRecord* Engine::new_record() {
  if (!has_record()) {
    end_job(
        "no memory for the records of sends; give each process a larger heap "
        "by HMPI_HEAP_SIZE");
  }
  SendRecord* record = free_records_.back();
  free_records_.pop_back();
  return record;
}

/// Copies that their receivers have are free again. Looks at some of them, in
/// turn.
void Engine::reclaim(std::size_t looks) {
  for (std::size_t i = std::min(looks, left_.size()); i != 0; --i) {
    const Left left = left_.front();
    left_.pop_front();
    // Acquire: the receiver has read the data.
    if (left.record->state.load(std::memory_order_acquire) != Offered::kDone) {
      left_.push_back(left);
      continue;
    }
    left_bytes_ -= left.bytes + kLeftOverhead;
    if (left.is_buffered) {
      buffered_bytes_ -= left.bytes;
    }
    g_host_memory.give_back(left.block);
    free_records_.push_back(left.record);
  }
}

void Engine::offer(Send& send, const void* data, bool is_in_library) {
  SendRecord* record = new_record();
  record->is_in_library = is_in_library ? 1 : 0;
  record->address = reinterpret_cast<std::uintptr_t>(data);
  record->size = send.envelope.size;
  // The ring publishes it.
  record->state.store(Offered::kWaiting, std::memory_order_relaxed);
  send.record = record;
  send.offered = static_cast<const std::byte*>(data);
  offered_.push_back(send);
  Message message;
  message.envelope = send.envelope;
  message.kind = Kind::kOffer;
  message.offer = {.address = record->address,
                   .record = reinterpret_cast<std::uintptr_t>(record)};
  post(send, message);
}

/// The receiver reads a copy in library memory, so the send is complete unless
/// it is synchronous. False: there is no memory for it.
bool Engine::copy_and_offer(Send& send) {
  reclaim(kLooks);
  const std::size_t bytes = send.envelope.size;
  const bool are_too_many =
      left_bytes_ + bytes + kLeftOverhead > kMostLeftBytes;
  if ((are_too_many && !send.is_buffered) || !has_record()) {
    return false;
  }
  if (send.block == nullptr) {
    send.block = g_host_memory.take(bytes);
    if (send.block == nullptr) {
      return false;
    }
    copy_message(static_cast<std::byte*>(send.block), send.data, bytes);
  }
  counters_.copied_messages += 1;
  counters_.copied_bytes += bytes;
  offer(send, send.block, true);
  if (!send.is_synchronous) {
    leave(send);
  }
  return true;
}

/// The send is complete, and its copy stays until the receiver has it.
void Engine::leave(Send& send) {
  const std::size_t bytes = send.envelope.size;
  left_.push_back({send.record, send.block, bytes, send.is_buffered});
  left_bytes_ += bytes + kLeftOverhead;
  if (send.is_buffered) {
    buffered_bytes_ += bytes;
  }
  offered_.remove(send);
  send.record = nullptr;
  send.block = nullptr;
  send.is_complete = true;
}

/// Chooses the way of the data; docs/hmpi.md has the table.
bool Engine::begin(Send& send) {
  const std::size_t bytes = send.envelope.size;
  Partner& partner = peers_[send.peer];
  if (send.kind == Kind::kGive) {
    counters_.given_messages += 1;
    counters_.given_bytes += bytes;
    Message message;
    message.envelope = send.envelope;
    message.kind = Kind::kGive;
    message.offer.address = reinterpret_cast<std::uintptr_t>(send.data);
    post(send, message);
    return true;
  }
  // A buffered send waits for nothing, so it goes only where it completes.
  const bool may_wait =
      send.is_buffered && partner.kept_bytes + bytes > kMostKeptBytes;
  if (!send.is_synchronous && send.block == nullptr && !may_wait &&
      is_short(partner, bytes)) {
    count_short(partner, bytes);
    post(send, {.envelope = send.envelope, .in_ring = {send.data, bytes}});
    return true;
  }
  const bool is_small = bytes <= settings_.copy_bytes;
  if ((is_small || send.is_buffered || send.block != nullptr) &&
      copy_and_offer(send)) {
    return true;
  }
  if (send.is_buffered) {
    return false;
  }
  counters_.offered_messages += 1;
  counters_.offered_bytes += bytes;
  const void* data = send.block != nullptr ? send.block : send.data;
  offer(send, data, is_in_library(data, bytes));
  return true;
}

/// Whether the data go in the ring: the receiver has asked for enough of such
/// messages so far. The reader writes the line of its count with each message,
/// so the count is read as seldom as possible.
bool Engine::is_short(Partner& partner, std::size_t bytes) const noexcept {
  if (bytes > settings_.inline_bytes) {
    return false;
  }
  const auto has_room = [&] {
    return partner.sent + bytes - partner.sent_matched <= settings_.kept_bytes;
  };
  if (!has_room() && partner.out) {
    partner.sent_matched =
        partner.out_memory->matched.load(std::memory_order_relaxed);
  }
  return has_room();
}

void Engine::count_short(Partner& partner, std::size_t bytes) noexcept {
  counters_.inline_messages += 1;
  counters_.inline_bytes += bytes;
  partner.sent += bytes + sizeof(Cell);
}

bool Engine::send_short(Peer peer,
                        const Envelope& envelope,
                        const std::byte* data) {
  Partner& partner = peers_[peer];
  if (!is_short(partner, envelope.size) || !partner.kept.empty() ||
      !write(partner,
             {.envelope = envelope, .in_ring = {data, envelope.size}})) {
    return false;
  }
  count_short(partner, envelope.size);
  return true;
}

bool Engine::is_complete(Send& send) {
  if (send.is_complete || send.record == nullptr) {
    return send.is_complete;
  }
  // Acquire: the receiver has read the data.
  const Offered state = send.record->state.load(std::memory_order_acquire);
  const bool is_copy = send.block != nullptr && send.offered == send.block;
  if (state == Offered::kDone) {
    offered_.remove(send);
    free_records_.push_back(send.record);
    g_host_memory.give_back(send.block);
    send.record = nullptr;
    send.block = nullptr;
    send.is_complete = true;
  } else if (is_copy && state == Offered::kTaken) {
    leave(send);
  }
  return send.is_complete;
}

/// The receiver may take the message at any moment: the state decides.
void Engine::detach(Send& send) {
  const std::size_t bytes = send.envelope.size;
  if (send.record == nullptr || send.is_synchronous || send.is_complete ||
      bytes > settings_.detach_bytes || left_bytes_ + bytes > kMostLeftBytes) {
    return;
  }
  Offered waiting = Offered::kWaiting;
  if (!send.record->state.compare_exchange_strong(waiting, Offered::kDetaching,
                                                  std::memory_order_acquire)) {
    return;
  }
  bool is_copied = send.block != nullptr;
  if (!is_copied) {
    reclaim(kLooks);
    send.block = g_host_memory.take(bytes);
    is_copied = send.block != nullptr;
    if (is_copied) {
      std::memcpy(send.block, send.data, bytes);
      send.record->address = reinterpret_cast<std::uintptr_t>(send.block);
      send.record->is_in_library = 1;
    }
  }
  // Release: pairs with take_offer().
  send.record->state.store(Offered::kWaiting, std::memory_order_release);
  if (is_copied) {
    leave(send);
  }
}

/// Helps a receiver that copies in steps. Whether it will need more help.
bool Engine::serve(Send& send) {
  SendRecord& record = *send.record;
  const Offered state = record.state.load(std::memory_order_acquire);
  const Partner& partner = peers_[send.peer];
  const std::byte* data = send.offered;
  if (state != Offered::kBoth && state != Offered::kBounce) {
    return false;
  }
  // Before these states the receiver may be writing it.
  const std::uint64_t asked = record.wanted;
  const std::uint64_t wanted = std::min(asked, send.envelope.size);
  if (state == Offered::kBoth) {
    std::byte* target = here(partner, record.target);
    if (!is_in_library(target, wanted)) {
      return false;
    }
    g_protection.allow(target, wanted);
    for (;;) {
      const std::uint64_t at =
          record.next.fetch_add(kPieceBytes, std::memory_order_relaxed);
      if (at >= wanted) {
        return false;
      }
      const std::uint64_t bytes = std::min(kPieceBytes, wanted - at);
      std::memcpy(target + at, data + at, bytes);
      // Release: the receiver sees the bytes.
      record.copied.fetch_add(bytes, std::memory_order_release);
    }
  }
  if (send.block == nullptr) {
    send.block = g_host_memory.take(kBounceBytes);
    if (send.block == nullptr) {
      return true;
    }
    record.bounce.store(reinterpret_cast<std::uintptr_t>(send.block),
                        std::memory_order_release);
  }
  std::uint64_t filled = record.filled.load(std::memory_order_relaxed);
  while (filled < wanted &&
         // Acquire: the receiver has read the piece that is overwritten.
         filled - record.drained.load(std::memory_order_acquire) <=
             kBounceBytes - kPieceBytes) {
    const std::uint64_t bytes = std::min(kPieceBytes, wanted - filled);
    std::memcpy(static_cast<std::byte*>(send.block) + filled % kBounceBytes,
                data + filled, bytes);
    filled += bytes;
    record.filled.store(filled, std::memory_order_release);
  }
  wake_sleeper(send.peer);
  return filled < wanted;
}

/// Whether a receiver will ask for more: then the library looks again.
bool Engine::serve_all() {
  bool wants_more = false;
  offered_.find([&](Send& send) {
    wants_more |= serve(send);
    return false;
  });
  if (wants_more) {
    // Not seen yet: the next progress serves again.
    mine_->attention.fetch_add(1, std::memory_order_relaxed);
    acpx_hurry_progress();
  }
  return wants_more;
}

}  // namespace hmpi
