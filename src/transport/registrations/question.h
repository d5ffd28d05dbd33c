// The question of an endpoint for a registration that a step needs.
#pragma once

#include <cstdint>

#include "transport/registrations/control.h"
#include "transport/transport.h"

namespace acp::transport {

/// Whether a step can be posted.
enum class Feasible : std::uint8_t {
  kNow,
  kLater,  ///< Once the peer answers or a revoked registration ends.
  kNever,  ///< Not by the network, or not in one chain.
};

/// One question at a time. Guarded by the engine's mutex.
class Question {
 public:
  /// Tries of a step that one denial answers. The engine may offer a step
  /// several times before the next poll: in its whole chain, with words behind
  /// it, and alone. If only the first of these offers found the denial, the
  /// second would ask again, and so on for ever. A limit lets a later step ask
  /// whether the peer can register the memory by now.
  static constexpr int kTriesOfDenial = 16;

  /// Whether the peer has refused the byte of the step. After kTriesOfDenial
  /// tries the next one asks again.
  bool take_denial(const RemoteStep& step, std::uint64_t offset) noexcept {
    const bool is_answer =
        denials_ != 0 && asked_.key == step.key && asked_.offset == offset &&
        asked_.state == step.state && asked_.state_mask == step.state_mask;
    denials_ -= is_answer ? 1 : 0;
    return is_answer;
  }

  /// Begins the question for a byte of the step. False: another one is open.
  bool begin(const RemoteStep& step, std::uint64_t offset) noexcept {
    if (is_open_) {
      return false;
    }
    is_open_ = true;
    denials_ = 0;
    asked_ = step;
    asked_.offset = offset;
    return true;
  }

  /// A kRegistration has come. Size 0 means no. Another state of the key means
  /// no as well: the region that the step names is gone.
  void on_answer(const Control& told) noexcept {
    const bool is_denied =
        is_open_ && (told.size == 0 ||
                     ((told.state ^ asked_.state) & asked_.state_mask) != 0);
    denials_ = is_denied ? kTriesOfDenial : 0;
    is_open_ = false;
  }

  /// The answer is of no use.
  void deny() noexcept { denials_ = kTriesOfDenial; }

 private:
  /// A kWant is unanswered. Set by begin(), and reset by on_answer().
  bool is_open_ = false;
  /// Tries that the last denial will still answer. on_answer() and deny() set
  /// it, take_denial() counts down, and begin() resets it.
  int denials_ = 0;
  RemoteStep asked_;  ///< The step of the last kWant. Written by begin().
};

}  // namespace acp::transport
