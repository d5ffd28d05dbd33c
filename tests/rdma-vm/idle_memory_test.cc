// Tests of the memory that an idle connection pins: registered buffers, and
// queues as they would be on an adapter with the provider mlx5. A process with
// one transport meets 1, 16, 17 and 81 others.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "rdma-vm/created_pairs.h"
#include "rdma-vm/pair.h"
#include "rdma-vm/registered_bytes.h"

namespace acp::verbs {

namespace {

/// The promise of docs/verbs.md for each idle connection.
constexpr std::size_t kMostPinned = 8192;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Bytes that the provider mlx5 of rdma-core pins for the work queues of a
/// queue pair: whole pages for both queues, and a doorbell record. An entry of
/// the send queue has 192 bytes and either one reference to memory or the
/// inline data.
std::size_t work_queues_on_mlx5(const ibv_qp_cap& limits) {
  constexpr std::size_t kBlock = 64;
  constexpr std::size_t kReference = 16;
  constexpr std::size_t kPage = 4096;
  const std::size_t inlined = round_up(4 + limits.max_inline_data, kReference);
  const std::size_t entry =
      round_up(192 + std::max(kReference, inlined), kBlock);
  const std::size_t sends = std::bit_ceil(limits.max_send_wr * entry);
  const std::size_t receives =
      limits.max_recv_wr == 0
          ? 0
          : std::bit_ceil(std::size_t{limits.max_recv_wr}) * kReference;
  return round_up(sends + receives, kPage) + kBlock;
}

/// The first connection for which more receive buffers are registered is this
/// one. So connections pin the most when there are so many of them.
constexpr std::uint32_t kMostGuests = 81;

/// One of several transports of this process. Number 0 meets all others.
class Rank final : public transport::MessageSink {
 public:
  Rank(transport::ProcId me, const std::vector<std::unique_ptr<Rank>>& all) {
    VerbsOptions options;
    options.me = me;
    options.procs = kMostGuests + 1;
    options.card_of = [&all](transport::ProcId other) {
      return all[other]->transport->card();
    };
    const char* devices = std::getenv("ACP_VERBS_DEVICES");
    options.devices = devices == nullptr ? "" : devices;
    auto opened = VerbsTransport::open(options);
    REQUIRE(opened.ok());
    transport = std::move(*opened);
  }

  /// False: the caller has to repeat it.
  bool send_to(transport::ProcId peer) {
    const std::array<std::byte, 3> message{};
    const std::span<const std::byte> part = message;
    return transport->endpoint(peer, 0).value()->send(
               {&part, 1}, transport::Ordering::kFree) == Status::kOk;
  }

  void progress() {
    transport->poll(*this);
    transport->flush();
  }

  void on_message(transport::ProcId,
                  transport::Color,
                  std::span<const std::byte>) override {
    ++messages;
  }

  void on_peer_failed(transport::ProcId, std::string_view why) override {
    FAIL(std::string(why));
  }

  std::unique_ptr<VerbsTransport> transport;
  std::uint32_t messages = 0;
};

/// Rank 0 and the ranks that it has met, each by a message and an answer.
class Meetings {
 public:
  Meetings() {
    ranks_.push_back(std::make_unique<Rank>(0, ranks_));
    REQUIRE(registered_bytes().size() == 1);
    domain_ = registered_bytes().begin()->first;
    before_ = registered();
  }

  const VerbsTransport& hub() const { return *ranks_[0]->transport; }

  std::size_t registered() const { return registered_bytes().at(domain_); }

  /// Bytes that were registered before the first connection.
  std::size_t registered_before() const { return before_; }

  void meet_until(std::uint32_t guests) {
    while (ranks_.size() <= guests) {
      meet_one();
    }
  }

  /// Bytes that all connections of rank 0 pin together.
  std::size_t pinned() const {
    std::size_t sum =
        registered() - before_ + 64 * std::size_t{hub().completions(0).taken()};
    for (const ibv_qp* pair : created_pairs()) {
      sum += pair->pd == domain_ ? work_queues_on_mlx5(limits_of(*pair)) : 0;
    }
    return sum;
  }

 private:
  void meet_one() {
    const auto guest = static_cast<transport::ProcId>(ranks_.size());
    ranks_.push_back(std::make_unique<Rank>(guest, ranks_));
    exchange(guest, 0);
    exchange(0, guest);
  }

  void exchange(transport::ProcId from, transport::ProcId to) {
    Rank& sender = *ranks_[from];
    Rank& receiver = *ranks_[to];
    const std::uint32_t wanted = receiver.messages + 1;
    bool is_sent = false;
    REQUIRE(test::eventually([&] {
      is_sent = is_sent || sender.send_to(to);
      sender.progress();
      receiver.progress();
      return receiver.messages == wanted;
    }));
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  const ibv_pd* domain_ = nullptr;
  std::size_t before_ = 0;
};

/// A protection domain of a device that no transport uses.
struct Bare {
  Bare() {
    ibv_context& context = *created_pairs().back()->context;
    REQUIRE(ibv_query_device(&context, &limits) == 0);
    domain.reset(ibv_alloc_pd(&context));
    REQUIRE(domain != nullptr);
  }

  CompletionChannel channel() const {
    CompletionChannel made(ibv_create_comp_channel(domain->context));
    REQUIRE(made != nullptr);
    REQUIRE(::fcntl(made->fd, F_SETFL, O_NONBLOCK) == 0);
    return made;
  }

  /// Opens a device, and makes a small queue pair on it.
  Pair opener{Executor::kAgent,     kMaxReceives,    {}, 0,
              WriteOrder::kOrdered, PairSize::kSmall};
  ibv_device_attr limits{};
  ProtectionDomain domain;
};

}  // namespace

TEST_CASE("verbs growth: an idle connection pins at most 8 KiB",
          "[verbs][memory][growth]") {
  created_pairs().clear();
  Meetings meetings;
  for (const std::uint32_t guests : {1U, 16U, 17U, kMostGuests}) {
    meetings.meet_until(guests);
    const std::size_t each = meetings.pinned() / guests;
    std::printf(
        "%u idle connections: %zu bytes each, of which %zu registered\n",
        guests, each,
        (meetings.registered() - meetings.registered_before()) / guests);
    CHECK(each <= kMostPinned);
  }
  // The buffers of the device, before the first connection.
  CHECK(meetings.registered_before() <= std::size_t{256} * kPacketBytes);
}

// Buffers are registered by 16, and completion queues are made for many
// connections: neither step may pin too much ahead.
TEST_CASE(
    "verbs growth: no number of idle connections pins more than 8 KiB each",
    "[verbs][memory][growth]") {
  constexpr std::uint32_t kConnections = 4000;
  Bare device;
  Receives receives(*device.domain, kMaxReceives);
  REQUIRE(receives.open(device.limits) == Status::kOk);
  REQUIRE(receives.register_first() == Status::kOk);
  CompletionQueues queues{device.channel()};
  REQUIRE(queues.open(*device.domain->context, device.limits, kConnections) ==
          Status::kOk);
  ibv_qp_init_attr described{};
  receives.describe(described, PairSize::kSmall);
  if (described.srq == nullptr) {
    return;  // each queue pair has buffers of its own
  }
  const std::size_t work_queues =
      work_queues_on_mlx5(limits_of(*created_pairs().back()));
  const std::size_t first = queues.entries();
  ibv_qp any{};  // a shared queue does not look at it
  for (std::size_t i = 1; i <= kConnections; ++i) {
    REQUIRE(queues.acquire(PairSize::kSmall) != nullptr);
    REQUIRE(receives.add(any) == Status::kOk);
    const std::size_t completions =
        std::max<std::size_t>(queues.taken(), queues.entries() - first);
    const std::size_t buffers = receives.registered() - kReceivesAtStart;
    REQUIRE(i * work_queues + 64 * completions + buffers * kPacketBytes <=
            i * kMostPinned);
  }
}

TEST_CASE("verbs growth: connections that were busy lend their buffers",
          "[verbs][memory][growth]") {
  constexpr int kBusy = 20;
  constexpr std::uint32_t kSpare = kWindow - kIdleWindow;
  Bare device;
  Receives receives(*device.domain, kMaxReceives);
  REQUIRE(receives.open(device.limits) == Status::kOk);
  REQUIRE(receives.register_first() == Status::kOk);
  ibv_qp_init_attr described{};
  receives.describe(described, PairSize::kSmall);
  if (described.srq == nullptr) {
    return;  // each queue pair has buffers of its own
  }
  ibv_qp any{};
  for (int i = 0; i < kBusy; ++i) {
    REQUIRE(receives.add(any) == Status::kOk);
  }
  std::size_t registered = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kBusy; ++i) {
      REQUIRE(receives.grow(any, kSpare));
    }
    registered = round == 0 ? receives.registered() : registered;
    for (int i = 0; i < kBusy; ++i) {
      receives.shrink(any, kSpare);
    }
  }
  CHECK(registered > kReceivesAtStart);
  CHECK(receives.registered() == registered);
  CHECK(receives.promised() == kBusy * kIdleWindow);
}

TEST_CASE("verbs growth: a connection that was busy keeps its large queues",
          "[verbs][memory][growth]") {
  created_pairs().clear();
  Pair pair(Executor::kAgent, kMaxReceives, {}, 0, WriteOrder::kOrdered,
            PairSize::kSmall);
  End& near = pair.ends[0];
  const End& far = pair.ends[1];
  const auto& completions = far.transport->completions(0);
  CHECK(completions.taken() == completions_of(PairSize::kSmall));
  REQUIRE(pair.until([&] {
    while (near.send_one() == Status::kOk) {
      near.transport->flush();
    }
    return completions.taken() == completions_of(PairSize::kLarge);
  }));
  const Receives& receives = far.transport->receives(0);
  REQUIRE(pair.until([&] { return receives.promised() == kIdleWindow; }));
  CHECK(completions.taken() == completions_of(PairSize::kLarge));
  const std::size_t queues =
      work_queues_on_mlx5(limits_of(*created_pairs().back())) +
      64 * std::size_t{completions.taken()};
  std::printf("a connection that was busy: %zu bytes of queues\n", queues);
  CHECK(queues > kMostPinned);
  // Its receive buffers are those of the start. The large queue pair has
  // brought as many send buffers as its window.
  CHECK(receives.registered() == kReceivesAtStart);
  CHECK(registered_bytes().at(created_pairs().back()->pd) ==
        std::size_t{256 + kWindow} * kPacketBytes);
  CHECK(near.failures + far.failures == 0);
}

}  // namespace acp::verbs
