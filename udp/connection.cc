// When an endpoint opens, keeps and gives up its connected socket. Endpoint
// calls it for each first transmission, each loss and each packet that arrives.
// Retransmissions and pure acks may never use the connected socket.
#include "udp/connection.h"

#include <algorithm>

namespace acp::udp {

namespace {

constexpr std::uint32_t kMaxThreshold = 1 << 16;
/// An owner that sent nothing while the process sent this many fragments loses
/// its connection to an endpoint that wants one.
constexpr std::uint64_t kIdleFragments = 4096;

}  // namespace

/// Counts the caller's fragments until the threshold, then opens. A socket that
/// refuses is given up at once, and the fragment goes unconnected.
std::optional<Status> Connection::send(transport::Color color,
                                       const Address& to,
                                       const Datagram& datagram,
                                       std::uint64_t txno) {
  ++table_.sent;
  if (!index_ && ++unconnected_ >= threshold_) {
    open(color, to);
  }
  if (!index_) {
    return std::nullopt;
  }
  const Status status = socket_.send_connected(*index_, datagram);
  if (status == Status::kSystem) {
    give_up();
    return std::nullopt;
  }
  last_sent_ = table_.sent;
  if (first_txno_ == 0) {
    first_txno_ = txno;
  }
  return status;
}

void Connection::open(transport::Color color, const Address& to) {
  unconnected_ = 0;
  const std::optional<std::uint8_t> index = find_index();
  if (!index) {
    return;
  }
  if (table_.owners[*index] != nullptr) {
    table_.owners[*index]->close();
  }
  if (!socket_.connect(*index, color, to)) {
    give_up();
    return;
  }
  index_ = index;
  table_.owners[*index] = this;
}

/// A free connection, else the one that has been idle for longest; nothing when
/// all have been used lately.
std::optional<std::uint8_t> Connection::find_index() const noexcept {
  const auto last_sent = [](const Connection* owner) {
    return owner == nullptr ? 0 : owner->last_sent_;
  };
  const auto oldest = std::ranges::min_element(table_.owners, {}, last_sent);
  if (*oldest != nullptr &&
      table_.sent - (*oldest)->last_sent_ < kIdleFragments) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(oldest - table_.owners.begin());
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

/// The echo of this transmission would count as a proof. A connection that is
/// proven needs none.
void Connection::on_bypass() {
  if (!is_proven_ && first_txno_ != 0) {
    give_up();
  }
}

void Connection::on_needless_loss() noexcept {
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
    table_.owners[*index_] = nullptr;
    index_.reset();
    is_proven_ = false;
    first_txno_ = 0;
  }
}

}  // namespace acp::udp
