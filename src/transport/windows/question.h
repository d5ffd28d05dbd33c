// The question of an endpoint for a memory window that a step needs.
#pragma once

#include <cstdint>

#include "transport/transport.h"
#include "transport/windows/control.h"

namespace acp::transport {

/// Whether a step can be posted.
enum class Feasible : std::uint8_t {
  kNow,
  kLater,  ///< Once the peer answers or a revoked window ends.
  kNever,  ///< Not by the network, or not in one chain.
};

/// One question at a time. Guarded by the engine's lock.
class Question {
 public:
  /// Whether the peer has refused the byte of the step. True once: the next try
  /// of the step asks again.
  bool take_denial(const RemoteStep& step, std::uint64_t offset) noexcept {
    const bool is_answer =
        is_denied_ && asked_.key == step.key && asked_.offset == offset &&
        asked_.state == step.state && asked_.state_mask == step.state_mask;
    is_denied_ = is_denied_ && !is_answer;
    return is_answer;
  }

  /// Begins the question for a byte of the step. False: another one is open.
  bool begin(const RemoteStep& step, std::uint64_t offset) noexcept {
    if (is_open_) {
      return false;
    }
    is_open_ = true;
    is_denied_ = false;
    asked_ = step;
    asked_.offset = offset;
    return true;
  }

  /// A kRegion has come. Size 0 means no. A window of another registration of
  /// the key means no as well: the region that the step names is gone.
  void on_answer(const Control& told) noexcept {
    is_denied_ = is_open_ && (told.size == 0 || ((told.state ^ asked_.state) &
                                                 asked_.state_mask) != 0);
    is_open_ = false;
  }

  /// The answer is of no use.
  void deny() noexcept { is_denied_ = true; }

 private:
  bool is_open_ = false;    ///< A kWant is unanswered.
  bool is_denied_ = false;  ///< It was denied; no step has failed yet.
  RemoteStep asked_;        ///< The step of the last kWant.
};

}  // namespace acp::transport
