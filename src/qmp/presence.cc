// Presences: stores of this rank, and reads of others. Called by Exchange, and
// by the waits of barriers, operations and handles. read() waits itself, so no
// lock may be held there.
#include "qmp/presence.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "acp/extension.h"

namespace qmp {

namespace {

/// How long read() waits. A rank that computes answers by its progress thread
/// within milliseconds; a rank without an answer in a second is named as such.
constexpr int kAnswerMs = 1000;

std::uint64_t load(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word))
      .load(std::memory_order_acquire);
}

/// Copies a presence that its owner may be writing.
Presence copy_of(const Presence& shared) {
  Presence result{};
  result.stage = load(shared.stage);
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

void Presences::enter(Stage stage) {
  // Release: pairs with has_reached.
  std::atomic_ref(mine_->stage)
      .store(static_cast<std::uint64_t>(stage), std::memory_order_release);
}

const Presence* Presences::mapped(int rank) const {
  return reinterpret_cast<const Presence*>(
      mapped_memory(address_of(rank), sizeof(Presence)));
}

acp_ga_t Presences::address_of(int rank) const {
  return acpx_module_ga(module_, rank) + offsetof(Inbox, presence);
}

/// Looks directly where the memory is mapped, and else copies. Each call has a
/// block of its own, so it needs no lock while it waits.
std::optional<Presence> Presences::read(int rank) {
  if (const Presence* shared = mapped(rank)) {
    return copy_of(*shared);
  }
  const Block block = library_->allocate(sizeof(Presence));
  if (!block) {
    return std::nullopt;
  }
  std::memset(block.memory, 0, sizeof(Presence));
  acp_handle_t handle = acp_copy(block.address, address_of(rank),
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

bool has_reached(const Presence& presence, Stage stage) {
  return load(presence.stage) >= static_cast<std::uint64_t>(stage);
}

/// The room is kept, because a question that is never answered would still
/// write there.
void Presences::ask(int rank) {
  const std::lock_guard lock(mutex_);
  if (mapped(rank) != nullptr || acp_inquire(question_) != 0) {
    return;
  }
  if (!answer_) {
    answer_ = library_->allocate(sizeof(Presence));
  }
  if (answer_) {
    std::memset(answer_.memory, 0, sizeof(Presence));
    question_ = acp_copy(answer_.address, address_of(rank), sizeof(Presence),
                         ACP_HANDLE_NULL);
    asked_ = rank;
  }
}

bool Presences::is_answered() {
  const std::lock_guard lock(mutex_);
  return acp_inquire(question_) == 0;
}

std::optional<Presence> Presences::answer(int rank) {
  if (const Presence* shared = mapped(rank)) {
    return copy_of(*shared);
  }
  const std::lock_guard lock(mutex_);
  if (!answer_ || asked_ != rank || acp_inquire(question_) != 0) {
    return std::nullopt;
  }
  return copy_of(*reinterpret_cast<const Presence*>(answer_.memory));
}

std::string describe(int rank, const std::optional<Presence>& presence) {
  return "rank " + std::to_string(rank) +
         (presence ? ", host " + std::string(presence->host)
                   : ", which does not answer");
}

}  // namespace qmp
