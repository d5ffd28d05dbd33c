// One end's part in copying a message that both ends copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "middle/channel/proven_copy.h"

namespace acp::middle::channel {

/// Claims the pieces of a SharedCopy one after the other and copies them.
/// Guarded by the lock of its end. Nothing here waits.
///
/// 1. `claim` alone says whether there is a piece to claim. A late reader may
///    see the other words of the next message.
/// 2. The other words do not change from a claim until the piece is counted in
///    `copied`.
/// 3. The message is complete when all pieces are counted.
class PieceCopier {
 public:
  /// Copies for the sender.
  PieceCopier() = default;

  /// Copies for the receiver, by `copy`.
  explicit PieceCopier(const ProvenCopy& copy) : proven_(copy) {}

  /// Starts the copy of the channel's offer `number`. Called by the receiver.
  static void publish(SharedCopy& copy,
                      std::uint64_t number,
                      acp_ga_t to,
                      std::uint64_t size);

  static std::uint64_t pieces_of(std::uint64_t size) {
    return (size + piece_bytes(size) - 1) / piece_bytes(size);
  }

  /// Copies a piece of offer `number`, whose message is at `from`, if one is
  /// left. True: something was done.
  bool advance(SharedCopy& copy, std::uint64_t number, acp_ga_t from);

 private:
  /// A quarter of the message, in whole pages, within limits. Below 64 KiB a
  /// call of the kernel costs too much. Above 256 KiB one end waits too long
  /// for the other's last piece.
  static std::uint64_t piece_bytes(std::uint64_t size) {
    constexpr std::uint64_t kKiB = 1024;
    return std::clamp(size / 4 / (4 * kKiB) * (4 * kKiB), 64 * kKiB,
                      256 * kKiB);
  }

  enum class State : std::uint8_t { kNone, kClaimed, kIssued };

  bool claim(SharedCopy& copy, std::uint64_t number);
  bool issue(SharedCopy& copy, acp_ga_t from);
  int start(acp_ga_t to, acp_ga_t from, std::uint64_t size);

  // advance() writes these four. The lock of the end that owns this copier
  // guards them.
  State state_ = State::kNone;
  std::uint64_t offset_ = 0;               ///< Where the claimed piece begins.
  acp_handle_t handle_ = ACP_HANDLE_NULL;  ///< In kIssued: the sender's copy.
  std::optional<ProvenCopy> proven_;       ///< In kIssued: the receiver's.
};

}  // namespace acp::middle::channel
