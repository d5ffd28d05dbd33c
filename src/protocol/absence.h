// Ranks that do not come to the barrier in which others wait, because they are
// in another collective call: docs/barrier.md, "Calls that do not meet".
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acp::protocol {

/// The call that an absent rank is in.
enum class AbsenceKind : std::uint8_t {
  kLeaving,      ///< acp_finalize, where its modules may still call acp_sync.
  kLeft,         ///< acp_finalize, after its modules.
  kResetting,    ///< acp_reset.
  kBesideReset,  ///< Not in the acp_reset that others are in.
};

inline constexpr std::size_t kAbsenceKinds = 4;

/// A rank, the call that it is in, and the number of a barrier. Ranks count
/// their barriers from 1, modulo 2^32: no two ranks differ by much.
struct Absence {
  AbsenceKind kind = AbsenceKind::kLeaving;
  std::uint32_t rank = 0;  ///< Below 2^29.
  /// In acp_finalize: how many barriers the rank had come to. Otherwise: the
  /// first of the two barriers of that acp_reset.
  std::uint32_t barrier = 0;

  /// `word` must not be 0, the word of no absence.
  static constexpr Absence of(std::uint64_t word) noexcept {
    return {static_cast<AbsenceKind>(word >> kRankBits & 3),
            static_cast<std::uint32_t>(word) & ((1U << kRankBits) - 1),
            static_cast<std::uint32_t>(word >> 32)};
  }

  constexpr std::uint64_t word() const noexcept {
    return std::uint64_t{barrier} << 32 | kSomebody |
           static_cast<std::uint32_t>(kind) << kRankBits | rank;
  }

  /// Whether this absence concerns more ranks than an older one of its kind.
  /// In acp_finalize the one with fewer barriers does, in acp_reset the later
  /// one.
  bool outranks(const Absence& old) const noexcept;

  /// Whether `barrier` comes before barrier `number`.
  constexpr bool is_before(std::uint64_t number) const noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(number) -
                                     barrier) > 0;
  }

 private:
  static constexpr unsigned kRankBits = 29;
  static constexpr std::uint32_t kSomebody = std::uint32_t{1} << 31;
};

/// One absence of each kind, the one that concerns most ranks. In acp_finalize
/// it is the rank that has come to the fewest barriers, and in acp_reset the
/// latest one.
class Absences {
 public:
  /// Any process, at any time. True: it stands here now. False: the one here
  /// concerns as many ranks. Release; the partner is get().
  bool enter(const Absence& absence) noexcept;

  /// All ranks of the host are in one acp_reset, so none is absent from it. The
  /// next number is then not compared with one that is 2^31 barriers older.
  void clear_resetting() noexcept;

  /// The word of this kind, 0 for none. Acquire.
  std::uint64_t get(AbsenceKind kind) const noexcept {
    return words_[static_cast<std::size_t>(kind)].load(
        std::memory_order_acquire);
  }

 private:
  /// By kind. Any process writes them by enter(), and a rank in acp_reset by
  /// clear_resetting(). No lock guards them: the words are atomic.
  std::array<std::atomic<std::uint64_t>, kAbsenceKinds> words_;
};

}  // namespace acp::protocol
