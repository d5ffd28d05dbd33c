// Two verbs transports in one process, with registered memory and a connection
// between them, for tests of the transport without an engine above it.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "protocol/host_segment.h"
#include "support/thread_job.h"
#include "verbs/verbs_transport.h"

namespace acp::verbs {

using protocol::Opcode;
using transport::RemoteStep;

inline constexpr std::uint64_t kState = protocol::kLiveBit;

/// One transport with its memory, which has key 2. The fields behind
/// `transport` hold the results of its polls.
class End final : public transport::MessageSink {
 public:
  static constexpr std::size_t kBytes = (5 << 20) + 24;

  /// The address card of the peer is asked for later than here, because the
  /// second end does not exist yet when the first is made.
  End(transport::ProcId me,
      End* other,
      Executor atomics,
      std::uint32_t max_receives = kMaxReceives,
      Timers timers = {},
      std::uint8_t traffic_class = 0,
      WriteOrder writes = WriteOrder::kOrdered,
      PairSize first_pair = PairSize::kLarge)
      : memory(kBytes), me_(me) {
    VerbsOptions options;
    options.me = me;
    options.procs = 2;
    options.job = {1, 2, 3};
    options.card_of = [this, other](transport::ProcId) {
      return (other != nullptr ? other : other_)->transport->card();
    };
    const char* devices = std::getenv("ACP_VERBS_DEVICES");
    options.devices = devices == nullptr ? "" : devices;
    options.atomics = atomics;
    options.max_receives = max_receives;
    options.timers = timers;
    options.traffic_class = traffic_class;
    options.writes = writes;
    options.first_pair = first_pair;
    auto opened = VerbsTransport::open(options);
    REQUIRE(opened.ok());
    transport = std::move(*opened);
    other_ = other;
  }

  void meet(End& other) { other_ = &other; }

  transport::Region region(std::uint64_t counter = 0) {
    return {.key = 2,
            .state = kState | counter << protocol::kKeyCounterShift,
            .address = memory.data(),
            .size = memory.size()};
  }

  transport::Endpoint& endpoint() {
    return *transport->endpoint(1 - me_, 0).value();
  }

  /// Sends the other end a message of three bytes.
  Status send_one() {
    const std::array<std::byte, 3> message{};
    const std::span<const std::byte> part = message;
    return endpoint().send({&part, 1}, transport::Ordering::kFree);
  }

  transport::Endpoint& endpoint_to_myself() {
    return *transport->endpoint(me_, 0).value();
  }

  void on_message(transport::ProcId,
                  transport::Color,
                  std::span<const std::byte> bytes) override {
    ++messages;
    heard.insert(heard.end(), bytes.begin(), bytes.end());
    if (look) {
      look(bytes);
    }
  }

  void on_posted_done(std::uint64_t token) override { done.push_back(token); }

  void on_peer_failed(transport::ProcId, std::string_view why) override {
    failure = why;
    ++failures;
  }

  std::vector<std::byte> memory;
  std::unique_ptr<VerbsTransport> transport;
  std::vector<std::uint64_t> done;
  std::vector<std::byte> heard;  ///< All messages, one behind the other.
  /// Called with each message as it arrives; may be empty.
  std::function<void(std::span<const std::byte>)> look;
  int messages = 0;
  int failures = 0;
  std::string failure;  ///< The reason of the last failure.

 private:
  transport::ProcId me_;
  End* other_ = nullptr;
};

/// Times for tests in which an end dies. No launcher tells of the death, so the
/// other end need not wait long for one.
inline constexpr Timers kNoLauncher{.launcher_time =
                                        std::chrono::milliseconds(100)};

/// Lets a test that polls in rounds sleep while nothing arrives. It then waits
/// for a time of the library or of a device, and other tests need the emulated
/// processors.
class Pauses {
 public:
  /// Call after each round; `arrived` is the sum that its polls have returned.
  /// A few rounds follow each other at once, since most messages arrive soon.
  void after_round(std::size_t arrived) {
    idle_rounds_ = arrived == 0 ? idle_rounds_ + 1 : 0;
    if (idle_rounds_ > kEagerRounds) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

 private:
  static constexpr int kEagerRounds = 50;

  int idle_rounds_ = 0;
};

/// Polls ends in turn until a condition holds, or for ten seconds.
inline bool poll_until(std::span<End> ends,
                       const std::function<bool()>& condition) {
  Pauses pauses;
  return test::eventually([&] {
    std::size_t arrived = 0;
    for (End& end : ends) {
      arrived += end.transport->poll(end);
      end.transport->flush();
    }
    if (condition()) {
      return true;
    }
    pauses.after_round(arrived);
    return false;
  });
}

/// Two connected ends. The constructor sends one message from end 0 to end 1,
/// so counts of messages begin with 1 there.
class Pair {
 public:
  explicit Pair(Executor atomics = Executor::kAgent,
                std::uint32_t max_receives = kMaxReceives,
                Timers timers = {},
                std::uint8_t traffic_class = 0,
                WriteOrder writes = WriteOrder::kOrdered,
                PairSize first_pair = PairSize::kLarge)
      : ends{End(0,
                 nullptr,
                 atomics,
                 max_receives,
                 timers,
                 traffic_class,
                 writes,
                 first_pair),
             End(1,
                 nullptr,
                 atomics,
                 max_receives,
                 timers,
                 traffic_class,
                 writes,
                 first_pair)} {
    ends[0].meet(ends[1]);
    ends[1].meet(ends[0]);
    for (End& end : ends) {
      end.transport->on_registered(end.region());
    }
    REQUIRE(until([&] { return ends[0].send_one() == Status::kOk; }));
    REQUIRE(until([&] { return ends[1].messages == 1; }));
  }

  bool until(const std::function<bool()>& condition) {
    return poll_until(ends, condition);
  }

  /// Whether both ends know that they are connected.
  bool is_ready() const {
    return ends[0].transport->counters().connected == 1 &&
           ends[1].transport->counters().connected == 1;
  }

  /// Posts a step of end 0 until the endpoint knows the peer's memory; before
  /// that it answers kUnsupported.
  Status post(const RemoteStep& step, std::uint64_t token) {
    Status status = Status::kUnsupported;
    static_cast<void>(until([&] {
      status = ends[0].endpoint().post({&step, 1}, token);
      return status != Status::kUnsupported;
    }));
    return status;
  }

  /// Sends many messages of one packet each, so that the receiver has the
  /// largest window for this sender. Waits until they have arrived.
  void stream(std::size_t from) {
    End& sender = ends[from];
    End& receiver = ends[1 - from];
    const int all = receiver.messages + kStreamed;
    int left = kStreamed;
    REQUIRE(until([&] {
      while (left != 0 && sender.send_one() == Status::kOk) {
        sender.transport->flush();
        --left;
      }
      return receiver.messages == all;
    }));
  }

  bool is_done(std::size_t count) {
    return until([&] { return ends[0].done.size() == count; });
  }

  /// A step of end 0 between offset `far` in the memory of end 1 and offset
  /// `near` in its own.
  RemoteStep step(Opcode opcode,
                  std::uint64_t far,
                  std::uint64_t near,
                  std::uint64_t size,
                  std::uint64_t counter = 0) {
    const std::uint64_t skew =
        reinterpret_cast<std::uintptr_t>(ends[1].memory.data()) & 63;
    RemoteStep made;
    made.opcode = opcode;
    made.key = 2;
    made.state = ends[1].region(counter).state;
    made.state_mask = ~std::uint64_t{0};
    made.offset = skew + far;
    made.local_memory = ends[0].memory.data() + near;
    made.local_key = 2;
    made.size = size;
    return made;
  }

  static constexpr int kStreamed = 100;
  std::array<End, 2> ends;
};

/// Posts chain 2, by `post`, to a peer that is gone, until this end knows it.
/// The chain ends once, and then the region is free.
inline void expect_end_with_peer(End& near,
                                 const std::function<Status()>& post) {
  REQUIRE(test::eventually([&] {
    const Status status = post();
    near.transport->poll(near);
    near.transport->flush();
    return status == Status::kUnsupported || status == Status::kPeerDead ||
           near.failures != 0;
  }));
  REQUIRE(test::eventually([&] {
    near.transport->poll(near);
    near.transport->flush();
    return near.transport->on_unregistered(2, near.region().state);
  }));
  CHECK(near.failures <= 1);
  CHECK(near.done.size() == 1);
}

/// Fills memory with random bytes, eight for each number that is drawn. One
/// number for each byte would take most of some tests where the processor is
/// emulated.
inline void fill(std::span<std::byte> bytes, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  while (!bytes.empty()) {
    const std::uint64_t drawn = random();
    const std::size_t size = std::min(sizeof drawn, bytes.size());
    std::memcpy(bytes.data(), &drawn, size);
    bytes = bytes.subspan(size);
  }
}

}  // namespace acp::verbs
