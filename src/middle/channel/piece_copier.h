// One end's part in copying a message that both ends copy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Claims the pieces of a SharedCopy one after the other and copies them.
/// Guarded by the lock of its end. Nothing here waits.
class PieceCopier {
 public:
  /// Begins a copy: offer `number` of the channel. The receiver's part.
  static void publish(SharedCopy& copy,
                      std::uint64_t number,
                      acp_ga_t to,
                      std::uint64_t size);

  static std::uint64_t pieces_of(std::uint64_t size) {
    return (size + piece_bytes(size) - 1) / piece_bytes(size);
  }

  /// Copies a piece of offer `number`, when one is left. True: something was
  /// done. The message lies at `from`.
  bool advance(SharedCopy& copy, std::uint64_t number, acp_ga_t from);

 private:
  /// A quarter of the message, in pages, within limits: below the call into
  /// the kernel costs too much, above one end waits for the other at the end.
  static std::uint64_t piece_bytes(std::uint64_t size) {
    constexpr std::uint64_t kKiB = 1024;
    return std::clamp(size / 4 / (4 * kKiB) * (4 * kKiB), 64 * kKiB,
                      256 * kKiB);
  }

  enum class State : std::uint8_t { kNone, kClaimed, kIssued };

  bool claim(SharedCopy& copy, std::uint64_t number);
  bool issue(SharedCopy& copy, acp_ga_t from);

  State state_ = State::kNone;
  std::uint64_t offset_ = 0;
  acp_handle_t handle_ = ACP_HANDLE_NULL;
};

}  // namespace acp::middle::channel
