// One side of a message: a send or a receive that is declared once and started
// many times.
#pragma once

#include <atomic>
#include <cstdint>

#include "acp/gma.h"
#include "qmp.h"
#include "qmp/library_memory.h"
#include "qmp/message_memory.h"

namespace qmp {

class Half;

/// All but `state` is guarded by the lock of the process while active, and is
/// the caller's otherwise.
struct Transfer {
  enum class State : std::uint8_t { kIdle, kActive, kDone };

  /// Release when it becomes kDone, acquire where that is read: the bytes and
  /// the other members come with it.
  std::atomic<State> state{State::kIdle};
  bool is_orphan = false;  ///< Its handle is gone: freed when done.
  QMP_status_t status = QMP_SUCCESS;
  Half* half = nullptr;
  MessageMemory* memory = nullptr;
  Transfer* next = nullptr;  ///< In its handle.

  std::uint64_t number = 0;
  std::uint64_t length = 0;  ///< Of the message, once known.
  Block packed;              ///< In place of `memory`, while active.

  // Sends.
  acp_handle_t handle = ACP_HANDLE_NULL;  ///< Of a gated message's put.
  std::uint64_t sent = 0;                 ///< Bytes put so far.

  // Receives.
  bool has_grant = false;
  std::uint64_t waits_since_ns = 0;  ///< First seen waiting; 0: not yet.

  bool is_active() const {
    return state.load(std::memory_order_acquire) == State::kActive;
  }
};

}  // namespace qmp
