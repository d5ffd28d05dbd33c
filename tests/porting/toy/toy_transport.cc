// A toy network, written from docs/porting.md alone: messages are datagrams
// between sockets of the kernel's Unix domain, which loses nothing and keeps
// the order. The tests of tests/porting run the conformance programs over it,
// so this file shows the least that a network has to provide.
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "transport/network.h"

namespace acp::toy {

namespace {

constexpr std::size_t kMaxMessage = 8192;
/// Messages that a call of poll() takes at most, so that a flood of messages
/// does not keep the engine in it.
constexpr int kMessagesPerPoll = 64;

/// The address card: a name in the kernel's abstract namespace.
using AddressCard = std::array<std::byte, 16>;

sockaddr_un address_of(std::span<const std::byte> card) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The first byte of an abstract name is 0.
  std::memcpy(address.sun_path + 1, card.data(), sizeof(AddressCard));
  return address;
}

constexpr socklen_t kAddressBytes =
    offsetof(sockaddr_un, sun_path) + 1 + sizeof(AddressCard);

/// A datagram has this header, and then its message.
struct Header {
  transport::ProcId from = 0;
  transport::Color color = 0;
};

class ToyTransport;

class ToyEndpoint final : public transport::Endpoint {
 public:
  ToyEndpoint(ToyTransport& transport,
              transport::ProcId peer,
              std::span<const std::byte> card)
      : transport_(transport), peer_(peer), address_(address_of(card)) {}

  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override;

 private:
  ToyTransport& transport_;
  transport::ProcId peer_;
  sockaddr_un address_;
};

class ToyTransport final : public transport::Transport {
 public:
  ToyTransport(transport::NetworkContext context, UniqueFd fd)
      : context_(context), fd_(std::move(fd)), descriptor_(fd_.get()) {
    capabilities_.max_message = kMaxMessage;
  }

  std::string_view name() const noexcept override { return "toy"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  Result<transport::Endpoint*> endpoint(transport::ProcId peer,
                                        transport::Color color) override {
    if (color != 0) {
      return Status::kBadColor;
    }
    std::unique_ptr<ToyEndpoint>& endpoint = endpoints_[peer];
    if (endpoint == nullptr) {
      const auto card = context_.card_of(peer);
      if (!card.ok()) {
        return card.status();
      }
      endpoint = std::make_unique<ToyEndpoint>(*this, peer, *card);
    }
    return endpoint.get();
  }

  // Failures are reported here and not in send(), because only poll() has the
  // sink that hears of them.
  std::size_t poll(transport::MessageSink& sink) override {
    was_refused_ = false;
    for (const transport::ProcId peer : std::exchange(dead_, {})) {
      sink.on_peer_failed(peer, "its socket is closed");
    }
    std::size_t count = 0;
    std::array<std::byte, sizeof(Header) + kMaxMessage> bytes;
    for (int i = 0; i < kMessagesPerPoll; ++i) {
      const ssize_t n =
          ::recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n < static_cast<ssize_t>(sizeof(Header))) {
        break;
      }
      Header header;
      std::memcpy(&header, bytes.data(), sizeof header);
      sink.on_message(header.from, header.color,
                      std::span(bytes)
                          .first(static_cast<std::size_t>(n))
                          .subspan(sizeof header));
      ++count;
    }
    return count;
  }

  void flush() override {}

  TimePoint next_deadline() const noexcept override {
    // The kernel does not tell when a peer's full socket has room again.
    return was_refused_ || !dead_.empty()
               ? clock_.now() + std::chrono::microseconds(100)
               : TimePoint::max();
  }

  std::span<const int> descriptors() const noexcept override {
    return {&descriptor_, 1};
  }

  bool arm() override {
    std::byte byte;
    return ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
  }

  void disarm() override {}

 private:
  friend class ToyEndpoint;

  transport::NetworkContext context_;
  UniqueFd fd_;
  int descriptor_;
  transport::Capabilities capabilities_;
  std::map<transport::ProcId, std::unique_ptr<ToyEndpoint>> endpoints_;
  std::vector<transport::ProcId> dead_;  ///< Found by send(), told by poll().
  bool was_refused_ = false;  ///< A send found no room since the last poll.
  SteadyClock clock_;
};

// A full socket is no failure: the engine sends the message again later. Any
// other error means that the peer's socket is closed.
Status ToyEndpoint::send(std::span<const std::span<const std::byte>> parts,
                         transport::Ordering) {
  Header header{transport_.context_.proc, 0};
  std::vector<iovec> pieces{{&header, sizeof header}};
  std::size_t bytes = 0;
  for (const std::span<const std::byte> part : parts) {
    pieces.push_back({const_cast<std::byte*>(part.data()), part.size()});
    bytes += part.size();
  }
  if (bytes > kMaxMessage) {
    return Status::kTooLarge;
  }
  msghdr message{};
  message.msg_name = &address_;
  message.msg_namelen = kAddressBytes;
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  if (::sendmsg(transport_.descriptor_, &message,
                MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
    return Status::kOk;
  }
  if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) {
    transport_.was_refused_ = true;
    return Status::kAgain;
  }
  transport_.dead_.push_back(peer_);
  return Status::kPeerDead;
}

}  // namespace

/// Binds before it publishes the address card: a peer may send as soon as it
/// has read it.
Result<std::unique_ptr<transport::Transport>> open_network(
    const transport::NetworkContext& context) {
  AddressCard card{};
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::getrandom(card.data(), card.size(), 0) < 0) {
    log_error("toy: socket or getrandom: {}", std::strerror(errno));
    return Status::kSystem;
  }
  const sockaddr_un address = address_of(card);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
             kAddressBytes) < 0) {
    log_error("toy: bind: {}", std::strerror(errno));
    return Status::kSystem;
  }
  if (const Status status = context.publish_card(card); status != Status::kOk) {
    return status;
  }
  return std::unique_ptr<transport::Transport>(
      std::make_unique<ToyTransport>(context, std::move(fd)));
}

}  // namespace acp::toy
