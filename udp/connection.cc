// When an endpoint opens, keeps and gives up its connected socket. Called by
// Endpoint for each fragment and ack; system calls only at opening and closing.
#include "udp/connection.h"

#include <algorithm>

namespace acp::udp {

namespace {

constexpr std::uint32_t kMaxThreshold = 1 << 16;
/// An owner that sent nothing in this many transmissions of the process loses
/// its connection to an endpoint that wants one.
constexpr std::uint64_t kIdleTransmissions = 4096;

}  // namespace

/// Counts the caller's fragments until the threshold, then opens. A socket that
/// refuses is given up at once, and the fragment goes unconnected.
std::optional<Status> Connection::send(transport::Color color,
                                       const Address& to,
                                       const Datagram& datagram,
                                       std::uint64_t txno) {
  if (!index_ && ++unconnected_ >= threshold_) {
    open(color, to, txno);
  }
  if (!index_) {
    return std::nullopt;
  }
  const Status status = socket_.send_connected(*index_, datagram);
  if (status == Status::kSystem) {
    give_up();
    return std::nullopt;
  }
  last_txno_ = txno;
  if (first_txno_ == 0) {
    first_txno_ = txno;
  }
  return status;
}

void Connection::open(transport::Color color,
                      const Address& to,
                      std::uint64_t txno) {
  unconnected_ = 0;
  const std::optional<std::size_t> index = find_index(txno);
  if (!index) {
    return;
  }
  if (table_[*index] != nullptr) {
    table_[*index]->close();
  }
  if (!socket_.connect(*index, color, to)) {
    give_up();
    return;
  }
  index_ = index;
  table_[*index] = this;
}

/// A free connection, else the one that has been idle for longest; nothing when
/// all have been used lately.
std::optional<std::size_t> Connection::find_index(
    std::uint64_t txno) const noexcept {
  const auto last_txno = [](const Connection* owner) {
    return owner == nullptr ? 0 : owner->last_txno_;
  };
  const auto oldest = std::ranges::min_element(table_, {}, last_txno);
  if (*oldest != nullptr && txno - (*oldest)->last_txno_ < kIdleTransmissions) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(oldest - table_.begin());
}

/// By invariant 3 an echo of first_txno_ or later names a transmission that
/// went through the connected socket.
void Connection::on_echo(std::uint64_t txno) noexcept {
  if (!is_proven_ && first_txno_ != 0 && txno >= first_txno_) {
    is_proven_ = true;
    threshold_ = kFirstThreshold;
  }
}

void Connection::on_loss() {
  if (is_proven_) {
    is_proven_ = false;
    first_txno_ = 0;
  } else if (first_txno_ != 0) {
    give_up();
  }
}

void Connection::on_spurious_loss() noexcept {
  threshold_ = std::max(threshold_ / 2, kFirstThreshold);
}

/// Each failure doubles the number of fragments until the next attempt.
void Connection::give_up() {
  close();
  threshold_ = std::min(2 * threshold_, kMaxThreshold);
}

void Connection::close() {
  if (index_) {
    socket_.disconnect(*index_);
    table_[*index_] = nullptr;
    index_.reset();
    is_proven_ = false;
    first_txno_ = 0;
  }
}

}  // namespace acp::udp
