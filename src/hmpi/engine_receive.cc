// The receiver's half of the engine: draining, matching, and the ways of data.
#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "acp/extension.h"
#include "hmpi/buffer_pool.h"
#include "hmpi/copy.h"
#include "hmpi/end_job.h"
#include "hmpi/engine.h"
#include "hmpi/protection.h"

namespace hmpi {

namespace {

/// Messages of a peer that are drained in a row, before the next peer's.
constexpr int kMostAtOnce = 64;
/// The sender learns of matched bytes in steps.
constexpr std::uint64_t kMatchedStep = std::uint64_t{32} << 10;

/// Reads memory of another process. The bytes read; -1: refused.
ssize_t read_process(std::int64_t process,
                     std::uint64_t from,
                     void* to,
                     std::size_t bytes) {
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(from)),
                     bytes};
  return ::process_vm_readv(static_cast<pid_t>(process), &local, 1, &remote, 1,
                            0);
}

}  // namespace

void Engine::begin(Receive& receive) {
  if (UnexpectedMessage* message = receive.context->matching.post(receive)) {
    fill(receive, *static_cast<Arrived*>(message));
  } else {
    ++posted_;
  }
}

void Engine::fill(Receive& receive, Arrived& message) {
  const std::unique_ptr<Arrived> owned(&message);
  match(receive, message.peer, message.message);
}

bool Engine::withdraw(Receive& receive) {
  if (receive.is_matched) {
    return false;
  }
  receive.context->matching.withdraw(receive);
  --posted_;
  return true;
}

/// The address of a ring stands in memory that all processes can write.
void Engine::find_ring(Peer peer) {
  Partner& partner = peers_[peer];
  auto* ring = reinterpret_cast<RingMemory*>(static_cast<std::uintptr_t>(
      mine_->rings[peer].load(std::memory_order_relaxed)));
  check_library(peer, ring, sizeof(RingMemory));
  if (reinterpret_cast<std::uintptr_t>(ring) % alignof(RingMemory) != 0) {
    end_by_overwritten(peer, "the address of the ring");
  }
  partner.in_memory = ring;
  partner.in.emplace(*ring);
}

/// Accepts the messages of a ring, up to kMostAtOnce. Whether there was one.
bool Engine::drain(Peer peer, bool is_library_thread) {
  Partner& partner = peers_[peer];
  if (!partner.in) {
    find_ring(peer);
  }
  Message message;
  int count = 0;
  while (count < kMostAtOnce) {
    const RingReader::Look look = partner.in->look(message);
    if (look == RingReader::Look::kBroken) {
      end_by_overwritten(peer,
                         "a message is none that a sender writes: the ring");
    }
    if (look == RingReader::Look::kEmpty ||
        !accept(peer, message, is_library_thread)) {
      break;
    }
    partner.in->pop();
    ++count;
  }
  if (count == 0) {
    return false;
  }
  // Pairs with ask_for_room(). Either its second look sees the room, or this
  // look sees that the writer waits.
  fences_.often();
  if (partner.in_memory->writer_waits.load(std::memory_order_relaxed) != 0) {
    partner.in_memory->writer_waits.store(0, std::memory_order_relaxed);
    wake(peer);
  }
  return true;
}

/// The sender has written the lines that are written here next: the header in
/// front of a given buffer, or the record of an offer. They come while the
/// message is matched.
void Engine::fetch_ahead(Peer peer, const Message& message) const noexcept {
  const Partner& partner = peers_[peer];
  const std::byte* data = here(partner, message.offer.address);
  if (message.kind == Kind::kGive) {
    __builtin_prefetch(data - sizeof(Block), 1);
    __builtin_prefetch(data);
  } else if (message.kind == Kind::kOffer) {
    __builtin_prefetch(here(partner, message.offer.record), 1);
  }
}

/// Messages in a row are often of one context.
Context* Engine::find_context(std::uint64_t id) noexcept {
  if (last_context_ == nullptr || last_context_->id != id) {
    const auto found = contexts_.find(id);
    if (found == contexts_.end()) {
      return nullptr;
    }
    last_context_ = found->second;
  }
  return last_context_;
}

/// False: the message stays in the ring, and is asked about again.
bool Engine::accept(Peer peer, const Message& message, bool is_library_thread) {
  fetch_ahead(peer, message);
  Context* found = find_context(message.envelope.context);
  if (found == nullptr) {
    early_[message.envelope.context].push_back(copy_of(peer, message));
    return true;
  }
  Context& context = *found;
  for (;;) {
    auto* receive = static_cast<Receive*>(
        context.matching.expecting(peer, message.envelope.tag));
    if (receive == nullptr) {
      counters_.unexpected_messages += 1;
      context.matching.keep(*copy_of(peer, message).release());
      return true;
    }
    const Receive::Claim claim = receive->claim(is_library_thread);
    if (claim == Receive::Claim::kLater) {
      return false;
    }
    context.matching.withdraw(*receive);
    --posted_;
    if (claim == Receive::Claim::kMine) {
      match(*receive, peer, message);
      return true;
    }
  }
}

std::unique_ptr<Arrived> Engine::copy_of(Peer peer, const Message& message) {
  auto arrived = std::make_unique<Arrived>();
  arrived->peer = peer;
  arrived->tag = message.envelope.tag;
  arrived->message = message;
  const std::size_t bytes = message.in_ring.size();
  if (bytes != 0) {
    arrived->copy.reset(static_cast<std::byte*>(std::malloc(bytes)));
    if (arrived->copy == nullptr) {
      end_job("no memory for a message of " + std::to_string(bytes) +
              " bytes that no receive has asked for");
    }
    std::memcpy(arrived->copy.get(), message.in_ring.data(), bytes);
    arrived->message.in_ring = {arrived->copy.get(), bytes};
  }
  return arrived;
}

namespace {

/// Adds the time of its life to a counter.
class Watch {
 public:
  explicit Watch(std::uint64_t* sum) noexcept
      : sum_(sum), begin_(sum == nullptr ? 0 : now()) {}

  ~Watch() {
    if (sum_ != nullptr) {
      *sum_ += now() - begin_;
    }
  }

  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  static std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now().time_since_epoch())
            .count());
  }

  std::uint64_t* sum_;
  std::uint64_t begin_;
};

}  // namespace

/// Where the time goes that copying the data of a message takes; null: nobody
/// asks. The sender's copy in library memory is told by its size.
std::uint64_t* Engine::clock_of(Kind kind, std::size_t bytes) noexcept {
  if (!settings_.has_clock) {
    return nullptr;
  }
  switch (kind) {
    case Kind::kInline: return &counters_.inline_nanoseconds;
    case Kind::kGive: return &counters_.given_nanoseconds;
    case Kind::kOffer: break;
  }
  return bytes <= settings_.copy_bytes ? &counters_.copied_nanoseconds
                                       : &counters_.offered_nanoseconds;
}

void Engine::match(Receive& receive, Peer peer, const Message& message) {
  const Watch watch(clock_of(message.kind, message.envelope.size));
  deliver(receive, peer, message);
}

/// Gives a message to its receive, and copies the data, or begins to.
void Engine::deliver(Receive& receive, Peer peer, const Message& message) {
  receive.is_matched = true;
  receive.envelope = message.envelope;
  const std::size_t size = message.envelope.size;
  const std::size_t bytes = std::min(size, receive.capacity);
  if (receive.takes_buffer && message.kind != Kind::kGive) {
    receive.given = static_cast<std::byte*>(g_buffers.take(bytes));
    receive.buffer = receive.given;
    if (receive.given == nullptr) {
      end_job("no library memory for the " + std::to_string(bytes) +
              " bytes that OPI_Take takes; give each process a larger heap by "
              "HMPI_HEAP_SIZE");
    }
  }
  if (receive.is_packed && receive.buffer == nullptr && bytes != 0) {
    receive.staging.reset(static_cast<std::byte*>(std::malloc(bytes)));
    receive.buffer = receive.staging.get();
    if (receive.buffer == nullptr) {
      end_job("no memory to unpack " + std::to_string(bytes) +
              " bytes of a derived type");
    }
  }
  receive.received = bytes;
  switch (message.kind) {
    case Kind::kInline:
      copy_message(receive.buffer, message.in_ring.data(), bytes);
      tell_matched(peers_[peer], size);
      receive.is_complete = true;
      break;
    case Kind::kGive: take_given(receive, peer, message.offer.address); break;
    case Kind::kOffer: take_offer(receive, peer, message); break;
  }
}

/// The buffer is this process's from here on. A receive that is no OPI_Take
/// gets a copy, and the buffer is free.
void Engine::take_given(Receive& receive, Peer peer, std::uint64_t address) {
  std::byte* buffer = here(peers_[peer], address);
  const std::size_t bytes = receive.received;
  check_library(peer, buffer, receive.envelope.size);
  // This process may have given other memory before that lay there: also where
  // the header is, and behind the bytes that come.
  g_protection.allow(buffer - sizeof(Block),
                     sizeof(Block) + receive.envelope.size);
  Block* block = g_host_memory.block_at(buffer);
  if (block != nullptr) {
    g_protection.allow(buffer, block->capacity());
    block->is_given = 0;
  }
  if (receive.takes_buffer) {
    receive.given = buffer;
  } else {
    if (bytes != 0) {
      std::memcpy(receive.buffer, buffer, bytes);
    }
    if (block != nullptr) {
      g_buffers.give_back(*block);
    }
  }
  receive.is_complete = true;
}

void Engine::tell_matched(Partner& partner, std::size_t bytes) {
  partner.matched += bytes + sizeof(Cell);
  if (partner.matched - partner.matched_told >= kMatchedStep) {
    partner.matched_told = partner.matched;
    partner.in_memory->matched.store(partner.matched,
                                     std::memory_order_relaxed);
  }
}

/// The data are read as soon as the record can be taken.
void Engine::take_offer(Receive& receive, Peer peer, const Message& message) {
  receive.record = &record_of(peer, message.offer.record);
  receive.from = peer;
  receive.is_taken = false;
  take(receive);
  if (!receive.is_complete) {
    copying_.push_back(&receive);
  }
}

/// Takes the record that a message offers, and reads the data: directly, by the
/// kernel's copy, or in steps together with the sender. False: the sender
/// is copying its data elsewhere, and may die there, so this is tried again.
bool Engine::take(Receive& receive) {
  SendRecord& record = *receive.record;
  Partner& partner = peers_[receive.from];
  Offered state = Offered::kWaiting;
  // Acquire: pairs with detach().
  if (!record.state.compare_exchange_strong(state, Offered::kTaken,
                                            std::memory_order_acquire)) {
    if (state != Offered::kDetaching) {
      end_by_overwritten(receive.from,
                         "a message names a record that is not offered: the "
                         "ring or the send record");
    }
    return false;
  }
  receive.is_taken = true;
  const std::size_t bytes = receive.received;
  const bool is_own = receive.from == me_;
  const bool is_readable = record.is_in_library != 0 || is_own;
  if (is_readable) {
    const std::byte* data = here(partner, record.address);
    if (!is_own) {
      check_library(receive.from, data, bytes);
      g_protection.allow(data, bytes);
    }
    if (bytes < settings_.both_from || is_own ||
        !is_in_library(receive.buffer, bytes)) {
      if (!is_own) {
        copy_message(receive.buffer, data, bytes);
      } else if (bytes != 0) {
        std::memmove(receive.buffer, data, bytes);
      }
      end_copy(receive);
      return true;
    }
    receive.data = data;
    record.target = reinterpret_cast<std::uintptr_t>(receive.buffer);
    record.next.store(0, std::memory_order_relaxed);
    record.copied.store(0, std::memory_order_relaxed);
  } else if (bytes == 0 || (can_read_private(receive.from) &&
                            read_private(receive.from, record.address,
                                         receive.buffer, bytes))) {
    end_copy(receive);
    return true;
  } else {
    receive.data = nullptr;
    receive.copied = 0;
    record.bounce.store(0, std::memory_order_relaxed);
    record.filled.store(0, std::memory_order_relaxed);
    record.drained.store(0, std::memory_order_relaxed);
  }
  record.wanted = bytes;
  // Release: the sender sees the words above.
  record.state.store(is_readable ? Offered::kBoth : Offered::kBounce,
                     std::memory_order_release);
  ask_attention(partner);
  return true;
}

/// The receive has its data, and the sender its record back.
void Engine::end_copy(Receive& receive) {
  SendRecord& record = *receive.record;
  receive.record = nullptr;
  receive.is_complete = true;
  // Release: the data have been read.
  record.state.store(Offered::kDone, std::memory_order_release);
  wake_sleeper(receive.from);
}

void Engine::ask_attention(Partner& partner) {
  partner.memory->attention.fetch_add(1, std::memory_order_relaxed);
  // Pairs with begin_sleep().
  fences_.often();
  wake_sleeper(static_cast<Peer>(&partner - peers_.data()));
}

/// Copies the next part of a copy that takes several steps. Whether it had one.
bool Engine::go_on(Receive& receive) {
  if (!receive.is_taken) {
    return take(receive);
  }
  const Watch watch(clock_of(Kind::kOffer, receive.envelope.size));
  return receive.data != nullptr ? copy_with_sender(receive)
                                 : copy_bounced(receive);
}

/// Copies the pieces that the sender has not claimed. All bounds are those of
/// this process: other processes can write the record. An overwritten record
/// may name the receiver's own buffer, so the ranges may overlap.
bool Engine::copy_with_sender(Receive& receive) {
  SendRecord& record = *receive.record;
  const std::uint64_t wanted = receive.received;
  bool has_moved = false;
  for (;;) {
    const std::uint64_t at =
        record.next.fetch_add(kPieceBytes, std::memory_order_relaxed);
    if (at >= wanted) {
      break;
    }
    const std::uint64_t bytes = std::min(kPieceBytes, wanted - at);
    std::memmove(receive.buffer + at, receive.data + at, bytes);
    record.copied.fetch_add(bytes, std::memory_order_relaxed);
    has_moved = true;
  }
  // Acquire: the sender has copied its pieces.
  if (record.copied.load(std::memory_order_acquire) != wanted) {
    return has_moved;
  }
  end_copy(receive);
  return true;
}

/// Copies the pieces that the sender has put into its bounce buffer.
bool Engine::copy_bounced(Receive& receive) {
  SendRecord& record = *receive.record;
  const std::uint64_t filled = record.filled.load(std::memory_order_acquire);
  const bool has_moved = receive.copied < filled;
  if (has_moved) {
    const std::byte* bounce = here(
        peers_[receive.from], record.bounce.load(std::memory_order_acquire));
    check_library(receive.from, bounce, kBounceBytes);
    if (filled > receive.received) {
      end_by_overwritten(receive.from,
                         "a bounce buffer has too many bytes: the send record");
    }
    while (receive.copied < filled) {
      const std::uint64_t bytes =
          std::min(kPieceBytes, filled - receive.copied);
      std::memmove(receive.buffer + receive.copied,
                   bounce + receive.copied % kBounceBytes, bytes);
      receive.copied += bytes;
      // Release: the sender may write this piece again.
      record.drained.store(receive.copied, std::memory_order_release);
    }
    wake_sleeper(receive.from);
  }
  if (receive.copied == receive.received) {
    end_copy(receive);
    return true;
  }
  return has_moved;
}

bool Engine::can_read_private(Peer peer) {
  Partner& partner = peers_[peer];
  if (partner.kernel_copy == KernelCopy::kUnknown) {
    std::uint64_t word = 0;
    const bool works =
        settings_.has_kernel_copy &&
        read_process(partner.process, partner.probe_address, &word,
                     sizeof word) == static_cast<ssize_t>(sizeof word) &&
        word == partner.probe_word;
    partner.kernel_copy = works ? KernelCopy::kWorks : KernelCopy::kRefused;
  }
  return partner.kernel_copy == KernelCopy::kWorks;
}

/// False, after a part perhaps: the sender has to bounce it.
bool Engine::read_private(Peer peer,
                          std::uint64_t from,
                          std::byte* to,
                          std::size_t bytes) {
  const std::int64_t process = peers_[peer].process;
  while (bytes != 0) {
    const ssize_t n = read_process(process, from, to, bytes);
    if (n <= 0) {
      return false;
    }
    from += static_cast<std::uint64_t>(n);
    to += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace hmpi
