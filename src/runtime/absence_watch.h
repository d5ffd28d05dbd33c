// Whether all ranks can come to the barrier that this rank comes to:
// docs/barrier.md, "Calls that do not meet".
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/absence.h"

namespace acp::runtime {

/// The call by which this rank comes to a barrier.
enum class BarrierCall : std::uint8_t { kSync, kReset };

/// Used by the thread in acp_sync, acp_reset or acp_finalize, one at a time.
/// Makes no system call.
class AbsenceWatch {
 public:
  /// `absences`, those of the host, must outlive this.
  explicit AbsenceWatch(const protocol::Absences& absences) noexcept
      : absences_(absences) {}

  /// acp_reset begins, and `barrier` is the first of its two barriers.
  void begin_reset(std::uint64_t barrier) noexcept {
    call_ = BarrierCall::kReset;
    reset_ = static_cast<std::uint32_t>(barrier);
  }

  /// The two barriers are over, or one has failed.
  void end_reset() noexcept { call_ = BarrierCall::kSync; }

  /// From here on only modules come to barriers.
  void begin_finalize() noexcept { is_finalizing_ = true; }

  /// Barriers are counted from 1.
  void enter(std::uint64_t barrier) noexcept { barrier_ = barrier; }

  BarrierCall call() const noexcept { return call_; }

  bool is_finalizing() const noexcept { return is_finalizing_; }

  std::uint64_t barrier() const noexcept { return barrier_; }

  /// A rank that does not come to this barrier, or came to it by another call.
  /// Acquire, on the words of Absences.
  std::optional<protocol::Absence> find() const noexcept;

  /// Whether find() finds one. Each acp_sync asks twice, mostly while no rank
  /// has left or resets: kLeft comes after kLeaving, and kBesideReset is for
  /// ranks that have entered kResetting.
  bool is_any_absent() const noexcept {
    const std::uint64_t any = absences_.get(protocol::AbsenceKind::kLeaving) |
                              absences_.get(protocol::AbsenceKind::kResetting);
    return any != 0 && find().has_value();
  }

 private:
  std::optional<protocol::Absence> find_other_call() const noexcept;

  const protocol::Absences& absences_;
  BarrierCall call_ = BarrierCall::kSync;  ///< begin_reset(), end_reset().
  bool is_finalizing_ = false;             ///< Set by begin_finalize().
  std::optional<std::uint32_t> reset_;     ///< begin_reset(), the latest.
  std::uint64_t barrier_ = 0;              ///< enter(), the latest.
};

}  // namespace acp::runtime
