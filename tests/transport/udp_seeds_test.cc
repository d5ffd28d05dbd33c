// Whole jobs of two processes over networks that a seed makes: loss, damage,
// duplication, reordering, delays up to a second, and paths whose MTU changes.
// The memory that the messages describe must be exact, and retransmissions must
// stay near the losses. ACP_TEST_SCALE sizes the number of seeds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fake_network.h"

namespace acp::test {

namespace {

using transport::Ordering;

constexpr std::size_t kCells = 64;
constexpr std::size_t kCellBytes = 600;

double scale() {
  const char* text = std::getenv("ACP_TEST_SCALE");
  return text == nullptr ? 0.1 : std::atof(text);
}

/// A message: a put of a cell, or an addition to a counter.
struct Operation {
  std::uint32_t cell = 0;
  std::uint32_t bytes = 0;  ///< 0: an addition.
  std::uint64_t value = 0;
};

/// The memory of one process as the peer's operations have made it.
struct Memory {
  std::array<std::array<std::byte, kCellBytes>, kCells> cells{};
  std::array<std::uint64_t, kCells> counters{};

  void apply(const Operation& operation) {
    if (operation.bytes == 0) {
      counters[operation.cell] += operation.value;
    } else {
      std::fill_n(cells[operation.cell].begin(), operation.bytes,
                  static_cast<std::byte>(operation.value));
    }
  }

  bool operator==(const Memory&) const = default;
};

/// Makes the messages of one process to the other, and their expected result.
/// All puts are ordered, since puts overwrite each other; additions are free.
class Sender {
 public:
  Sender(std::uint64_t seed, std::size_t operations)
      : dice_(seed), left_(operations) {}

  void pump(transport::Endpoint& endpoint) {
    while (left_ != 0) {
      if (!has_drawn_) {
        draw();
      }
      body_.assign(next_.bytes, static_cast<std::byte>(next_.value));
      const std::array parts = {std::as_bytes(std::span(&next_, 1)),
                                std::span<const std::byte>(body_)};
      const Status status = endpoint.send(
          parts, next_.bytes != 0 ? Ordering::kOrdered : Ordering::kFree);
      if (status == Status::kAgain) {
        return;
      }
      REQUIRE(status == Status::kOk);
      expected_.apply(next_);
      has_drawn_ = false;
      --left_;
    }
  }

  bool is_done() const { return left_ == 0; }

  const Memory& expected() const { return expected_; }

 private:
  void draw() {
    next_ = {static_cast<std::uint32_t>(dice_.roll() % kCells),
             dice_.hits(0.5)
                 ? 0
                 : 1 + static_cast<std::uint32_t>(dice_.roll() % kCellBytes),
             dice_.roll()};
    has_drawn_ = true;
  }

  udp::FaultDice dice_;
  std::size_t left_;
  Operation next_{};
  bool has_drawn_ = false;
  std::vector<std::byte> body_;
  Memory expected_;
};

void take(Memory& memory, std::span<const std::byte> bytes) {
  Operation operation;
  REQUIRE(bytes.size() >= sizeof operation);
  std::memcpy(&operation, bytes.data(), sizeof operation);
  const auto body = bytes.subspan(sizeof operation);
  REQUIRE(body.size() == operation.bytes);
  REQUIRE(std::ranges::all_of(body, [&](std::byte byte) {
    return byte == static_cast<std::byte>(operation.value);
  }));
  memory.apply(operation);
}

/// The network of a seed. The delay is between 10 us and 1 s, evenly by its
/// magnitude.
FakeJobPlan plan_from(std::uint64_t seed) {
  udp::FaultDice dice(seed);
  const auto upto = [&dice](double most) {
    return most * static_cast<double>(dice.roll() % 1001) / 1000;
  };
  FakeJobPlan plan;
  plan.network.faults.seed = seed;
  plan.network.faults.loss = upto(0.3);
  plan.network.faults.duplicate = upto(0.2);
  plan.network.faults.reorder = upto(0.3);
  plan.network.faults.corrupt = upto(0.05);
  plan.network.delay =
      Duration(static_cast<std::int64_t>(std::pow(10.0, 4 + upto(5))));
  plan.network.reorder_delay =
      std::max(Duration(static_cast<std::int64_t>(
                   static_cast<double>(plan.network.delay.count()) * upto(2))),
               Duration(1000));
  plan.network.has_hosts = dice.hits(0.7);
  if (plan.network.has_hosts) {
    plan.datagram_bytes = dice.hits(0.5) ? 8'972 : 1'472;
    plan.first_grant = udp::kFirstGrant;
  }
  plan.network.mtu = plan.network.has_hosts ? 1'472 : 0;
  plan.security = dice.hits(0.5) ? udp::Security::kAuth : udp::Security::kOff;
  plan.silence = std::chrono::minutes(2);
  return plan;
}

struct Sums {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t again = 0;
  std::uint64_t needless = 0;
};

/// Both processes send to each other. On paths between hosts the MTU shrinks
/// and grows meanwhile.
void run_seed(std::uint64_t seed, Sums& sums) {
  CAPTURE(seed);
  FakeJobPlan plan = plan_from(seed);
  CAPTURE(plan.network.faults.loss, plan.network.delay.count(),
          plan.network.has_hosts);
  FakeJob job(plan);
  udp::FaultDice dice(seed + 1);
  std::array<Sender, 2> senders = {Sender(2 * seed, 300),
                                   Sender(2 * seed + 1, 300)};
  std::array<Memory, 2> memories;
  for (transport::ProcId proc = 0; proc < 2; ++proc) {
    job.sink(proc).message = [&memories, proc](auto, auto, auto bytes) {
      take(memories[proc], bytes);
    };
    job.sink(proc).failed = [](auto, auto why) {
      FAIL(why);
    };
  }
  const bool is_done = job.run_until([&] {
    for (transport::ProcId proc = 0; proc < 2; ++proc) {
      senders[proc].pump(job.endpoint(proc, 1 - proc));
    }
    if (plan.network.has_hosts && dice.hits(0.02)) {
      constexpr std::array<std::size_t, 4> kSizes = {8'972, 1'472, 1'300,
                                                     1'200};
      job.network().plan().mtu = kSizes[dice.roll() % kSizes.size()];
    }
    return senders[0].is_done() && senders[1].is_done();
  });
  REQUIRE(is_done);
  REQUIRE(job.run_until_idle());
  REQUIRE((memories[1] == senders[0].expected()));
  REQUIRE((memories[0] == senders[1].expected()));
  sums.sent += job.network().counts().sent;
  sums.lost += job.network().counts().lost;
  for (transport::ProcId proc = 0; proc < 2; ++proc) {
    sums.again += job.transport(proc).counters().retransmitted;
    sums.needless += job.transport(proc).counters().spurious;
  }
}

}  // namespace

TEST_CASE("udp seeds: memory is exact over every network", "[udp][seeds]") {
  const auto seeds =
      static_cast<std::uint64_t>(std::max(10'000 * scale(), 50.0));
  Sums sums;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    run_seed(seed, sums);
  }
  CAPTURE(seeds, sums.sent, sums.lost, sums.again, sums.needless);
  CHECK(sums.lost > 0);
  CHECK(static_cast<double>(sums.again) < 1.5 * static_cast<double>(sums.lost));
}

}  // namespace acp::test
