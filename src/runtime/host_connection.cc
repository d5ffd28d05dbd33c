// Sends and receives the messages of one connection between hosts. Called by
// HostConnections with its lock; never waits.
#include "runtime/host_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/host_connection_socket.h"

namespace acp::runtime {

namespace {

/// Leaders leave much less unread than so many reads of 4 KiB.
constexpr int kDiscardedReads = 256;

}  // namespace

bool send_greeting(int socket, const LeaderKey& key, std::uint32_t my_rank) {
  const LeaderGreeting greeting{key, my_rank};
  return ::send(socket, &greeting, sizeof greeting, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof greeting);
}

HostConnection::HostConnection(UniqueFd socket, ConnectionOrigin origin)
    : socket_(std::move(socket)),
      address_(address_of_peer(socket_.get())),
      is_known_(origin == ConnectionOrigin::kHere) {}

void HostConnection::send(const LeaderMessage& message) {
  outgoing_.append(reinterpret_cast<const char*>(&message), sizeof message);
  flush();
}

/// A connection that fails is left to read(), which sees its end. Sent bytes
/// are erased when they are more than half. So the erase moves fewer bytes than
/// were sent since the one before.
void HostConnection::flush() {
  while (sent_ < outgoing_.size()) {
    const ssize_t n = ::send(socket_.get(), outgoing_.data() + sent_,
                             outgoing_.size() - sent_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      if (errno != EAGAIN) {
        sent_ = outgoing_.size();
      }
      break;
    }
    sent_ += static_cast<std::size_t>(n);
  }
  if (sent_ > outgoing_.size() / 2) {
    outgoing_.erase(0, sent_);
    sent_ = 0;
  }
}

/// The greeting arrives in one piece or not at all: it is the first thing on
/// the connection, and small. Messages may come in parts.
bool HostConnection::read(const LeaderKey& key,
                          std::vector<LeaderMessage>& messages) {
  for (;;) {
    LeaderGreeting greeting{};
    std::array<char, 16 * sizeof(LeaderMessage)> bytes{};
    const ssize_t n =
        is_known_ ? ::recv(socket_.get(), bytes.data(), bytes.size(), 0)
                  : ::recv(socket_.get(), &greeting, sizeof greeting, 0);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && errno == EAGAIN) {
      return true;
    }
    if (n <= 0) {
      return false;
    }
    if (!is_known_) {
      is_known_ =
          n == static_cast<ssize_t>(sizeof greeting) && greeting.key == key;
      rank_ = greeting.rank;
      if (!is_known_) {
        return false;
      }
      continue;
    }
    received_.append(bytes.data(), static_cast<std::size_t>(n));
    take_messages(messages);
  }
}

/// Takes the whole messages out of what a connection has received. A type that
/// this version does not know is left out.
void HostConnection::take_messages(std::vector<LeaderMessage>& messages) {
  std::size_t taken = 0;
  for (; received_.size() - taken >= sizeof(LeaderMessage);
       taken += sizeof(LeaderMessage)) {
    LeaderMessage message;
    std::memcpy(&message, received_.data() + taken, sizeof message);
    switch (message.type) {
      case LeaderMessageType::kGoodbye: is_leaving_ = true; break;
      case LeaderMessageType::kAbsent:
      case LeaderMessageType::kStuck:
      case LeaderMessageType::kWritten: messages.push_back(message); break;
    }
  }
  received_.erase(0, taken);
}

/// TCP resets a connection that is closed while it holds bytes that nobody has
/// read, and drops the goodbye if it is still under way. So what has come is
/// read first. Bytes that come later still reset the connection: HostWatch
/// bears that.
void HostConnection::finish() {
  flush();
  (void)::shutdown(socket_.get(), SHUT_WR);
  discard();
}

/// Reads what has come, and no more than kDiscardedReads: a stranger may send
/// for ever.
void HostConnection::discard() {
  std::array<char, 4096> bytes{};
  for (int i = 0; i < kDiscardedReads; ++i) {
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (n == 0 || (n < 0 && errno != EINTR)) {
      return;
    }
  }
}

}  // namespace acp::runtime
