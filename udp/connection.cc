#include "udp/connection.h"

#include <algorithm>

namespace acp::udp {

namespace {

constexpr std::uint32_t kMaxWorth = 1 << 16;
/// An owner that sent nothing in so many transmissions of the process yields.
constexpr std::uint64_t kIdle = 4096;

}  // namespace

std::optional<Status> Connection::send(transport::Color color,
                                       const Address& to,
                                       const Datagram& datagram,
                                       std::uint64_t txno) {
  if (!slot_ && ++waited_ >= worth_) {
    open(color, to, txno);
  }
  if (!slot_) {
    return std::nullopt;
  }
  const Status status = socket_.send_connected(*slot_, datagram);
  if (status == Status::kSystem) {
    give_up();
    return std::nullopt;
  }
  last_used_ = txno;
  if (tried_ == 0) {
    tried_ = txno;
  }
  return status;
}

void Connection::open(transport::Color color,
                      const Address& to,
                      std::uint64_t txno) {
  waited_ = 0;
  const std::optional<std::size_t> slot = find_slot(txno);
  if (!slot) {
    return;
  }
  if (table_[*slot] != nullptr) {
    table_[*slot]->close();
  }
  if (!socket_.connect(*slot, color, to)) {
    give_up();
    return;
  }
  slot_ = slot;
  table_[*slot] = this;
}

/// A free one, or the one that has been idle for longest.
std::optional<std::size_t> Connection::find_slot(
    std::uint64_t txno) const noexcept {
  const auto last_used = [](const Connection* owner) {
    return owner == nullptr ? 0 : owner->last_used_;
  };
  const auto oldest = std::ranges::min_element(table_, {}, last_used);
  if (*oldest != nullptr && txno - (*oldest)->last_used_ < kIdle) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(oldest - table_.begin());
}

/// While it is tried, no fragment goes another way: on_loss() would have ended
/// that.
void Connection::on_echo(std::uint64_t txno) noexcept {
  if (!is_proven_ && tried_ != 0 && txno >= tried_) {
    is_proven_ = true;
    worth_ = kFirstWorth;
  }
}

void Connection::on_loss() {
  if (is_proven_) {
    is_proven_ = false;
    tried_ = 0;
  } else if (tried_ != 0) {
    give_up();
  }
}

void Connection::on_spurious_loss() noexcept {
  worth_ = std::max(worth_ / 2, kFirstWorth);
}

/// The next one is tried later.
void Connection::give_up() {
  close();
  worth_ = std::min(2 * worth_, kMaxWorth);
}

void Connection::close() {
  if (slot_) {
    socket_.disconnect(*slot_);
    table_[*slot_] = nullptr;
    slot_.reset();
    is_proven_ = false;
    tried_ = 0;
  }
}

}  // namespace acp::udp
