// Copies between processes by the kernel: the probe that allows them, and
// memory that is not there. The peer is a child process.
#include "transport/shm/cross_memory.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "base/futex.h"
#include "support/host_memory.h"
#include "support/stderr_capture.h"
#include "support/verdict.h"

namespace acp::shm {

namespace {

using transport::Direction;

/// A child process that publishes its probe word and a buffer. It lives until
/// the test ends it.
class Peer {
 public:
  explicit Peer(const test::HostMemory& host) : host_(host) {
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      live();
    }
    REQUIRE(test::comes_true([&] { return record().state.load() == 1; }));
  }

  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  ~Peer() { end(); }

  /// Ends the child. Its exit status is 0 when its buffer has the right bytes.
  int end() {
    if (child_ > 0) {
      record().state.store(2);
      futex_wake_all(record().state);
      ::waitpid(child_, &status_, 0);
      child_ = 0;
    }
    return status_;
  }

  protocol::ProcRecord& record() const { return host_.segment().record(1); }

  std::uint64_t buffer() const { return record().slice_address.load(); }

  static constexpr std::size_t kBytes = 1 << 20;

 private:
  [[noreturn]] void live() {
    std::vector<std::byte> bytes(kBytes, std::byte{'p'});
    protocol::ProcRecord& mine = record();
    const CrossMemory memory(mine, true);
    mine.os_pid.store(static_cast<std::uint32_t>(::getpid()));
    mine.slice_address.store(reinterpret_cast<std::uintptr_t>(bytes.data()));
    mine.state.store(1);
    while (mine.state.load() == 1) {
      futex_wait(mine.state, 1, std::chrono::seconds(1));
      if (::getppid() == 1) {
        ::_exit(9);  // the test has ended without telling
      }
    }
    const bool is_good =
        bytes[0] == std::byte{'t'} && bytes[kBytes - 1] == std::byte{'t'};
    ::_exit(is_good ? 0 : 1);
  }

  const test::HostMemory& host_;
  pid_t child_ = 0;
  int status_ = -1;
};

}  // namespace

// The peer is a process whose buffer has known bytes, and which looks at the
// end for the bytes that were put. A dead peer comes last.
TEST_CASE("cross memory: reads and writes another process",
          "[shm][cross_memory]") {
  const test::HostMemory host(2);
  Peer peer(host);
  CrossMemory memory(host.segment().record(0), true);
  if (!memory.probe(peer.record())) {
    WARN("the kernel does not let processes read each other here");
    return;
  }
  std::vector<std::byte> bytes(Peer::kBytes);
  REQUIRE(memory.copy(peer.record(), Direction::kGet, bytes, peer.buffer()) ==
          Status::kOk);
  CHECK(std::count(bytes.begin(), bytes.end(), std::byte{'p'}) == Peer::kBytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{'t'});
  REQUIRE(memory.copy(peer.record(), Direction::kPut, bytes, peer.buffer()) ==
          Status::kOk);
  CHECK(memory.copy(peer.record(), Direction::kGet, {}, peer.buffer()) ==
        Status::kOk);
  CHECK(memory.copy(peer.record(), Direction::kGet, bytes, 8) ==
        Status::kBadAddress);
  CHECK(memory.copy(peer.record(), Direction::kPut, bytes, 8) ==
        Status::kBadAddress);
  CHECK(peer.end() == 0);
  CHECK(memory.copy(peer.record(), Direction::kGet, bytes, peer.buffer()) ==
        Status::kPeerDead);
}

TEST_CASE("cross memory: the probe knows the process", "[shm][cross_memory]") {
  const test::HostMemory host(2);
  Peer peer(host);
  CrossMemory memory(host.segment().record(0), true);
  if (!memory.probe(peer.record())) {
    WARN("the kernel does not let processes read each other here");
    return;
  }
  // Another process has got that number: its word differs from the published
  // word.
  peer.record().probe_value.fetch_add(1);
  CHECK_FALSE(memory.probe(peer.record()));
  peer.record().probe_value.fetch_sub(1);
  CHECK(memory.probe(peer.record()));
  const std::uint64_t address = peer.record().probe_address.exchange(16);
  spmd::StderrCapture captured;
  CHECK_FALSE(memory.probe(peer.record()));
  CHECK(captured.stop().empty());
  peer.record().probe_address.store(address);
  peer.record().os_pid.store(static_cast<std::uint32_t>(::getpid()));
  CHECK_FALSE(memory.probe(peer.record()));
}

// The second page cannot be read. A copy that ends at its border succeeds, and
// one beyond fails as a bad address, not as a lost peer.
TEST_CASE("cross memory: a copy stops at a hole", "[shm][cross_memory]") {
  const test::HostMemory host(1);
  protocol::ProcRecord& mine = host.segment().record(0);
  CrossMemory memory(mine, true);
  mine.os_pid.store(static_cast<std::uint32_t>(::getpid()));
  if (!memory.probe(mine)) {
    WARN("the kernel does not let processes read each other here");
    return;
  }
  constexpr std::size_t kPage = 4096;
  void* pages = ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  REQUIRE(::mprotect(static_cast<std::byte*>(pages) + kPage, kPage,
                     PROT_NONE) == 0);
  std::array<std::byte, 2 * kPage> bytes{};
  const auto address = reinterpret_cast<std::uintptr_t>(pages);
  CHECK(memory.copy(mine, Direction::kGet, std::span(bytes).first(kPage),
                    address) == Status::kOk);
  CHECK(memory.copy(mine, Direction::kGet, bytes, address) ==
        Status::kBadAddress);
  ::munmap(pages, 2 * kPage);
}

TEST_CASE("cross memory: is not used when it is not allowed",
          "[shm][cross_memory]") {
  const test::HostMemory host(1);
  protocol::ProcRecord& mine = host.segment().record(0);
  mine.os_pid.store(static_cast<std::uint32_t>(::getpid()));
  CrossMemory memory(mine, false);
  std::array<std::byte, 8> bytes{};
  CHECK(memory.copy(mine, Direction::kGet, bytes,
                    reinterpret_cast<std::uintptr_t>(bytes.data())) ==
        Status::kUnsupported);
  CHECK_FALSE(memory.probe(mine));
}

}  // namespace acp::shm
