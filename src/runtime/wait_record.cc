// Publishes the waits of this rank's threads. Called by every wait when it
// begins and when it ends; may not block for long.
#include "runtime/wait_record.h"

#include <unistd.h>

#include <algorithm>

#include "gma/call_name.h"

namespace acp::runtime {

namespace {

/// The kernel's number of the calling thread.
std::uint32_t this_thread() noexcept {
  thread_local constinit std::uint32_t number = 0;
  if (number == 0) {
    number = static_cast<std::uint32_t>(::gettid());
  }
  return number;
}

}  // namespace

void WaitRecord::enter(protocol::WaitKind kind, std::uint32_t peer) {
  const std::lock_guard lock(mutex_);
  waits_.push_back({kind, peer, this_thread(), gma::call_name(), {}});
  if (counters_ != nullptr) {
    note_begin(waits_.back());
  }
  publish();
}

void WaitRecord::leave() {
  const std::lock_guard lock(mutex_);
  const auto mine = std::ranges::find(waits_.rbegin(), waits_.rend(),
                                      this_thread(), &Wait::thread);
  if (mine != waits_.rend()) {
    const Wait ended = *mine;
    waits_.erase(std::prev(mine.base()));
    if (counters_ != nullptr) {
      note_end(ended);
    }
  }
  publish();
}

void WaitRecord::note_begin(Wait& wait) noexcept {
  wait.began = SteadyClock().now();
  if (waits_.size() == 1) {
    counters_->begin_waiting(wait.began);
  }
}

void WaitRecord::note_end(const Wait& wait) {
  const TimePoint now = SteadyClock().now();
  if (waits_.empty()) {
    counters_->end_waiting(now);
  }
  counters_->note_wait(wait.kind, wait.name, wait.peer, now - wait.began);
}

/// Relaxed stores: acprun reads the record at any time and for people, and
/// nothing else is read because of it. The kind comes last.
void WaitRecord::publish() {
  record_.waits.store(record_.waits.load(std::memory_order_relaxed) + 1,
                      std::memory_order_relaxed);
  auto kind = protocol::WaitKind::kNothing;
  if (!waits_.empty()) {
    const Wait& newest = waits_.back();
    kind = newest.kind;
    record_.wait_thread.store(newest.thread, std::memory_order_relaxed);
    record_.wait_peer.store(newest.peer, std::memory_order_relaxed);
    if (newest.name != shown_name_) {
      shown_name_ = newest.name;
      record_.wait_name.set(newest.name);
    }
  }
  record_.wait_kind.store(static_cast<std::uint32_t>(kind),
                          std::memory_order_relaxed);
}

}  // namespace acp::runtime
