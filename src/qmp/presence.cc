// Presences: stores of this rank, and reads of others. read() waits; no lock
// may be held.
#include "qmp/presence.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "acp/extension.h"

namespace qmp {

namespace {

constexpr int kAnswerMs = 1000;

std::uint64_t load(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word))
      .load(std::memory_order_acquire);
}

/// Copies a presence that its owner may be writing.
Presence copy_of(const Presence& shared) {
  Presence result{};
  result.has_left = load(shared.has_left);
  result.barriers = load(shared.barriers);
  std::memcpy(result.host, shared.host, sizeof result.host);
  return result;
}

int is_complete(void* handle) {
  return acp_inquire(*static_cast<acp_handle_t*>(handle)) == 0 ? 1 : 0;
}

}  // namespace

void Presences::begin(int module, Inbox* mine, LibraryMemory* library) {
  module_ = module;
  mine_ = &mine->presence;
  library_ = library;
  (void)::gethostname(mine_->host, sizeof mine_->host - 1);
}

void Presences::begin_barrier(std::uint64_t number) {
  // Relaxed: it is only shown to the user.
  std::atomic_ref(mine_->barriers).store(number, std::memory_order_relaxed);
}

void Presences::leave() {
  // Release: pairs with has_left.
  std::atomic_ref(mine_->has_left).store(1, std::memory_order_release);
}

const Presence* Presences::mapped(int rank) const {
  const acp_ga_t at = acpx_module_ga(module_, rank) + offsetof(Inbox, presence);
  return reinterpret_cast<const Presence*>(mapped_memory(at, sizeof(Presence)));
}

std::optional<Presence> Presences::read(int rank) {
  if (const Presence* shared = mapped(rank)) {
    return copy_of(*shared);
  }
  const Block block = library_->allocate(sizeof(Presence));
  if (!block) {
    return std::nullopt;
  }
  std::memset(block.memory, 0, sizeof(Presence));
  acp_handle_t handle = acp_copy(
      block.address, acpx_module_ga(module_, rank) + offsetof(Inbox, presence),
      sizeof(Presence), ACP_HANDLE_NULL);
  // acpx_complete_timeout would take failures of operations of the program. A
  // copy that has failed leaves zeros.
  const int result = acpx_wait_until(&is_complete, &handle, kAnswerMs);
  const auto& answer = *reinterpret_cast<const Presence*>(block.memory);
  std::optional<Presence> presence;
  if (result == 0 && answer.host[0] != '\0') {
    presence = copy_of(answer);
  }
  if (result != 1) {  // A copy under way may still write there.
    library_->free(block.memory);
  }
  return presence;
}

bool has_left(const Presence& presence) {
  return load(presence.has_left) != 0;
}

std::string describe(int rank, const std::optional<Presence>& presence) {
  return "rank " + std::to_string(rank) +
         (presence ? ", host " + std::string(presence->host)
                   : ", which does not answer");
}

}  // namespace qmp
