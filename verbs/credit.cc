// Counting, granting and giving up credit. Called by Endpoint, which posts the
// packets and the receive buffers. It calls no device. The notes come from the
// other end, so reading them trusts nothing.
#include "verbs/credit.h"

#include <fmt/core.h>

#include "base/assert.h"

namespace acp::verbs {

namespace {

constexpr unsigned kWindowShift = 16;
constexpr unsigned kShortBit = 1U << 21;
constexpr unsigned kGivesUpBit = 1U << 22;
constexpr unsigned kMovesBit = 1U << 23;
constexpr unsigned kGivenUpShift = 24;

/// The window in a note counts from the consumed packets. An end that has just
/// read "gives up" can have consumed fewer packets than it has received.
constexpr std::uint32_t kMostNoted = kWindow + kIdleWindow;

/// A window that was used up this often doubles. One exchange over a new
/// connection shall not enlarge it.
constexpr std::uint32_t kUsesToGrow = 4;

/// While the other end has more credit than this, returning more can wait for a
/// packet with frames. A small window is returned only when it is used up. With
/// a window of 2 an exchange of requests and replies needs no empty packet.
constexpr std::uint32_t low_credit(std::uint32_t window) noexcept {
  return window <= 2 ? 0 : window / 2;
}

}  // namespace

std::uint32_t encode_credit(const CreditNote& note) noexcept {
  return std::uint32_t{note.consumed} |
         std::uint32_t{note.window} << kWindowShift |
         (note.is_short ? kShortBit : 0) | (note.gives_up ? kGivesUpBit : 0) |
         (note.moves ? kMovesBit : 0) |
         std::uint32_t{note.given_up} << kGivenUpShift;
}

std::optional<CreditNote> decode_credit(std::uint32_t bits) noexcept {
  CreditNote note;
  note.consumed = static_cast<std::uint16_t>(bits);
  note.window = static_cast<std::uint8_t>(bits >> kWindowShift & 0x1f);
  note.is_short = (bits & kShortBit) != 0;
  note.gives_up = (bits & kGivesUpBit) != 0;
  note.moves = (bits & kMovesBit) != 0;
  note.given_up = static_cast<std::uint8_t>(bits >> kGivenUpShift);
  return note.window <= kMostNoted ? std::optional(note) : std::nullopt;
}

std::uint32_t Credit::on_send(Load load) noexcept {
  if (load == Load::kFrames) {
    ACP_ASSERT(may_send());
    ++sent_;
  }
  // The limit never falls here. It may be beyond the window for a moment: when
  // "gives up" has arrived with packets that are not consumed yet.
  if (granted_ - consumed_ < window_) {
    granted_ = consumed_ + window_;
  }
  return note();
}

/// Only the end that may use credit can give it up: no packet that uses it can
/// be under way then. Credit that the other end has granted meanwhile carries
/// the older given_up, and on_arrival() drops it. This end grants no more by
/// this packet, because an idle peer would have to give that up.
std::uint32_t Credit::give_up() noexcept {
  ACP_ASSERT(has_spare());
  limit_ = sent_ + kIdleWindow;
  ++given_up_;
  return note() | kGivesUpBit;
}

std::uint32_t Credit::move() noexcept {
  return on_send(Load::kNone) | kMovesBit;
}

std::uint32_t Credit::note() noexcept {
  const bool is_short = is_short_;
  is_short_ = false;
  return encode_credit(
      {.consumed = static_cast<std::uint16_t>(consumed_),
       .window = static_cast<std::uint8_t>(granted_ - consumed_),
       .is_short = is_short,
       .given_up = read_given_up_});
}

/// Order: what the note says of this end's packets, then what it says of the
/// other end's, then the packet itself.
bool Credit::on_arrival(std::uint32_t bits, Load load) noexcept {
  const auto note = decode_credit(bits);
  if (!note || ((note->gives_up || note->moves) && load == Load::kFrames)) {
    return false;
  }
  const std::uint32_t more = static_cast<std::uint16_t>(
      note->consumed - static_cast<std::uint16_t>(acknowledged_));
  if (more > sent_ - acknowledged_) {
    return false;
  }
  acknowledged_ += more;
  if (note->given_up == given_up_) {
    const std::uint32_t limit = acknowledged_ + note->window;
    if (limit - limit_ > kMostNoted) {
      return false;  // less credit than before
    }
    limit_ = limit;
  } else if (note->given_up != static_cast<std::uint8_t>(given_up_ - 1)) {
    return false;
  }
  is_wanted_ = is_wanted_ || note->is_short;
  if (note->gives_up) {
    if (granted_ - received_ <= kIdleWindow) {
      return false;  // it had nothing to give up
    }
    granted_ = received_ + kIdleWindow;
    window_ = kIdleWindow;
    ++read_given_up_;
    used_up_ = 0;
    is_wanted_ = false;
  }
  if (load == Load::kFrames) {
    if (received_ == granted_) {
      return false;
    }
    ++received_;
  }
  return true;
}

void Credit::on_consumed() noexcept {
  ++consumed_;
  used_up_ += consumed_ == granted_ ? 1 : 0;
}

bool Credit::is_due() const noexcept {
  return granted_ - consumed_ <= low_credit(window_);
}

bool Credit::needs_growth() const noexcept {
  return window_ < kWindow && (is_wanted_ || used_up_ >= kUsesToGrow);
}

void Credit::grow() noexcept {
  window_ *= 2;
  used_up_ = 0;
  is_wanted_ = false;
}

std::string Credit::describe() const {
  return fmt::format(
      "sent {}, consumed there {}, limit {}, given up {}; received {}, "
      "consumed {}, granted {}, given up {}",
      sent_, acknowledged_, limit_, given_up_, received_, consumed_, granted_,
      read_given_up_);
}

}  // namespace acp::verbs
