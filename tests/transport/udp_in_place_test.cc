// Messages whose data the udp transport reads in the program's memory: arrival,
// retransmission, and the end of reading.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/touch.h"
#include "support/aes_libraries.h"
#include "support/fake_network.h"

namespace acp::test {

namespace {

using std::chrono::milliseconds;
using transport::Ordering;

constexpr std::size_t kData = 32'000;

/// The test runs once for each protection with which data may stay in place.
FakeJobPlan large_plan() {
  std::vector<udp::Security> protections = {udp::Security::kOff};
  FakeJobPlan plan;
  plan.datagram_bytes = 60'000;
  const auto& libraries = aes_libraries();
  if (!libraries.empty() && libraries.back().aes->takes_pieces()) {
    plan.aes = {libraries.back().aes};
    protections.push_back(udp::Security::kAuth);
    protections.push_back(udp::Security::kEncrypt);
  }
  plan.security =
      protections[GENERATE_COPY(range(std::size_t{0}, protections.size()))];
  UNSCOPED_INFO("packets " << udp::text_of(plan.security));
  return plan;
}

Status send_in_place(transport::Endpoint& endpoint,
                     std::uint64_t head,
                     std::span<const std::byte> data) {
  const std::array parts = {std::as_bytes(std::span(&head, 1)), data};
  return endpoint.send_in_place(parts, Ordering::kFree);
}

Status send_from_region(transport::Endpoint& endpoint,
                        std::uint64_t head,
                        std::span<const std::byte> data) {
  const std::array parts = {std::as_bytes(std::span(&head, 1)), data};
  return endpoint.send_from_region(parts, Ordering::kFree);
}

/// Messages that process 1 has received, in order of arrival.
struct Inbox {
  explicit Inbox(FakeJob& job) {
    job.sink(1).message = [this](auto, auto, auto bytes) {
      messages.emplace_back(bytes.begin(), bytes.end());
    };
  }

  /// Whether a message consists of `head` and data that are all `fill`.
  bool has(std::uint64_t head, std::byte fill) const {
    std::vector<std::byte> wanted(sizeof head + kData, fill);
    std::memcpy(wanted.data(), &head, sizeof head);
    return std::ranges::find(messages, wanted) != messages.end();
  }

  std::vector<std::vector<std::byte>> messages;
};

/// Memory that is freed at the end, as a program may do once it is no longer
/// read.
class Source {
 public:
  explicit Source(std::byte fill)
      : bytes_(std::make_unique<std::byte[]>(kData)) {
    std::fill_n(bytes_.get(), kData, fill);
  }

  std::span<std::byte> bytes() { return {bytes_.get(), kData}; }

  void release() {
    std::fill_n(bytes_.get(), kData, std::byte{0xdd});
    bytes_.reset();
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

/// Memory that is unmapped at the end.
class MappedSource {
 public:
  explicit MappedSource(std::byte fill)
      : bytes_(static_cast<std::byte*>(::mmap(nullptr,
                                              kData,
                                              PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS,
                                              -1,
                                              0))) {
    REQUIRE(bytes_ != MAP_FAILED);
    std::fill_n(bytes_, kData, fill);
  }

  MappedSource(const MappedSource&) = delete;
  MappedSource& operator=(const MappedSource&) = delete;

  ~MappedSource() { unmap(); }

  std::span<std::byte> bytes() const { return {bytes_, kData}; }

  void unmap() {
    if (std::byte* mapped = std::exchange(bytes_, nullptr)) {
      ::munmap(mapped, kData);
    }
  }

 private:
  std::byte* bytes_;
};

}  // namespace

TEST_CASE("udp in place: the message arrives", "[udp][in_place]") {
  FakeJob job(large_plan());
  Inbox inbox(job);
  Source source(std::byte{7});
  REQUIRE(send_in_place(job.endpoint(0, 1), 42, source.bytes()) == Status::kOk);
  REQUIRE(job.run_until_idle());
  REQUIRE(inbox.messages.size() == 1);
  CHECK(inbox.has(42, std::byte{7}));
}

TEST_CASE("udp in place: it shares a datagram with those before, not after",
          "[udp][in_place]") {
  FakeJob job(large_plan());
  Inbox inbox(job);
  Source source(std::byte{7});
  const std::array<std::span<const std::byte>, 1> small = {
      std::as_bytes(std::span("small"))};
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  REQUIRE(endpoint.send(small, Ordering::kFree) == Status::kOk);
  REQUIRE(send_in_place(endpoint, 1, source.bytes()) == Status::kOk);
  REQUIRE(endpoint.send(small, Ordering::kFree) == Status::kOk);
  REQUIRE(send_in_place(endpoint, 2, source.bytes()) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(inbox.messages.size() == 4);
  CHECK(inbox.has(2, std::byte{7}));
  CHECK(job.transport(0).counters().sent == 2);
}

// The network is disconnected from the start, so the message is sent again
// after the memory is gone. Its bytes have to be the bytes from before.
TEST_CASE("udp in place: after reclaim the memory may go, though all is lost",
          "[udp][in_place]") {
  FakeJob job(large_plan());
  Inbox inbox(job);
  job.network().disconnect(1);
  Source source(std::byte{7});
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  REQUIRE(send_in_place(endpoint, 42, source.bytes()) == Status::kOk);
  SECTION("before it is sent") {}
  SECTION("after it was sent") {
    job.run_for(milliseconds(1));
  }
  SECTION("after it was sent again") {
    job.run_for(milliseconds(200));
  }
  SECTION("and sent again from there") {
    job.run_for(milliseconds(1));
    endpoint.reclaim(source.bytes());
    job.run_for(milliseconds(200));
  }
  endpoint.reclaim(source.bytes());
  source.release();
  job.network().reconnect(1);
  REQUIRE(job.run_until_idle());
  REQUIRE(inbox.messages.size() == 1);
  CHECK(inbox.has(42, std::byte{7}));
}

TEST_CASE("udp in place: a region that is unregistered is not read any more",
          "[udp][in_place]") {
  FakeJob job(large_plan());
  Inbox inbox(job);
  job.network().disconnect(1);
  Source source(std::byte{7});
  REQUIRE(send_in_place(job.endpoint(0, 1), 42, source.bytes()) == Status::kOk);
  SECTION("before it is sent") {}
  SECTION("after it was sent") {
    job.run_for(milliseconds(1));
  }
  CHECK(job.transport(0).on_unregistered(5, 1));
  source.release();
  job.network().reconnect(1);
  REQUIRE(job.run_until_idle());
  REQUIRE(inbox.messages.size() == 1);
  CHECK(inbox.has(42, std::byte{7}));
}

TEST_CASE("udp in place: memory that changes is sent whole in the end",
          "[udp][in_place]") {
  FakeJob job(large_plan());
  Inbox inbox(job);
  // The program writes into the memory with each datagram. The first datagram
  // is damaged: its tag belongs to other bytes.
  Source source(std::byte{0});
  int datagrams = 0;
  job.network().plan().faults.corrupt = 1;
  job.network().observe([&](const FakeNetwork::Event& event) {
    if (event.bytes.size() > kData) {
      ++datagrams;
      job.network().plan().faults.corrupt = datagrams == 1 ? 1 : 0;
      std::ranges::fill(source.bytes(), static_cast<std::byte>(datagrams));
      job.network().plan().faults.loss = datagrams == 2 ? 1 : 0;
    }
  });
  REQUIRE(send_in_place(job.endpoint(0, 1), 42, source.bytes()) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(datagrams >= 3);
  CHECK(job.transport(1).counters().corrupt >= 1);
  REQUIRE(inbox.messages.size() == 1);
  CHECK(inbox.has(42, std::byte{1}));  // the bytes before the second datagram
}

TEST_CASE("udp in place: a region's memory may go when the peer has it",
          "[udp][in_place]") {
  const FaultHandler handler;
  FakeJob job(large_plan());
  Inbox inbox(job);
  MappedSource source(std::byte{7});
  REQUIRE(send_from_region(job.endpoint(0, 1), 42, source.bytes()) ==
          Status::kOk);
  REQUIRE(job.transport(0).counters().sent == 1);
  // Its ack is the first small datagram, and does not arrive.
  job.network().observe([&](const FakeNetwork::Event& event) {
    if (event.bytes.size() < kData) {
      job.network().disconnect(1);
    }
  });
  REQUIRE(job.run_until([&] { return !inbox.messages.empty(); }));
  CHECK(inbox.has(42, std::byte{7}));
  source.unmap();
  job.run_for(milliseconds(200));
  CHECK(job.transport(0).counters().sent_again > 0);
  job.network().observe({});
  job.network().reconnect(1);
  REQUIRE(job.run_until_idle());
  CHECK(inbox.messages.size() == 1);
  CHECK(job.transport(1).counters().corrupt == 0);
}

TEST_CASE("udp in place: after a repetition regions are copied for a second",
          "[udp][in_place]") {
  const FaultHandler handler;
  FakeJob job(large_plan());
  Inbox inbox(job);
  Source source(std::byte{1});
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  // Data in place are sent at once, and copied data by flush().
  const auto sends_in_place = [&](std::uint64_t head) {
    const std::uint64_t before = job.transport(0).counters().sent;
    REQUIRE(send_from_region(endpoint, head, source.bytes()) == Status::kOk);
    const bool is_sent = job.transport(0).counters().sent != before;
    REQUIRE(job.run_until_idle());
    REQUIRE(inbox.has(head, std::byte{1}));
    return is_sent;
  };
  CHECK(sends_in_place(1));
  job.network().plan().faults.loss = 1;
  REQUIRE(send_from_region(endpoint, 2, source.bytes()) == Status::kOk);
  job.run_for(milliseconds(200));
  job.network().plan().faults.loss = 0;
  REQUIRE(job.run_until_idle());
  CHECK_FALSE(sends_in_place(3));
  job.run_for(milliseconds(1'100));
  CHECK(sends_in_place(4));
}

TEST_CASE("udp in place: a region's memory that goes too early is left out",
          "[udp][in_place]") {
  const FaultHandler handler;
  FakeJob job(large_plan());
  Inbox inbox(job);
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  const std::array<std::span<const std::byte>, 1> small = {
      std::as_bytes(std::span("small"))};
  const bool is_unregistered = GENERATE(true, false);
  // After 64 times the window would be full, if bytes that are left out
  // counted.
  for (std::uint64_t head = 1; head <= 64; ++head) {
    MappedSource source(std::byte{7});
    const std::uint64_t before = job.transport(0).counters().sent;
    job.network().disconnect(1);
    REQUIRE(endpoint.send(small, Ordering::kFree) == Status::kOk);
    REQUIRE(send_from_region(endpoint, head, source.bytes()) == Status::kOk);
    REQUIRE(job.transport(0).counters().sent == before + 1);  // at once
    source.unmap();
    if (is_unregistered) {
      REQUIRE(job.transport(0).on_unregistered(5, 1));
    } else {
      job.run_for(milliseconds(200));
    }
    job.network().reconnect(1);
    REQUIRE(job.run_until_idle());
    REQUIRE(std::ranges::equal(inbox.messages.back(),
                               std::as_bytes(std::span(&head, 1))));
    job.run_for(milliseconds(1'100));  // regions are sent in place again
  }
  CHECK(inbox.messages.size() == 2 * 64);
  // The stream begins anew. Then it has two fragments under way, and a full
  // window takes only one.
  Source next(std::byte{8});
  for (std::uint64_t head = 70; head < 74; ++head) {
    REQUIRE(send_in_place(endpoint, head, next.bytes()) == Status::kOk);
    REQUIRE(job.run_until_idle());
  }
  REQUIRE(send_in_place(endpoint, 65, next.bytes()) == Status::kOk);
  REQUIRE(send_in_place(endpoint, 66, next.bytes()) == Status::kOk);
  REQUIRE(job.run_until_idle());
  CHECK(inbox.has(65, std::byte{8}));
  CHECK(inbox.has(66, std::byte{8}));
}

TEST_CASE("udp in place: a put's memory that goes too early is left out",
          "[udp][in_place]") {
  const FaultHandler handler;
  FakeJob job(large_plan());
  Inbox inbox(job);
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  // After 64 times the window would be full, if bytes that are left out
  // counted.
  const int moment = GENERATE(range(0, 4));
  for (std::uint64_t head = 1; head <= 64; ++head) {
    MappedSource source(std::byte{7});
    const std::span<const std::byte> bytes = source.bytes();
    job.network().disconnect(1);
    REQUIRE(send_in_place(endpoint, head, bytes) == Status::kOk);
    if (moment == 1 || moment == 3) {
      job.run_for(milliseconds(1));  // it was sent, and is lost
    }
    source.unmap();
    if (moment >= 2) {
      endpoint.reclaim(bytes);
    }
    job.run_for(milliseconds(200));
    job.network().reconnect(1);
    REQUIRE(job.run_until_idle());
    REQUIRE(inbox.messages.size() == head);
    REQUIRE(std::ranges::equal(inbox.messages.back(),
                               std::as_bytes(std::span(&head, 1))));
  }
}

TEST_CASE("udp in place: a region's memory that a full socket keeps is copied",
          "[udp][in_place]") {
  FakeJob job(large_plan());
  Inbox inbox(job);
  Source source(std::byte{7});
  job.network().plan().is_full = true;
  REQUIRE(send_from_region(job.endpoint(0, 1), 42, source.bytes()) ==
          Status::kOk);
  source.release();
  job.network().plan().is_full = false;
  REQUIRE(job.run_until_idle());
  CHECK(inbox.has(42, std::byte{7}));
}

TEST_CASE("udp in place: a dead peer's messages are not read any more",
          "[udp][in_place]") {
  FakeJob job(large_plan());
  bool has_failed = false;
  job.sink(0).failed = [&](auto, auto) {
    has_failed = true;
  };
  job.network().disconnect(1);
  Source source(std::byte{7});
  REQUIRE(send_in_place(job.endpoint(0, 1), 42, source.bytes()) == Status::kOk);
  REQUIRE(job.run_until([&] { return has_failed; }));
  const std::span<const std::byte> gone = source.bytes();
  source.release();
  job.endpoint(0, 1).reclaim(gone);
  CHECK(send_in_place(job.endpoint(0, 1), 42, {}) == Status::kPeerDead);
  CHECK(job.transport(0).on_unregistered(5, 1));
}

TEST_CASE("udp in place: the end of one leaves the others where they are",
          "[udp][in_place]") {
  FakeJob job(large_plan());
  Inbox inbox(job);
  job.network().disconnect(1);
  Source first(std::byte{1});
  Source second(std::byte{2});
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  REQUIRE(send_in_place(endpoint, 1, first.bytes()) == Status::kOk);
  REQUIRE(send_in_place(endpoint, 2, second.bytes()) == Status::kOk);
  endpoint.reclaim(first.bytes());
  first.release();
  std::ranges::fill(second.bytes(), std::byte{3});  // sent later, so this goes
  job.network().reconnect(1);
  REQUIRE(job.run_until_idle());
  REQUIRE(inbox.messages.size() == 2);
  CHECK(inbox.has(1, std::byte{1}));
  CHECK(inbox.has(2, std::byte{3}));
}

TEST_CASE("udp in place: 5,000 messages from memory that is used again",
          "[udp][in_place][lossy]") {
  constexpr std::uint64_t kMessages = 5'000;
  constexpr std::size_t kBuffers = 64;
  FakeJobPlan plan = large_plan();
  plan.network.faults.loss = GENERATE(0.0, 0.2);
  plan.network.faults.duplicate = 0.1;
  plan.network.faults.reorder = 0.2;
  plan.network.faults.corrupt = 0.02;
  plan.network.faults.seed = 3;
  plan.max_fragments = 16;  // fewer than the test needs
  FakeJob job(plan);
  udp::FaultDice dice(9);
  std::vector<bool> seen(kMessages);
  std::uint64_t count = 0;
  job.sink(1).message = [&](auto, auto, auto bytes) {
    std::uint64_t head = 0;
    REQUIRE(bytes.size() >= sizeof head);
    std::memcpy(&head, bytes.data(), sizeof head);
    REQUIRE(head < kMessages);
    REQUIRE_FALSE(seen[head]);
    seen[head] = true;
    ++count;
    const auto data = bytes.subspan(sizeof head);
    REQUIRE(std::string_view(reinterpret_cast<const char*>(data.data()),
                             data.size()) ==
            std::string(data.size(), static_cast<char>(head)));
  };
  // Many messages are acknowledged before the turn of their buffer comes again.
  std::vector<std::vector<std::byte>> buffers(kBuffers,
                                              std::vector<std::byte>(59'000));
  std::uint64_t next = 0;
  std::size_t bytes = 0;  // size of the next message; 0: not drawn yet
  transport::Endpoint& endpoint = job.endpoint(0, 1);
  REQUIRE(job.run_until([&] {
    while (next < kMessages) {
      std::vector<std::byte>& buffer = buffers[next % kBuffers];
      if (bytes == 0) {
        endpoint.reclaim(buffer);
        bytes = 1 + dice.roll() % (buffer.size() - 1);
        std::memset(buffer.data(), static_cast<int>(next), bytes);
      }
      const auto data = std::span<const std::byte>(buffer).first(bytes);
      if (send_in_place(endpoint, next, data) != Status::kOk) {
        break;
      }
      ++next;
      bytes = 0;
      if (dice.hits(0.3)) {
        break;
      }
    }
    return count == kMessages;
  }));
  REQUIRE(job.run_until_idle());
}

}  // namespace acp::test
