// acprun as a rank sees it, in the process of a test.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <span>
#include <utility>

#include <catch2/catch.hpp>

#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"
#include "runtime/bootstrap.h"
#include "runtime/bootstrap_socket.h"

namespace acp::test {

/// acprun's end of the socket to one rank. Used by one thread at a time.
class FakeLauncher {
 public:
  /// By default the job has two processes, both here.
  explicit FakeLauncher(protocol::HostPlan plan = plan_of_two())
      : plan_(std::move(plan)) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) == 0);
    mine_ = UniqueFd(ends[0]);
    theirs = UniqueFd(ends[1]);
  }

  void say(const protocol::BootstrapMessage& message, int descriptor = -1) {
    REQUIRE(runtime::send_message(mine_.get(), message, descriptor) == 0);
  }

  void say_bytes(std::span<const std::byte> bytes) {
    REQUIRE(::send(mine_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }

  protocol::BootstrapMessage hear() {
    std::array<std::byte, 4096> buffer{};
    const ssize_t size = ::recv(mine_.get(), buffer.data(), buffer.size(), 0);
    REQUIRE(size > 0);
    auto message = protocol::decode_bootstrap(
        std::span(buffer).first(static_cast<std::size_t>(size)));
    REQUIRE(message.has_value());
    return *message;
  }

  /// Takes a packet of any kind. Any thread may call it.
  ssize_t take() {
    std::byte byte;
    return ::recv(mine_.get(), &byte, 1, 0);
  }

  bool is_closed() { return take() == 0; }

  void leave() { mine_.reset(); }

  /// Welcomes this process under this number.
  std::unique_ptr<runtime::Bootstrap> welcome(std::uint32_t proc = 1) {
    const Result<UniqueFd> memory = protocol::create_host_segment(plan_);
    REQUIRE(memory.ok());
    auto segment = protocol::HostSegment::map(memory->get());
    REQUIRE(segment.ok());
    segment_ = std::move(*segment);
    say({protocol::BootstrapType::kWelcome, proc, {}}, memory->get());
    auto joined = runtime::connect_to_acprun(std::move(theirs));
    REQUIRE(joined.ok());
    const auto hello = hear();
    CHECK(hello.type == protocol::BootstrapType::kHello);
    CHECK(hello.value == static_cast<std::uint64_t>(::getpid()));
    return std::move(*joined);
  }

  /// After welcome().
  const protocol::HostSegment& segment() const { return segment_; }

  UniqueFd theirs;

 private:
  static protocol::HostPlan plan_of_two() {
    protocol::HostPlan plan;
    plan.put_all_here(2);
    plan.sizes.module_bytes = 1 << 20;
    return plan;
  }

  const protocol::HostPlan plan_;
  protocol::HostSegment segment_;
  UniqueFd mine_;
};

}  // namespace acp::test
