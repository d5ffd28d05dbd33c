// Which transmissions of a peer have been taken before. Used by Endpoint for
// every packet whose tag is valid.
#pragma once

#include <array>
#include <cstdint>

namespace acp::udp {

/// The numbers of the latest transmissions that were taken, as a bitmap that
/// slides with the newest. A packet that somebody recorded and sends again is
/// refused, and so is one that the network has doubled. A packet that comes
/// later than kReplayWindow newer ones is refused as well: it counts as lost.
/// A plain value; guarded by the engine's mutex.
class ReplayWindow {
 public:
  static constexpr std::uint64_t kReplayWindow = 192;

  bool is_new(std::uint64_t txno) const noexcept {
    return txno > newest_ ||
           (newest_ - txno < kReplayWindow && (word_of(txno) & bit(txno)) == 0);
  }

  /// Precondition: is_new(txno).
  void take(std::uint64_t txno) noexcept {
    if (txno > newest_) {
      slide_to(txno);
    }
    words_[index_of(txno)] |= bit(txno);
  }

 private:
  static constexpr std::size_t kWords = kReplayWindow / 64;

  static std::size_t index_of(std::uint64_t txno) noexcept {
    return txno / 64 % kWords;
  }

  static std::uint64_t bit(std::uint64_t txno) noexcept {
    return std::uint64_t{1} << (txno % 64);
  }

  std::uint64_t word_of(std::uint64_t txno) const noexcept {
    return words_[index_of(txno)];
  }

  /// Clears the bits of all numbers between the old newest one and the new one.
  void slide_to(std::uint64_t txno) noexcept {
    if (txno - newest_ >= kReplayWindow) {
      words_ = {};
    } else {
      for (std::uint64_t next = newest_ + 1; next <= txno; ++next) {
        words_[index_of(next)] &= ~bit(next);
      }
    }
    newest_ = txno;
  }

  // take() alone writes these fields.
  std::uint64_t newest_ = 0;  ///< Largest number that was taken; 0: none.
  /// Bit txno % kReplayWindow stands for the newest number of that remainder.
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace acp::udp
