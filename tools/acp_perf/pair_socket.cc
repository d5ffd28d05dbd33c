// Implements PairSocket: two UDP sockets that learn each other's port by way of
// ACP. The raw UDP rows use it on ranks 0 and 1. It may not wait for a datagram
// without a limit, because one may be lost.
#include "pair_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::int64_t kPatienceNs = 1'000'000'000;

/// Not the size of any row's datagram: a late one is no answer in a row.
using Greeting = std::array<std::byte, 5>;

/// Writes this side's port into a word of the other rank's memory. The word
/// holds row number and port: wait_for_port ignores a port of an earlier row.
void tell_port(Context& context, int rank, Word word, std::uint16_t port) {
  context.memory.put_word(rank, word, context.row << 16 | port);
}

std::uint64_t wait_for_port(Context& context, Word word) {
  std::atomic_ref<std::uint64_t> cell(*context.memory.own_word(word));
  std::uint64_t value = 0;
  spin_until([&] {
    value = cell.load(std::memory_order_acquire);  // the other's put_word
    return value >> 16 == context.row;
  });
  return value & 0xffff;
}

/// The port has the same offset in addresses of IPv4 and IPv6.
std::uint16_t port_of(const SocketAddress& address) {
  return ntohs(address.v4.sin_port);
}

}  // namespace

/// A socket that cannot be made or bound has port 0, and the ranks do not meet.
PairSocket::PairSocket(Context& context)
    : context_(context),
      own_(address_between(context.memory.own_rank_facts().host,
                           context.peer.host,
                           context.memory.own_rank_facts().host)),
      fd_(socket(own_.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
  socklen_t length = sizeof own_;
  if (fd_ < 0 || bind(fd_, &own_.any, size_of(own_)) != 0 ||
      getsockname(fd_, &own_.any, &length) != 0) {
    own_.v4.sin_port = 0;
  }
}

PairSocket::~PairSocket() {
  if (fd_ >= 0) close(fd_);
}

bool PairSocket::meet() {
  if (context_.rank == 0) {
    tell_port(context_, 1, Word::kPing, port_of(own_));
    return connect_to(wait_for_port(context_, Word::kPong)) && greet_rank_one();
  }
  tell_port(context_, 0, Word::kPong, port_of(own_));
  return connect_to(wait_for_port(context_, Word::kPing)) && greet_rank_zero();
}

bool PairSocket::connect_to(std::uint64_t port) const {
  SocketAddress address =
      address_between(context_.memory.own_rank_facts().host, context_.peer.host,
                      context_.peer.host);
  address.v4.sin_port = htons(static_cast<std::uint16_t>(port));
  return port_of(own_) != 0 && port != 0 &&
         connect(fd_, &address.any, size_of(address)) == 0;
}

bool PairSocket::greet_rank_one() const {
  const std::int64_t deadline = now_ns() + kPatienceNs;
  Greeting greeting{};
  bool is_answered = false;
  while (!is_answered && now_ns() < deadline) {
    send(greeting);
    const std::int64_t again = now_ns() + kPatienceNs / 100;
    spin_until([&] {
      is_answered = receive(greeting);
      return is_answered || now_ns() > again;
    });
  }
  if (is_answered) {
    context_.memory.put_word(1, Word::kMet, context_.row);
  }
  return is_answered;
}

/// Answers until rank 0 says that it has an answer: some may be lost.
bool PairSocket::greet_rank_zero() const {
  Greeting greeting{};
  std::atomic_ref<std::uint64_t> met(*context_.memory.own_word(Word::kMet));
  bool has_met = false;
  spin_until([&] {
    if (receive(greeting)) {
      send(greeting);
    }
    has_met = met.load(std::memory_order_acquire) == context_.row;
    return has_met || context_.is_row_over();
  });
  return has_met;
}

void PairSocket::send(std::span<const std::byte> bytes) const {
  (void)!::send(fd_, bytes.data(), bytes.size(), 0);
}

void PairSocket::send_train(std::span<const std::byte> bytes,
                            std::size_t step) {
  const int segment = static_cast<int>(step);
  has_trains_ = has_trains_ && setsockopt(fd_, SOL_UDP, UDP_SEGMENT, &segment,
                                          sizeof segment) == 0;
  if (has_trains_ && ::send(fd_, bytes.data(), bytes.size(), 0) >= 0) {
    return;
  }
  has_trains_ = has_trains_ && (errno == EAGAIN || errno == ENOBUFS);
  const int none = 0;
  (void)setsockopt(fd_, SOL_UDP, UDP_SEGMENT, &none, sizeof none);
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(step, bytes.size()))) {
    send(bytes.first(std::min(step, bytes.size())));
  }
}

void PairSocket::take_trains() const {
  const int yes = 1;
  (void)setsockopt(fd_, SOL_UDP, UDP_GRO, &yes, sizeof yes);
}

bool PairSocket::receive(std::span<std::byte> bytes) const {
  return recv(fd_, bytes.data(), bytes.size(), MSG_TRUNC) ==
         static_cast<ssize_t>(bytes.size());
}

std::size_t PairSocket::receive_some(std::span<std::byte> bytes) const {
  const ssize_t size = recv(fd_, bytes.data(), bytes.size(), 0);
  return size < 0 ? 0 : static_cast<std::size_t>(size);
}

std::size_t PairSocket::grow_buffer(int bytes) const {
  int granted = 0;
  socklen_t size = sizeof(granted);
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  getsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &granted, &size);
  return static_cast<std::size_t>(granted);
}

std::size_t PairSocket::packet_bytes() const {
  const bool is_v6 = own_.any.sa_family == AF_INET6;
  constexpr int kUdpHeader = 8;
  int mtu = 0;
  socklen_t size = sizeof mtu;
  if ((is_v6 ? getsockopt(fd_, IPPROTO_IPV6, IPV6_MTU, &mtu, &size)
             : getsockopt(fd_, IPPROTO_IP, IP_MTU, &mtu, &size)) != 0) {
    mtu = 1280;  // the least that IPv6 allows
  }
  return static_cast<std::size_t>(mtu - (is_v6 ? 40 : 20) - kUdpHeader);
}

}  // namespace acp::perf
