// Tests of send_with_descriptors(): what the other end of a socket receives.
#include "base/send_descriptors.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <catch2/catch.hpp>

#include "base/unique_fd.h"

namespace acp {

namespace {

/// Two connected sockets that keep packets apart.
struct Ends {
  Ends() {
    std::array<int, 2> numbers{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                         numbers.data()) == 0);
    near.reset(numbers[0]);
    far.reset(numbers[1]);
  }

  UniqueFd near;
  UniqueFd far;
};

constexpr std::array<std::byte, 3> kBytes{std::byte{1}, std::byte{2},
                                          std::byte{3}};

}  // namespace

// All descriptors are of one pipe. A byte that is written to each copy and read
// from the pipe shows that the copy is of that pipe.
TEST_CASE(
    "send descriptors: bytes arrive with as many descriptors as were sent",
    "[descriptors]") {
  const std::size_t count = GENERATE(0, 1, 2, 4);
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const std::array<int, 4> sent{ends[1], ends[1], ends[1], ends[1]};
  const Ends sockets;
  REQUIRE(send_with_descriptors(sockets.near.get(), kBytes,
                                std::span(sent).first(count)) == 3);

  std::array<std::byte, 8> bytes{};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof sent)> control{};
  iovec part{bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  REQUIRE(::recvmsg(sockets.far.get(), &header, MSG_CMSG_CLOEXEC) == 3);
  CHECK(bytes[2] == std::byte{3});
  const cmsghdr* const item = CMSG_FIRSTHDR(&header);
  REQUIRE((item != nullptr) == (count != 0));
  if (item == nullptr) {
    return;
  }
  REQUIRE(item->cmsg_len == CMSG_LEN(count * sizeof(int)));
  for (std::size_t i = 0; i < count; ++i) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(item) + i * sizeof number, sizeof number);
    const UniqueFd copy(number);
    char letter = 0;
    CHECK(::write(copy.get(), "x", 1) == 1);
    CHECK(::read(reader.get(), &letter, 1) == 1);
  }
}

TEST_CASE("send descriptors: a failure leaves its reason in errno",
          "[descriptors]") {
  Ends sockets;
  sockets.far.reset();
  CHECK(send_with_descriptors(sockets.near.get(), kBytes, {}) == -1);
  CHECK(errno == EPIPE);  // The call raises no SIGPIPE.
}

}  // namespace acp
