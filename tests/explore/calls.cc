// Waits, barriers, progress steps and settings: all functions of acp.h and
// acp/extension.h but the operations. Called by fake_acp.cc, in a fiber.
#include <algorithm>

#include "explore/arena.h"
#include "explore/world.h"

namespace explore {

int World::rank() const {
  return running_ == nullptr ? adding_ : running_->rank;
}

int& World::error() {
  static int outside = 0;
  return running_ == nullptr ? outside : running_->error;
}

bool World::is_in_step() const {
  return running_ != nullptr && running_->program < 0;
}

Microseconds World::deadline_of(int timeout_ms) const {
  return timeout_ms < 0
             ? 0
             : time_ + static_cast<Microseconds>(timeout_ms) * 1000 + 1;
}

bool World::is_complete(acp_handle_t handle) const {
  const RankState& state = state_[static_cast<std::size_t>(rank())];
  if (handle == ACP_HANDLE_ALL) {
    return state.open.empty();
  }
  return handle > state.issued || state.open.empty() ||
         state.open.front() > handle;
}

/// Returns the result of acpx_complete_timeout.
int World::complete(acp_handle_t handle, int timeout_ms) {
  RankState& state = state_[static_cast<std::size_t>(rank())];
  if (is_in_step()) {
    error() = ACPX_AGAIN;
    return -1;
  }
  if (handle == ACP_HANDLE_ALL) {
    handle = state.issued;
  }
  if (!is_complete(handle) && timeout_ms != 0 && !is_ending_) {
    Wait wait;
    wait.kind = Wait::Kind::kHandle;
    wait.handle = handle;
    wait.deadline = deadline_of(timeout_ms);
    block(wait);
  }
  if (!is_complete(handle)) {
    if (is_ending_) {
      error() = ACPX_ABORTED;
      return -1;
    }
    return 1;
  }
  if (state.failure != 0 && state.failed <= handle) {
    error() = state.failure;
    state.failure = 0;
    return -1;
  }
  return 0;
}

/// A word that differs at once ends the call without a step of the schedule.
int World::wait_word(acp_ga_t word,
                     std::uint64_t unlike,
                     int timeout_ms,
                     std::uint64_t* value) {
  if (is_in_step()) {
    error() = ACPX_AGAIN;
    return -1;
  }
  const auto* at =
      reinterpret_cast<const std::uint64_t*>(memory_.find(word, 8));
  if (at == nullptr || memory_.rank_of(word) != rank()) {
    error() = at == nullptr ? ACPX_BAD_ADDRESS : ACPX_BAD_RANK;
    return -1;
  }
  if (*at == unlike && timeout_ms != 0 && !is_ending_) {
    Wait wait;
    wait.kind = Wait::Kind::kWord;
    wait.word = at;
    wait.unlike = unlike;
    wait.deadline = deadline_of(timeout_ms);
    block(wait);
  }
  if (*at == unlike) {
    if (is_ending_) {
      error() = ACPX_ABORTED;
      return -1;
    }
    return 1;
  }
  if (value != nullptr) {
    *value = *at;
  }
  return 0;
}

/// Calls the condition again after each event of the rank.
int World::wait_until(int (*done)(void*), void* argument, int timeout_ms) {
  if (is_in_step()) {
    error() = ACPX_AGAIN;
    return -1;
  }
  const Microseconds deadline = deadline_of(timeout_ms);
  for (;;) {
    // Read first: an event that comes while `done` runs ends the wait.
    const std::uint64_t events =
        state_[static_cast<std::size_t>(rank())].events;
    bool is_done = false;
    {
      const InRank inside(true);
      is_done = done(argument) != 0;
    }
    if (is_done) {
      return 0;
    }
    if (is_ending_) {
      error() = ACPX_ABORTED;
      return -1;
    }
    if (timeout_ms == 0) {
      yield();
      return 1;
    }
    if (deadline != 0 && time_ >= deadline) {
      return 1;
    }
    Wait wait;
    wait.kind = Wait::Kind::kEvent;
    wait.seen = events;
    wait.deadline = deadline;
    block(wait);
  }
}

int World::barrier() {
  if (is_ordering_) {
    order_.write(kBarrierWord);
  }
  if (++at_barrier_ == ranks()) {
    at_barrier_ = 0;
    ++barriers_;
    return 0;
  }
  Wait wait;
  wait.kind = Wait::Kind::kBarrier;
  wait.seen = barriers_;
  block(wait);
  if (is_ending_) {
    error() = ACPX_ABORTED;
    return -1;
  }
  return 0;
}

void World::yield() {
  Wait wait;
  wait.kind = Wait::Kind::kYield;
  wait.seen = steps_ - passes_;
  block(wait);
}

/// A mutex of a rank is an int here: 1 while a fiber has it.
void World::lock(void* mutex) {
  auto& is_taken = *static_cast<int*>(mutex);
  while (is_taken != 0) {
    Wait wait;
    wait.kind = Wait::Kind::kMutex;
    wait.mutex = mutex;
    block(wait);
  }
  is_taken = 1;
}

void World::note_begin() {
  running_->newest.clear();
  if (is_ordering_) {
    order_.read(kClockWord);
  }
}

void World::note_end() {
  if (is_ordering_) {
    order_.write(kClockWord);
  }
  if (is_ordering_ && watcher_ != nullptr) {
    watcher_->on_call_end(running_);
  }
}

bool World::add_step(int (*step)(void*), void* argument) {
  RankState& state = state_[static_cast<std::size_t>(rank())];
  for (const Step& known : state.steps) {
    if (known.function == step && known.argument == argument) {
      return false;
    }
  }
  state.steps.push_back({step, argument});
  hurry();
  return true;
}

bool World::remove_step(int (*step)(void*), void* argument) {
  RankState& state = state_[static_cast<std::size_t>(rank())];
  return std::erase_if(state.steps, [&](const Step& known) {
           return known.function == step && known.argument == argument;
         }) != 0;
}

void World::hurry() {
  ++state_[static_cast<std::size_t>(rank())].events;
}

acp_ga_t World::module_ga(int module, int rank) const {
  return memory_.library_ga(rank,
                            module_offsets_[static_cast<std::size_t>(module)]);
}

int World::setting(const char* name, std::uint64_t* value) const {
  const auto found = settings_.find(name);
  if (found == settings_.end()) {
    return -1;
  }
  *value = found->second;
  return 0;
}

}  // namespace explore
