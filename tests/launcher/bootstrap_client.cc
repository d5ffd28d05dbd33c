// The rank's side of the bootstrap, for tests that break its rules.
#include "tests/launcher/bootstrap_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

namespace probe {

namespace {

using acp::protocol::BootstrapMessage;
using acp::protocol::BootstrapType;

constexpr int kFailed = 70;
constexpr int kEnded = 71;

}  // namespace

void die(std::string_view why) {
  std::fprintf(stderr, "probe: %.*s\n", static_cast<int>(why.size()),
               why.data());
  std::_Exit(kFailed);
}

void BootstrapClient::connect() {
  if (socket_) return;
  const char* number = std::getenv(acp::protocol::kBootstrapFdVariable);
  if (number == nullptr) die("no ACP_BOOTSTRAP_FD");
  socket_.reset(std::stoi(number));
}

void BootstrapClient::send_bytes(const void* bytes, std::size_t size) {
  connect();
  if (::send(socket_.get(), bytes, size, MSG_NOSIGNAL) !=
      static_cast<ssize_t>(size)) {
    die("send failed");
  }
}

void BootstrapClient::send(BootstrapType type,
                           std::uint64_t value,
                           std::string text) {
  const auto bytes =
      acp::protocol::encode_bootstrap({type, value, std::move(text)});
  send_bytes(bytes.data(), bytes.size());
}

void BootstrapClient::send_garbage() {
  send_bytes("no message of ours", 18);
}

std::span<const std::byte> BootstrapClient::fetch_card(std::uint32_t wanted) {
  send(BootstrapType::kWantAddress, wanted);
  const BootstrapMessage answer = receive();
  if (answer.type != BootstrapType::kAddress) die("no address card");
  return segment_.fetched_card(slot()).first(answer.value);
}

/// Takes one message, with the descriptor that may come beside it.
BootstrapMessage BootstrapClient::receive() {
  std::array<std::byte, 4096> buffer{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec part{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
  if (size <= 0) die("acprun is gone");
  if (const cmsghdr* item = CMSG_FIRSTHDR(&header)) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(item), sizeof fd);
    segment_fd_.reset(fd);
  }
  auto message = acp::protocol::decode_bootstrap(
      std::span(buffer).first(static_cast<std::size_t>(size)));
  if (!message) die("malformed answer");
  return *message;
}

void BootstrapClient::join() {
  send(BootstrapType::kHello, static_cast<std::uint64_t>(::getpid()));
  const BootstrapMessage answer = receive();
  if (answer.type == BootstrapType::kEnding) std::_Exit(kEnded);
  if (answer.type != BootstrapType::kWelcome || !segment_fd_) {
    die("no welcome");
  }
  rank_ = static_cast<std::uint32_t>(answer.value);
  auto segment = acp::protocol::HostSegment::map(segment_fd_.get());
  if (!segment.ok()) die("no segment");
  segment_ = std::move(*segment);
  segment_.card(rank_)[0] = std::byte{1};
}

void BootstrapClient::meet(acp::protocol::Phase phase) {
  const auto value = static_cast<std::uint64_t>(phase);
  send(BootstrapType::kArrive, value);
  const BootstrapMessage answer = receive();
  if (answer.type == BootstrapType::kEnding) {
    std::fprintf(stderr, "ending: %s\n", answer.text.c_str());
    std::_Exit(kEnded);
  }
  if (answer.type != BootstrapType::kGo || answer.value != value) {
    die("no go");
  }
}

}  // namespace probe
