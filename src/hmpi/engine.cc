// The engine as a whole: its peers, contexts, progress and sleep. Sends are in
// engine_send.cc, receives in engine_receive.cc.
#include "hmpi/engine.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "acp/extension.h"
#include "hmpi/end_job.h"

namespace hmpi {

Engine::Engine(const Settings& settings,
               const std::vector<Member>& members,
               Peer me)
    : settings_(settings), me_(me), peers_(members.size()) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    static_cast<Member&>(peers_[i]) = members[i];
  }
  mine_ = peers_[me].memory;
  find_library();
}

Engine::~Engine() {
  for (auto& [id, messages] : early_) {
    messages.clear();
  }
}

/// The library memory of a host is one mapping, maybe with seams: neighbours of
/// one file, around this process's part of it.
void Engine::find_library() noexcept {
  const auto inside = reinterpret_cast<std::uintptr_t>(mine_);
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) {
    return;
  }
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  unsigned long file = 0;
  std::array<char, 4352> line{};
  while (std::fgets(line.data(), line.size(), maps) != nullptr) {
    std::uintptr_t first = 0;
    std::uintptr_t behind = 0;
    unsigned long inode = 0;
    // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers
    if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %lu",
                    &first, &behind, &inode) != 3) {
      continue;
    }
    const bool continues = first == end && inode == file;
    if (!continues && begin <= inside && inside < end) {
      break;
    }
    if (!continues) {
      begin = first;
      file = inode;
    }
    end = behind;
  }
  (void)std::fclose(maps);
  if (begin <= inside && inside < end) {
    library_begin_ = begin;
    library_bytes_ = end - begin;
  }
}

std::byte* Engine::here(const Partner& partner,
                        std::uint64_t address) const noexcept {
  return reinterpret_cast<std::byte*>(
      static_cast<std::uintptr_t>(address + partner.shift));
}

void Engine::end_by_overwritten(Peer peer, const char* what) const {
  end_job(std::string(what) + " of rank " + std::to_string(peers_[peer].rank) +
          " has been overwritten");
}

void Engine::check_library(Peer peer,
                           const void* address,
                           std::size_t bytes) const {
  if (!is_in_library(address, bytes)) {
    end_by_overwritten(peer,
                       "a message names memory that is not the library's: the "
                       "ring or the send record");
  }
}

/// The record at an address that a message names; null: none can be there.
SendRecord* Engine::find_record(Peer peer,
                                std::uint64_t address) const noexcept {
  std::byte* record = here(peers_[peer], address);
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(record) % alignof(SendRecord) == 0;
  return is_aligned && is_in_library(record, sizeof(SendRecord))
             ? std::launder(reinterpret_cast<SendRecord*>(record))
             : nullptr;
}

SendRecord& Engine::record_of(Peer peer, std::uint64_t address) {
  SendRecord* record = find_record(peer, address);
  if (record == nullptr) {
    end_by_overwritten(peer, "a message names no send record: the ring");
  }
  return *record;
}

void Engine::add(Context& context) {
  contexts_.emplace(context.id, &context);
  const auto early = early_.find(context.id);
  if (early == early_.end()) {
    return;
  }
  for (auto& message : early->second) {
    context.matching.keep(*message.release());
  }
  early_.erase(early);
}

/// A message that no receive will get. Its sender does not keep it any longer.
void Engine::drop(Arrived& arrived) {
  const std::unique_ptr<Arrived> owned(&arrived);
  const Message& message = arrived.message;
  switch (message.kind) {
    case Kind::kInline:
      tell_matched(peers_[arrived.peer], message.envelope.size);
      break;
    case Kind::kOffer:
      if (SendRecord* record =
              find_record(arrived.peer, message.offer.record)) {
        Offered waiting = Offered::kWaiting;
        record->state.compare_exchange_strong(waiting, Offered::kDone,
                                              std::memory_order_release);
      }
      break;
    case Kind::kGive: break;  // The buffer is lost, as what it held.
  }
}

void Engine::remove(Context& context) {
  contexts_.erase(context.id);
  last_context_ = nullptr;
  while (UnexpectedMessage* message =
             context.matching.probe(kAnyPeer, kAnyTag)) {
    context.matching.take(*message);
    drop(*static_cast<Arrived*>(message));
  }
}

bool Engine::progress(bool is_library_thread) {
  bool has_moved = false;
  for (std::size_t word = 0; word * 64 < peers_.size(); ++word) {
    // Acquire: pairs with open_ring().
    std::uint64_t bits = mine_->ringing[word].load(std::memory_order_acquire);
    for (; bits != 0; bits &= bits - 1) {
      const auto peer = static_cast<Peer>(
          word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      if (peer >= peers_.size()) {
        end_by_overwritten(me_, "the map of rings");
      }
      has_moved |= drain(peer, is_library_thread);
    }
  }
  if (kept_messages_ != 0) {
    for (Peer peer = 0; peer < peers_.size(); ++peer) {
      has_moved |= flush(peer);
    }
  }
  // Acquire: pairs with ask_attention().
  const std::uint64_t attention =
      mine_->attention.load(std::memory_order_acquire);
  if (attention != attention_seen_) {
    has_moved |= serve_all();
    attention_seen_ = attention;
  }
  for (std::size_t i = 0; i < copying_.size();) {
    if (go_on(*copying_[i])) {
      has_moved = true;
    }
    if (copying_[i]->is_complete) {
      copying_[i] = copying_.back();
      copying_.pop_back();
    } else {
      ++i;
    }
  }
  return has_moved;
}

void Engine::begin_sleep() noexcept {
  // Pairs with write() and ask_attention(): either the sender sees this word,
  // or the next progress() sees the message.
  mine_->sleeps.fetch_add(1, std::memory_order_relaxed);
  fences_.seldom();
}

void Engine::end_sleep() noexcept {
  mine_->sleeps.fetch_sub(1, std::memory_order_relaxed);
}

/// A sleep is short, so there is no fence in front: the sleeper may miss this.
void Engine::wake_sleeper(Peer peer) {
  if (peers_[peer].memory->sleeps.load(std::memory_order_relaxed) != 0) {
    wake(peer);
  }
}

void Engine::wake(Peer peer) {
  const Partner& partner = peers_[peer];
  acpx_op_t op{};
  op.opcode = ACPX_ADD8;
  op.flags = ACPX_SIGNAL;
  op.remote = partner.address + offsetof(PeerMemory, bell);
  op.operand = 1;
  // A window that is full is full of signals.
  (void)acpx_post(&op, 1, ACP_HANDLE_NULL);
}

/// A peer may be computing, or in a call that passes through. While it copies
/// what it has taken it needs no call.
void Engine::wake_awaited() {
  std::vector<Peer> awaited;
  for (Peer peer = 0; kept_messages_ != 0 && peer < peers_.size(); ++peer) {
    if (!peers_[peer].kept.empty()) {
      awaited.push_back(peer);
    }
  }
  offered_.find([&](const Send& send) {
    const Offered state = send.record->state.load(std::memory_order_relaxed);
    if (state != Offered::kTaken && state != Offered::kDone) {
      awaited.push_back(send.peer);
    }
    return false;
  });
  for (const Receive* receive : copying_) {
    awaited.push_back(receive->from);
  }
  std::ranges::sort(awaited);
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  for (const Peer peer : awaited) {
    if (peer != me_) {
      wake(peer);
    }
  }
}

}  // namespace hmpi
