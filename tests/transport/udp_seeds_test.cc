// Whole jobs of two and three processes over networks that a seed makes. These
// have loss, damage, duplication, reordering, delays up to a second, and paths
// whose MTU changes. The processes have one library for their tags, or two. The
// memory that the messages describe must be exact, and
// retransmissions must stay near the losses. ACP_TEST_SCALE sizes the number of
// seeds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "support/aes_libraries.h"
#include "support/fake_network.h"

namespace acp::test {

namespace {

using transport::Ordering;

constexpr std::size_t kCells = 32;
constexpr std::size_t kCellBytes = 4'000;
/// Puts of most seeds are no larger, so that many share a datagram.
constexpr std::uint32_t kSmallBytes = 600;
/// Messages of all streams of a seed.
constexpr std::size_t kMessages = 600;
/// Retransmissions of a seed beyond two for each loss. 10,000 seeds had at most
/// 42.
constexpr std::uint64_t kFurtherRetransmissions = 64;

double scale() {
  const char* text = std::getenv("ACP_TEST_SCALE");
  return text == nullptr ? 0.1 : std::strtod(text, nullptr);
}

/// A message: a put of a cell, or an addition to a counter.
struct Operation {
  std::uint32_t cell = 0;
  std::uint32_t bytes = 0;  ///< 0: an addition.
  std::uint64_t value = 0;
};

/// The memory that the operations of one stream have made.
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

/// Makes the messages of one process to another, and their expected result.
/// All puts are ordered, since puts overwrite each other; additions are free.
class Sender {
 public:
  Sender(std::uint64_t seed, std::size_t operations, std::uint32_t most_bytes)
      : dice_(seed), left_(operations), most_bytes_(most_bytes) {}

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
                 : 1 + static_cast<std::uint32_t>(dice_.roll() % most_bytes_),
             dice_.roll()};
    has_drawn_ = true;
  }

  udp::FaultDice dice_;
  std::size_t left_;
  std::uint32_t most_bytes_;
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
  if (!body.empty()) {  // all bytes have the value
    REQUIRE(body[0] == static_cast<std::byte>(operation.value));
    REQUIRE(std::memcmp(body.data(), body.data() + 1, body.size() - 1) == 0);
  }
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
  if (plan.security == udp::Security::kAuth && dice.hits(0.4)) {
    plan.security = udp::Security::kEncrypt;
  }
  plan.procs = dice.hits(0.3) ? 3 : 2;
  for (transport::ProcId proc = 0; proc < plan.procs; ++proc) {
    plan.aes.push_back(aes_of_process(seed, proc));
  }
  return plan;
}

/// Where both processes take datagrams of 8,972 bytes, the puts of half of the
/// seeds are larger than a datagram of the path. Routers then divide them.
std::uint32_t most_bytes_of(std::uint64_t seed, const FakeJobPlan& plan) {
  return plan.datagram_bytes > kCellBytes && seed % 2 == 0 ? kCellBytes
                                                           : kSmallBytes;
}

struct Sums {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t again = 0;
  std::uint64_t needless = 0;
  std::uint64_t encrypted = 0;  ///< Seeds.
  std::uint64_t of_three = 0;
  std::uint64_t divided = 0;
};

/// The messages of one process to another, and what has become of them.
struct Stream {
  transport::ProcId from;
  transport::ProcId to;
  Sender sender;
  Memory memory;
};

std::vector<Stream> make_streams(std::uint64_t seed, const FakeJobPlan& plan) {
  const std::size_t count = std::size_t{plan.procs} * (plan.procs - 1);
  std::vector<Stream> streams;
  for (transport::ProcId from = 0; from < plan.procs; ++from) {
    for (transport::ProcId to = 0; to < plan.procs; ++to) {
      if (from != to) {
        streams.push_back({from,
                           to,
                           Sender(8 * seed + streams.size(), kMessages / count,
                                  most_bytes_of(seed, plan)),
                           {}});
      }
    }
  }
  return streams;
}

void connect_sinks(FakeJob& job, std::vector<Stream>& streams) {
  for (const Stream& stream : streams) {
    job.sink(stream.to).failed = [](auto, auto why) {
      FAIL(why);
    };
    job.sink(stream.to).message = [&streams, to = stream.to](auto from, auto,
                                                             auto bytes) {
      const auto found =
          std::ranges::find_if(streams, [&](const Stream& candidate) {
            return candidate.from == from && candidate.to == to;
          });
      REQUIRE(found != streams.end());
      take(found->memory, bytes);
    };
  }
}

/// The bound holds for each seed, so no storm hides in the sums. A path of
/// seconds costs retransmissions without a loss, because each stream first has
/// to learn the round trip.
void check_retransmissions(FakeJob& job, const FakeJobPlan& plan, Sums& sums) {
  std::uint64_t again = 0;
  std::uint64_t needless = 0;
  for (transport::ProcId proc = 0; proc < plan.procs; ++proc) {
    again += job.transport(proc).counters().sent_again;
    needless += job.transport(proc).counters().needless;
  }
  const NetworkCounts& counts = job.network().counts();
  CHECK(again <= 2 * counts.lost + kFurtherRetransmissions);
  sums.sent += counts.sent;
  sums.lost += counts.lost;
  sums.again += again;
  sums.needless += needless;
}

/// All processes send to each other. On paths between hosts the MTU shrinks
/// and grows meanwhile.
void run_seed(std::uint64_t seed, Sums& sums) {
  const FakeJobPlan plan = plan_from(seed);
  CAPTURE(seed, plan.network.faults.loss, plan.network.delay.count(),
          plan.network.has_hosts, plan.procs, plan.datagram_bytes);
  FakeJob job(plan);
  udp::FaultDice dice(seed + 1);
  std::vector<Stream> streams = make_streams(seed, plan);
  connect_sinks(job, streams);
  const bool is_done = job.run_until([&] {
    for (Stream& stream : streams) {
      stream.sender.pump(job.endpoint(stream.from, stream.to));
    }
    if (plan.network.has_hosts && dice.hits(0.02)) {
      constexpr std::array<std::size_t, 4> kSizes = {8'972, 1'472, 1'300,
                                                     1'200};
      job.network().plan().mtu = kSizes[dice.roll() % kSizes.size()];
    }
    return std::ranges::all_of(
        streams, [](const Stream& stream) { return stream.sender.is_done(); });
  });
  REQUIRE(is_done);
  REQUIRE(job.run_until_idle());
  for (const Stream& stream : streams) {
    REQUIRE((stream.memory == stream.sender.expected()));
  }
  check_retransmissions(job, plan, sums);
  sums.encrypted += plan.security == udp::Security::kEncrypt ? 1 : 0;
  sums.of_three += plan.procs == 3 ? 1 : 0;
  sums.divided += most_bytes_of(seed, plan) == kCellBytes ? 1 : 0;
}

}  // namespace

TEST_CASE("udp seeds: memory is exact over every network", "[udp][seeds]") {
  const auto seeds =
      static_cast<std::uint64_t>(std::max(10'000 * scale(), 50.0));
  Sums sums;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    run_seed(seed, sums);
  }
  CAPTURE(seeds, sums.sent, sums.lost, sums.again, sums.needless,
          sums.encrypted, sums.of_three, sums.divided);
  CHECK(sums.lost > 0);
  CHECK(static_cast<double>(sums.again) < 1.5 * static_cast<double>(sums.lost));
  CHECK(sums.encrypted > 0);
  CHECK(sums.of_three > 0);
  CHECK(sums.divided > 0);
}

}  // namespace acp::test
