// Raw row of a UDP socket: the round trip that every operation over udp has
// to make at least once.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kDatagramBytes = 64;
/// After this long without an answer the datagram counts as lost.
constexpr std::int64_t kLostNs = 200'000'000;

/// A non-blocking socket on the loopback; closes itself.
class LoopbackSocket {
 public:
  LoopbackSocket() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (fd_ >= 0 && bind(fd_, generic, length) == 0 &&
        getsockname(fd_, generic, &length) == 0) {
      port_ = ntohs(address.sin_port);
    }
  }

  LoopbackSocket(const LoopbackSocket&) = delete;
  LoopbackSocket& operator=(const LoopbackSocket&) = delete;

  ~LoopbackSocket() {
    if (fd_ >= 0) close(fd_);
  }

  std::uint16_t port() const noexcept { return port_; }

  bool connect_to(std::uint64_t port) const {
    sockaddr_in address = loopback(static_cast<std::uint16_t>(port));
    return port != 0 && connect(fd_, reinterpret_cast<sockaddr*>(&address),
                                sizeof(address)) == 0;
  }

  void send_number(std::uint64_t number) const {
    std::array<std::byte, kDatagramBytes> bytes{};
    std::memcpy(bytes.data(), &number, sizeof(number));
    // A full buffer counts as a loss; the caller sends again.
    (void)!send(fd_, bytes.data(), bytes.size(), 0);
  }

  /// False when nothing is there.
  bool receive_number(std::uint64_t& number) const {
    std::array<std::byte, kDatagramBytes> bytes{};
    if (recv(fd_, bytes.data(), bytes.size(), 0) !=
        static_cast<ssize_t>(bytes.size())) {
      return false;
    }
    std::memcpy(&number, bytes.data(), sizeof(number));
    return true;
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  int fd_ = -1;
  std::uint16_t port_ = 0;
};

/// Each side tells the other its port in a word of ACP's memory; the word
/// holds row number and port, so that one of an earlier row is not taken.
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

void exchange(LoopbackSocket& socket, std::uint64_t number) {
  for (;;) {
    socket.send_number(number);
    const std::int64_t deadline = now_ns() + kLostNs;
    std::uint64_t answer = 0;
    std::uint64_t tries = 0;
    do {
      if (socket.receive_number(answer) && answer == number) return;
    } while (++tries % 256 != 0 || now_ns() < deadline);
  }
}

Verdict run_udp(Context& context, Samples& samples) {
  LoopbackSocket socket;
  tell_port(context, 1, Word::kPing, socket.port());
  const std::uint64_t port = wait_for_port(context, Word::kPong);
  Verdict verdict;
  if (socket.port() == 0 || !socket.connect_to(port)) {
    verdict.skipped = "no UDP socket on 127.0.0.1";
    return verdict;
  }
  std::uint64_t number = 0;
  measure(context.time_ns, 1, samples, [&] { exchange(socket, ++number); });
  return verdict;
}

void respond_udp(Context& context) {
  LoopbackSocket socket;
  const std::uint64_t port = wait_for_port(context, Word::kPing);
  const bool usable = socket.port() != 0 && socket.connect_to(port);
  tell_port(context, 0, Word::kPong, usable ? socket.port() : 0);
  if (!usable) return;
  for (std::uint64_t polls = 0; !context.is_row_over(); ++polls) {
    std::uint64_t number = 0;
    if (socket.receive_number(number)) socket.send_number(number);
  }
}

}  // namespace

void add_raw_udp_rows(Rows& rows) {
  Row row;
  row.name = "raw.udp";
  row.what = "a round trip of 64 bytes over UDP on the loopback, busy polling";
  row.needs = Needs::kSameHost;
  row.partners = Partners::kRankOne;
  row.run = run_udp;
  row.respond = respond_udp;
  rows.push_back(std::move(row));
}

}  // namespace acp::perf
