// The sockets and the host segment of one host. Called by HostPart, in the
// thread of its event loop. It never waits for a rank, and decides no answer:
// the roll-call does.
#include "launcher/bootstrap_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/log.h"
#include "base/send_descriptors.h"
#include "protocol/job_ending.h"

namespace acp::launcher {

namespace {

using protocol::BootstrapMessage;
using protocol::BootstrapType;

}  // namespace

/// Makes the segment, then a pair of connected sockets for each rank.
Status BootstrapServer::open(const protocol::HostPlan& plan) {
  Result<UniqueFd> fd = protocol::create_host_segment(plan);
  if (!fd.ok()) return fd.status();
  segment_fd_ = std::move(*fd);
  Result<protocol::HostSegment> segment =
      protocol::HostSegment::map(segment_fd_.get());
  if (!segment.ok()) return segment.status();
  segment_ = std::move(*segment);
  has_greeted_.assign(plan.local_procs.size(), false);
  for (const std::uint32_t rank : plan.local_procs) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) !=
        0) {
      log_error(
          "socket for rank {}: {}; raise the limit of open files "
          "(ulimit -n)",
          rank, errno_text(errno));
      return Status::kSystem;
    }
    sockets_.emplace_back(ends[0]);
    rank_ends_.emplace_back(ends[1]);
  }
  return Status::kOk;
}

Status BootstrapServer::serve(EventLoop& loop, OnMessage on_message) {
  loop_ = &loop;
  on_message_ = std::move(on_message);
  for (std::uint32_t slot = 0; slot < sockets_.size(); ++slot) {
    const Status status = loop.watch(sockets_[slot].get(), EPOLLIN,
                                     [this, slot] { receive_all(slot); });
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

void BootstrapServer::catch_up() {
  for (std::uint32_t slot = 0; slot < sockets_.size(); ++slot) {
    receive_all(slot);
  }
}

/// Reads on while the job ends, though no message counts any more: the end of a
/// socket still tells that its rank is gone.
void BootstrapServer::receive_all(std::uint32_t slot) {
  // The buffer is one byte longer than the longest message, so a message that
  // is too long fails to decode instead of being truncated.
  std::array<std::byte,
             protocol::kBootstrapHeaderBytes + protocol::kBootstrapMaxText + 1>
      buffer{};
  while (sockets_[slot]) {
    const ssize_t size = ::recv(sockets_[slot].get(), buffer.data(),
                                buffer.size(), MSG_DONTWAIT);
    // The rank may have closed its end with a message unread. The kernel tells
    // that once, in front of what the rank has sent before.
    if (size < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      // The rank closed its end: it is finalized, or about to die.
      close(slot);
      return;
    }
    auto message = protocol::decode_bootstrap(
        std::span(buffer).first(static_cast<std::size_t>(size)));
    if (message && message->type == BootstrapType::kHello) {
      has_greeted_[slot] = true;
    }
    const bool is_last = message && message->type == BootstrapType::kEnded;
    if (!is_ending_) on_message_(slot, std::move(message));
    // The end of the socket tells the join command that this is known.
    if (is_last) close(slot);
  }
}

void BootstrapServer::close(std::uint32_t slot) {
  loop_->forget(sockets_[slot].get());
  sockets_[slot].reset();
}

void BootstrapServer::welcome(std::uint32_t slot) {
  send(slot, {BootstrapType::kWelcome, segment_.record(slot).proc, {}},
       segment_fd_.get());
}

/// The rank reads the room after it has received the message.
void BootstrapServer::give_card(std::uint32_t slot, std::string_view card) {
  if (segment_.header().card_table != protocol::CardTable::kOfHost ||
      card.size() > segment_.header().card_bytes) {
    card = {};
  } else {
    std::ranges::copy(std::as_bytes(std::span(card)),
                      segment_.fetched_card(slot).begin());
  }
  send(slot, {BootstrapType::kAddress, card.size(), {}});
}

void BootstrapServer::go(protocol::Phase phase) {
  for (std::uint32_t slot = 0; slot < sockets_.size(); ++slot) {
    send(slot, {BootstrapType::kGo, static_cast<std::uint64_t>(phase), {}});
  }
}

void BootstrapServer::send(std::uint32_t slot,
                           const BootstrapMessage& message,
                           int attached_fd) {
  if (!sockets_[slot]) return;
  const std::size_t descriptors = attached_fd >= 0 ? 1 : 0;
  // A failed send is no error here: the keeper reports a rank that is gone.
  // The socket's buffer holds far more than the few answers of one rank.
  (void)send_with_descriptors(
      sockets_[slot].get(), protocol::encode_bootstrap(message),
      std::span(&attached_fd, descriptors), MSG_DONTWAIT);
}

void BootstrapServer::tell_ending(std::string_view why) {
  is_ending_ = true;
  protocol::end_job(segment_);
  for (std::uint32_t slot = 0; slot < sockets_.size(); ++slot) {
    if (has_greeted_[slot]) {
      send(slot, {BootstrapType::kEnding, 0, std::string(why)});
    }
  }
}

}  // namespace acp::launcher
