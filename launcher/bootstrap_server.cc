// The sockets and the host segment behind the roll-call. All calls come from
// the thread of the job's event loop.
#include "launcher/bootstrap_server.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/futex.h"
#include "base/log.h"

namespace acp::launcher {

namespace {

using protocol::BootstrapMessage;
using protocol::BootstrapType;

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};

// clang 14 does not deduce aggregates by itself.
template <typename... Cases>
Match(Cases...) -> Match<Cases...>;

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
  rollcall_ = Rollcall(plan.procs);
  for (std::uint32_t rank = 0; rank < plan.procs; ++rank) {
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

Status BootstrapServer::serve(EventLoop& loop, OnFailure on_failure) {
  loop_ = &loop;
  on_failure_ = std::move(on_failure);
  for (std::uint32_t rank = 0; rank < sockets_.size(); ++rank) {
    const Status status = loop.watch(sockets_[rank].get(), EPOLLIN,
                                     [this, rank] { receive_all(rank); });
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

void BootstrapServer::catch_up() {
  for (std::uint32_t rank = 0; rank < sockets_.size(); ++rank) {
    receive_all(rank);
  }
}

void BootstrapServer::receive_all(std::uint32_t rank) {
  // The buffer is one byte longer than the longest message, so a message that
  // is too long fails to decode instead of being cut.
  std::array<std::byte,
             protocol::kBootstrapHeaderBytes + protocol::kBootstrapMaxText + 1>
      buffer{};
  while (sockets_[rank]) {
    const ssize_t size = ::recv(sockets_[rank].get(), buffer.data(),
                                buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      // The rank closed its end: it is finalized, or about to die.
      loop_->forget(sockets_[rank].get());
      sockets_[rank].reset();
      return;
    }
    if (is_ending_) continue;
    const auto message = protocol::decode_bootstrap(
        std::span(buffer).first(static_cast<std::size_t>(size)));
    if (message) {
      answer(rank, rollcall_.on_message(rank, *message));
      continue;
    }
    on_failure_({Cause::kProtocol,
                 rank,
                 rollcall_.pid(rank),
                 0,
                 "sent bytes over ACP_BOOTSTRAP_FD that make no sense",
                 {}});
  }
}

void BootstrapServer::answer(std::uint32_t rank, const Answer& answer) {
  std::visit(
      Match{
          [](Nothing) {},
          [&](SayWelcome) {
            send(rank, {BootstrapType::kWelcome, rank, {}}, segment_fd_.get());
          },
          [&](SayGo go) {
            for (std::uint32_t one = 0; one < sockets_.size(); ++one) {
              send(one, {BootstrapType::kGo,
                         static_cast<std::uint64_t>(go.phase),
                         {}});
            }
          },
          [&](const Verdict& verdict) {
            on_failure_(verdict);
          }},
      answer);
}

void BootstrapServer::send(std::uint32_t rank,
                           const BootstrapMessage& message,
                           int attached_fd) {
  if (!sockets_[rank]) return;
  std::vector<std::byte> bytes = protocol::encode_bootstrap(message);
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (attached_fd >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &attached_fd, sizeof attached_fd);
  }
  // A failed send is no error here: the keeper reports a rank that is gone.
  // The socket's buffer holds far more than the few answers of one rank.
  while (::sendmsg(sockets_[rank].get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) <
             0 &&
         errno == EINTR) {
  }
}

void BootstrapServer::announce_ending(std::string_view why) {
  is_ending_ = true;
  wake_sleepers();
  for (std::uint32_t rank = 0; rank < sockets_.size(); ++rank) {
    if (rollcall_.state(rank) != RankState::kStarted) {
      send(rank, {BootstrapType::kEnding, 0, std::string(why)});
    }
  }
}

void BootstrapServer::wake_sleepers() {
  protocol::HostHeader& header = segment_.header();
  // Release: pairs with the acquire load of a rank that looks after waking up.
  header.job_state.store(
      static_cast<std::uint32_t>(protocol::JobState::kEnding),
      std::memory_order_release);
  for (std::uint32_t slot = 0; slot < header.local_procs; ++slot) {
    std::atomic<std::uint32_t>& doorbell = segment_.slice_header(slot).doorbell;
    // The doorbell changes before the wake: a rank that is about to sleep on
    // the old value then does not.
    doorbell.fetch_add(1, std::memory_order_release);
    futex_wake_all(doorbell);
    futex_wake_all(segment_.slice_header(slot).pair.epoch);
  }
  futex_wake_all(header.barrier.epoch);
}

}  // namespace acp::launcher
