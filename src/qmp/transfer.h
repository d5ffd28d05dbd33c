// A send or a receive of the program: declared once, started many times.
#pragma once

#include <atomic>
#include <cstdint>

#include "acp/gma.h"
#include "qmp.h"
#include "qmp/library_memory.h"
#include "qmp/message_memory.h"

namespace qmp {

class Half;

/// While a transfer is active, the lock of the process guards every member but
/// `state`. Otherwise they belong to the thread that uses the handle.
struct Transfer {
  enum class State : std::uint8_t { kIdle, kActive, kDone };

  /// Stored with release when it becomes kDone, and read with acquire: the
  /// reader then sees the bytes and the other members.
  std::atomic<State> state{State::kIdle};
  bool is_detached = false;    ///< The handle was freed: finish() deletes it.
  bool has_peer_left = false;  ///< The cause of the status, for its message.
  QMP_status_t status = QMP_SUCCESS;
  Half* half = nullptr;
  MessageMemory* memory = nullptr;
  Transfer* next = nullptr;  ///< The next transfer of the handle.

  std::uint64_t number = 0;
  std::uint64_t length = 0;  ///< Bytes of the message, once known.
  Block packed;              ///< Packed copy of the message, while active.

  // Sends only; SendHalf writes them.
  acp_handle_t handle = ACP_HANDLE_NULL;  ///< The put of a gated message.
  std::uint64_t sent = 0;                 ///< Bytes put so far.

  // Receives only; ReceiveHalf writes them.
  bool has_grant = false;
  std::uint64_t waits_since_ns = 0;  ///< First seen waiting; 0: not yet.

  bool is_active() const {
    return state.load(std::memory_order_acquire) == State::kActive;
  }
};

}  // namespace qmp
