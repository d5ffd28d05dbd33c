// Accesses to memory: which words others notice, and whom a change wakes.
// Called by the steps of chains.
#include <algorithm>

#include "explore/world.h"

namespace explore {

int World::rank_at(const std::byte* at) const {
  const auto offset = static_cast<std::size_t>(
      at - static_cast<const std::byte*>(memory_.begin()));
  return offset < memory_.bytes()
             ? static_cast<int>(offset / memory_.library_bytes())
             : -1;
}

bool World::is_in(const std::vector<Range>& ranges,
                  const std::byte* at,
                  std::size_t bytes) const {
  const auto offset = static_cast<std::size_t>(
                          at - static_cast<const std::byte*>(memory_.begin())) %
                      memory_.library_bytes();
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return offset < range.end && offset + bytes > range.begin;
  });
}

bool World::is_contended(const std::byte* at, std::size_t bytes) const {
  const bool is_library = rank_at(at) >= 0;
  if (is_library && is_in(private_, at, bytes)) {
    return false;
  }
  if (is_library && is_in(direct_, at, bytes)) {
    return true;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(at) / 8;
  const auto last = (reinterpret_cast<std::uintptr_t>(at) + bytes - 1) / 8;
  for (std::uintptr_t word = first; word <= last; ++word) {
    if (contention_.is_contended(word)) {
      return true;
    }
  }
  return false;
}

/// Enters the words of an access into the partial order. Words that no other
/// rank accesses make no difference there.
void World::touch(const std::byte* at,
                  std::size_t bytes,
                  bool is_write,
                  int user) {
  const int owner = rank_at(at);
  if (owner >= 0 && is_in(private_, at, bytes)) {
    return;
  }
  if (owner >= 0 && is_in(direct_, at, bytes)) {
    is_write ? order_.write(local_word(owner)) : order_.read(local_word(owner));
  }
  const auto first = reinterpret_cast<std::uintptr_t>(at) / 8;
  const auto last = (reinterpret_cast<std::uintptr_t>(at) + bytes - 1) / 8;
  for (std::uintptr_t word = first; word <= last; ++word) {
    contention_.note(word, user, is_write);
    if (contention_.is_contended(word)) {
      is_write ? order_.write(word) : order_.read(word);
    }
  }
}

/// Another rank has changed memory of `rank`. A signal wakes the waiters there.
void World::tell(int rank, bool is_signal) {
  RankState& state = state_[static_cast<std::size_t>(rank)];
  if (!is_signal) {
    state.has_plain_event = true;
    return;
  }
  if (is_ordering_) {
    order_.write(local_word(rank));
  }
  ++state.events;
  for (const auto& task : tasks_) {
    task->wait.is_signalled = task->wait.is_signalled || task->rank == rank;
  }
}

}  // namespace explore
