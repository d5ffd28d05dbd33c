// Agent: executes the steps of a request in the memory of its rank, and sends
// one reply. Fake endpoints stand for the peers.
#include "agent/agent.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "gmm/key_table.h"
#include "support/fake_endpoint.h"
#include "support/host_memory.h"
#include "support/messages.h"
#include "support/stderr_capture.h"

namespace acp::agent {

namespace {

using protocol::Opcode;
using protocol::Step;

/// The agent of rank 0 with 256 registered bytes. Each peer is a number with a
/// fake endpoint.
class AgentUnderTest final : private Surroundings {
 public:
  explicit AgentUnderTest(gmm::Reach reach = gmm::Reach::kHost)
      : space(host.segment(), 0, 0, 1, reach) {
    key = keys.add(0, 0, memory.data(), memory.size()).value();
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory[i] = static_cast<std::byte>(i);
    }
  }

  struct Copy {
    transport::ProcId proc;
    transport::Color color;
    std::uint64_t id;
    Step step;
  };

  gmm::GlobalAddress at(std::size_t offset) const { return key + offset; }

  Step step(Opcode opcode, std::size_t offset) const {
    Step step;
    step.opcode = opcode;
    step.remote = at(offset);
    return step;
  }

  Step bulk(Opcode opcode, std::size_t offset, std::uint32_t size) const {
    Step bulk_step = step(opcode, offset);
    bulk_step.size = size;
    return bulk_step;
  }

  /// Sends a put of one byte as a part of request `id`.
  void part(std::size_t offset,
            std::byte value,
            std::uint64_t id,
            transport::ProcId from = kPeer,
            transport::Color color = 0) {
    const Step put = bulk(Opcode::kPut, offset, 1);
    auto bytes = test::request_message(id, {&put, 1}, {&value, 1});
    bytes[offsetof(protocol::RequestHeader, flags)] =
        std::byte{protocol::kMoreFlag};
    agent.on_request(from, color, bytes);
  }

  /// A poll that brings one request.
  void request(std::span<const Step> steps,
               std::span<const std::byte> data = {},
               std::uint64_t id = 1) {
    agent.on_request(kPeer, 0, test::request_message(id, steps, data));
    agent.flush();
  }

  /// A put of a word in a poll that goes on.
  void put8(std::uint64_t id,
            transport::ProcId from = kPeer,
            transport::Color color = 0) {
    const Step put = step(Opcode::kPut8, 8);
    agent.on_request(from, color, test::request_message(id, {&put, 1}, {}));
  }

  /// Takes the reply to peer `proc`. There must be a reply.
  protocol::ReplyView reply(transport::ProcId proc = kPeer) {
    last_reply_ = endpoints[proc].take();
    const auto view = protocol::decode_reply(last_reply_);
    REQUIRE(view.has_value());
    return *view;
  }

  Result<transport::Endpoint*> endpoint(transport::ProcId proc,
                                        transport::Color) override {
    if (proc == kDead) {
      return Status::kPeerDead;
    }
    return static_cast<transport::Endpoint*>(&endpoints[proc]);
  }

  void start_copy(transport::ProcId proc,
                  transport::Color color,
                  std::uint64_t id,
                  const protocol::Step& copy) override {
    copies.push_back({proc, color, id, copy});
  }

  static constexpr transport::ProcId kPeer = 1;
  static constexpr transport::ProcId kDead = 99;

  test::HostMemory host{2};
  gmm::KeyTable keys{host.segment(), 0};
  gmm::KeyTable peer_keys{host.segment(), 1};
  gmm::AddressSpace space;
  test::CountingWaker waker;
  Agent agent{space, waker, *this};
  alignas(64) std::array<std::byte, 256> memory{};
  gmm::GlobalAddress key = 0;
  std::map<transport::ProcId, test::FakeEndpoint> endpoints;
  std::vector<Copy> copies;

 private:
  std::vector<std::byte> last_reply_;
};

std::uint64_t word_at(const std::byte* memory) {
  return test::word_of({memory, 8});
}

}  // namespace

// The put ends at the last byte of the region, so that an off-by-one would show
// beside it. The get reads back one byte more at the front.
TEST_CASE("agent: puts and gets bytes of its own memory", "[agent]") {
  AgentUnderTest rank;
  const std::array<std::byte, 5> data = {std::byte{'h'}, std::byte{'e'},
                                         std::byte{'l'}, std::byte{'l'},
                                         std::byte{'o'}};
  const auto put = rank.bulk(Opcode::kPut, 251, 5);
  rank.request({&put, 1}, data, 77);
  const auto put_reply = rank.reply();
  CHECK(put_reply.header.status == Status::kOk);
  CHECK(put_reply.header.id == 77);
  CHECK(put_reply.data.empty());
  CHECK(std::equal(data.begin(), data.end(), rank.memory.data() + 251));
  CHECK(rank.memory[250] == std::byte{250});

  const auto get = rank.bulk(Opcode::kGet, 250, 6);
  rank.request({&get, 1}, {}, 78);
  const auto get_reply = rank.reply();
  CHECK(get_reply.header.id == 78);
  REQUIRE(get_reply.data.size() == 6);
  CHECK(std::equal(get_reply.data.begin(), get_reply.data.end(),
                   rank.memory.data() + 250));
}

TEST_CASE("agent: every word operation", "[agent]") {
  struct Case {
    Opcode opcode;
    std::uint64_t result;
    bool has_reply;
  };

  constexpr std::uint64_t kOld = 0x00ff00ff00ff00ff;
  constexpr std::uint64_t kOperand = 0x0f0f0f0f0f0f0f0f;
  const Case cases[] = {
      {Opcode::kPut8, kOperand, false},
      {Opcode::kAdd, kOld + kOperand, true},
      {Opcode::kCas, kOperand, true},
      {Opcode::kAnd, kOld & kOperand, true},
      {Opcode::kOr, kOld | kOperand, true},
      {Opcode::kXor, kOld ^ kOperand, true},
      {Opcode::kSwap, kOperand, true},
  };
  for (const Case& test : cases) {
    for (const std::uint8_t width : {std::uint8_t{8}, std::uint8_t{4}}) {
      if (width == 4 && !test.has_reply) {
        continue;  // there is no put of 4 bytes
      }
      INFO("opcode " << static_cast<int>(test.opcode) << " width "
                     << int{width});
      AgentUnderTest rank;
      std::memset(rank.memory.data(), 0, rank.memory.size());
      std::memcpy(rank.memory.data() + 64, &kOld, width);
      Step step = rank.step(test.opcode, 64);
      step.width = width;
      step.operand = kOperand;
      step.compare = kOld;
      rank.request({&step, 1});
      const auto reply = rank.reply();
      CHECK(reply.header.status == Status::kOk);
      const std::uint64_t mask = width == 8 ? ~0ULL : UINT32_MAX;
      CHECK(word_at(rank.memory.data() + 64) == (test.result & mask));
      REQUIRE(reply.data.size() == (test.has_reply ? 8 : 0));
      CHECK((!test.has_reply || test::word_of(reply.data) == (kOld & mask)));
      CHECK(word_at(rank.memory.data() + 56) == 0);
      CHECK(word_at(rank.memory.data() + 72) == 0);
    }
  }
}

// The three adds give 0, 5 and 10, so each result shows which step it is of.
// The put and the empty get have none.
TEST_CASE("agent: results come in the order of the steps", "[agent]") {
  AgentUnderTest rank;
  std::memset(rank.memory.data(), 0, 64);
  Step add = rank.step(Opcode::kAdd, 8);
  add.operand = 5;
  const std::array steps = {add,
                            rank.bulk(Opcode::kPut, 16, 3),
                            add,
                            rank.bulk(Opcode::kGet, 8, 11),
                            rank.bulk(Opcode::kGet, 0, 0),
                            add};
  const std::array data = {std::byte{1}, std::byte{2}, std::byte{3}};
  rank.request(steps, data);
  const auto reply = rank.reply();
  CHECK(reply.header.status == Status::kOk);
  REQUIRE(reply.data.size() == 8 + 8 + 11 + 8);
  CHECK(test::word_of(reply.data) == 0);
  CHECK(test::word_of(reply.data.subspan(8)) == 5);
  CHECK(test::word_of(reply.data.subspan(16)) == 10);
  CHECK(reply.data[24] == std::byte{1});
  CHECK(reply.data[26] == std::byte{3});
  CHECK(test::word_of(reply.data.subspan(27)) == 10);
  CHECK(word_at(rank.memory.data() + 8) == 15);
}

// Two good steps stand before the bad one, and one behind. So the reply has two
// results, and the memory shows that the last step was not done.
TEST_CASE("agent: stops at the first step that fails", "[agent]") {
  AgentUnderTest rank;
  std::memset(rank.memory.data(), 0, 64);
  Step add = rank.step(Opcode::kAdd, 8);
  add.operand = 1;
  Step bad = add;
  Status expected = Status::kOk;
  SECTION("outside of the region") {
    bad.remote = rank.at(256);
    expected = Status::kBadAddress;
  }
  SECTION("half outside") {
    bad = rank.bulk(Opcode::kGet, 250, 7);
    expected = Status::kBadAddress;
  }
  SECTION("misaligned") {
    bad.remote = rank.at(12);
    expected = Status::kMisaligned;
  }
  SECTION("misaligned for its width") {
    bad.remote = rank.at(10);
    bad.width = 4;
    expected = Status::kMisaligned;
  }
  SECTION("a key that is not") {
    bad.remote = rank.space.codec().encode(0, 0, 99, 0, 0);
    expected = Status::kBadKey;
  }
  SECTION("another rank's memory") {
    bad.remote = rank.space.codec().encode(1, 0, gmm::kStarterKey, 0, 0);
    expected = Status::kBadRank;
  }
  SECTION("a rank that is not") {
    bad.remote = rank.space.codec().encode(2, 0, gmm::kStarterKey, 0, 0);
    expected = Status::kBadRank;
  }
  SECTION("a color that is not") {
    bad.remote = rank.space.codec().encode(0, 1, gmm::kStarterKey, 0, 0);
    expected = Status::kBadColor;
  }
  SECTION("no address") {
    bad.remote = 0;
    expected = Status::kBadAddress;
  }
  const std::array steps = {add, add, bad, add};
  rank.request(steps);
  const auto reply = rank.reply();
  CHECK(reply.header.status == expected);
  CHECK(reply.header.failed_step == 2);
  REQUIRE(reply.data.size() == 16);
  CHECK(test::word_of(reply.data.subspan(8)) == 1);
  CHECK(word_at(rank.memory.data() + 8) == 2);
}

TEST_CASE("agent: a signal rings when its step is done, not when it fails",
          "[agent]") {
  AgentUnderTest rank;
  protocol::SliceHeader& slice = rank.host.segment().slice_header(0);
  slice.asleep = protocol::kWaiterOne;
  Step add = rank.step(Opcode::kAdd, 8);
  rank.request({&add, 1});
  CHECK(slice.doorbell == 0);
  add.flags = protocol::kSignalFlag;
  rank.request({&add, 1});
  CHECK(slice.doorbell == 1);
  add.remote = rank.at(4);
  rank.request({&add, 1});
  CHECK(slice.doorbell == 1);
  slice.asleep = protocol::kThreadAsleep | protocol::kThreadWantsSignals;
  add.remote = rank.at(8);
  rank.request({&add, 1});
  CHECK(rank.waker.calls == 1);
}

TEST_CASE("agent: a put of no bytes with a signal only rings", "[agent]") {
  AgentUnderTest rank;
  auto step = rank.bulk(Opcode::kPut, 0, 0);
  step.flags = protocol::kSignalFlag;
  rank.request({&step, 1});
  CHECK(rank.reply().header.status == Status::kOk);
  CHECK(rank.agent.take_signal());
  step.flags = 0;
  rank.request({&step, 1});
  CHECK(rank.reply().header.status == Status::kOk);
  CHECK_FALSE(rank.agent.take_signal());
}

// The device would not see the work of the CPU, so the agent has to refuse, and
// leave the word alone.
TEST_CASE("agent: no atomic of 8 bytes where a device executes them",
          "[agent]") {
  AgentUnderTest rank(gmm::Reach::kSelfDeviceAtomics);
  const std::uint64_t before = word_at(rank.memory.data() + 8);
  auto add = rank.step(Opcode::kAdd, 8);
  add.operand = 1;
  spmd::StderrCapture capture;
  rank.request({&add, 1});
  CHECK(capture.stop().find("ACP_VERBS_ATOMICS or ACP_UCX_ATOMICS") !=
        std::string::npos);
  CHECK(rank.reply().header.status == Status::kUnsupported);
  CHECK(word_at(rank.memory.data() + 8) == before);

  SECTION("what is wrong with the address is told first") {
    auto wrong = rank.step(Opcode::kAdd, 4);
    rank.request({&wrong, 1});
    CHECK(rank.reply().header.status == Status::kMisaligned);
    wrong = rank.step(Opcode::kAdd, 256);
    rank.request({&wrong, 1});
    CHECK(rank.reply().header.status == Status::kBadAddress);
  }
  SECTION("those of 4 bytes are its own") {
    add.width = 4;
    rank.request({&add, 1});
    CHECK(rank.reply().header.status == Status::kOk);
    CHECK(word_at(rank.memory.data() + 8) == before + 1);
  }
}

TEST_CASE("agent: an unanswered request is executed, and rings", "[agent]") {
  AgentUnderTest rank;
  rank.memory.fill(std::byte{0});
  Step add = rank.step(Opcode::kAdd, 8);
  add.operand = 5;
  add.flags = protocol::kSignalFlag;
  const auto unanswered = [&rank](const Step& step) {
    auto bytes = test::request_message(0, {&step, 1}, {});
    bytes[offsetof(protocol::RequestHeader, flags)] =
        std::byte{protocol::kUnansweredFlag};
    rank.agent.on_request(AgentUnderTest::kPeer, 0, bytes);
    rank.agent.flush();
  };
  unanswered(add);
  CHECK(word_at(&rank.memory[8]) == 5);
  CHECK(rank.agent.take_signal());
  add.remote = 0x1234;
  unanswered(add);
  CHECK_FALSE(rank.agent.take_signal());
  CHECK(rank.endpoints[AgentUnderTest::kPeer].sent.empty());
  // The result of the addition is not in the next reply.
  const Step put = rank.step(Opcode::kPut8, 8);
  rank.request({&put, 1});
  CHECK(rank.reply().data.empty());
}

TEST_CASE("agent: malformed requests are dropped without a reply", "[agent]") {
  AgentUnderTest rank;
  const auto before = rank.memory;
  const auto put = rank.bulk(Opcode::kPut, 0, 8);
  const auto good =
      test::request_message(1, {&put, 1}, std::vector<std::byte>(8));
  const std::size_t head = good.size() - 8;
  for (std::size_t size = 0; size < head; ++size) {
    rank.agent.on_request(1, 0, std::span(good).first(size));
  }
  Step narrow = rank.step(Opcode::kPut8, 255);
  narrow.width = 1;
  rank.request({&narrow, 1});
  rank.agent.flush();
  CHECK(rank.memory == before);
  CHECK(rank.endpoints[1].offers == 0);
  CHECK_FALSE(rank.agent.has_backlog());
}

TEST_CASE("agent: a request without its data fails", "[agent]") {
  AgentUnderTest rank;
  const auto before = rank.memory;
  const std::array steps = {rank.step(Opcode::kPut8, 8),
                            rank.bulk(Opcode::kPut, 0, 8)};
  auto request =
      test::request_message(7, steps, std::vector<std::byte>(8, std::byte{1}));
  const auto refuse = [&](std::size_t size) {
    rank.agent.on_request(AgentUnderTest::kPeer, 0,
                          std::span(request).first(size));
  };
  const std::size_t head = request.size() - 8;
  for (std::size_t size = head; size < request.size(); ++size) {
    refuse(size);
    const auto reply = rank.reply();
    CHECK(reply.header.id == 7);
    CHECK(reply.header.status == Status::kBadAddress);
  }
  CHECK(rank.memory == before);

  // A part is not answered; its failure is that of the last part.
  const auto& endpoint = rank.endpoints[AgentUnderTest::kPeer];
  request = test::request_message(7, std::span(steps).last(1),
                                  std::vector<std::byte>(8));
  std::byte& flags = request[offsetof(protocol::RequestHeader, flags)];
  flags = std::byte{protocol::kMoreFlag};
  refuse(request.size() - 8);
  refuse(request.size() - 8);
  CHECK(endpoint.sent.empty());
  rank.request(std::span(steps).first(1), {}, 7);
  CHECK(rank.reply().header.status == Status::kBadAddress);
  CHECK(rank.memory == before);
  rank.request(std::span(steps).first(1), {}, 7);
  CHECK(rank.reply().header.status == Status::kOk);

  // A part has failed, and the data of the last part are missing.
  rank.part(256, std::byte{1}, 7);
  flags = {};
  refuse(request.size() - 8);
  CHECK(rank.reply().header.status == Status::kBadAddress);
  rank.request(std::span(steps).first(1), {}, 7);
  CHECK(rank.reply().header.status == Status::kOk);

  // An unanswered request gets no answer.
  flags = std::byte{protocol::kUnansweredFlag};
  refuse(request.size() - 8);
  CHECK(endpoint.sent.empty());
}

// Four requests succeed before the poll ends, and no reply may have left. The
// sections end the sharing in each possible way.
TEST_CASE("agent: requests that succeed without results share a reply",
          "[agent]") {
  AgentUnderTest rank;
  auto& sent = rank.endpoints[AgentUnderTest::kPeer].sent;
  Step put = rank.step(Opcode::kPut8, 8);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    put.operand = id;
    rank.agent.on_request(1, 0, test::request_message(id, {&put, 1}, {}));
    CHECK(word_at(rank.memory.data() + 8) == id);
  }
  const std::array puts = {put, rank.bulk(Opcode::kPut, 16, 2)};
  rank.agent.on_request(
      1, 0, test::request_message(4, puts, std::vector<std::byte>(2)));
  CHECK(sent.empty());

  SECTION("which leaves at the end of the poll") {
    CHECK_FALSE(rank.agent.flush());
    REQUIRE(sent.size() == 1);
    CHECK(test::ids_of(sent[0]) == std::vector<std::uint64_t>{1, 2, 3, 4});
    CHECK_FALSE(rank.agent.flush());
    CHECK(sent.size() == 1);
  }
  SECTION("and others are answered alone") {
    const Step get = rank.bulk(Opcode::kGet, 8, 8);
    rank.agent.on_request(1, 0, test::request_message(5, {&get, 1}, {}));
    Step bad = put;
    bad.remote = rank.at(12);
    rank.agent.on_request(1, 0, test::request_message(6, {&bad, 1}, {}));
    rank.put8(7);
    rank.agent.flush();
    REQUIRE(sent.size() == 3);
    CHECK(test::word_of(rank.reply().data) == 3);
    const auto failure = rank.reply();
    CHECK(failure.header.id == 6);
    CHECK(failure.header.status == Status::kMisaligned);
    CHECK(test::ids_of(sent[0]) == std::vector<std::uint64_t>{1, 2, 3, 4, 7});
  }
  SECTION("unless there are many") {
    for (std::uint64_t id = 5; id <= protocol::kMostSharing + 1; ++id) {
      rank.put8(id);
    }
    REQUIRE(sent.size() == 1);
    CHECK(test::ids_of(sent[0]).size() == protocol::kMostSharing);
    rank.agent.flush();
    REQUIRE(sent.size() == 2);
    CHECK(test::ids_of(sent[1]) ==
          std::vector<std::uint64_t>{protocol::kMostSharing + 1});
  }
}

// Requests of two initiators come in turn, one of them in two colors. Each
// reply is for a row of requests from one initiator in one color.
TEST_CASE("agent: requests of different initiators or colors share no reply",
          "[agent]") {
  AgentUnderTest rank;
  rank.put8(1);
  rank.put8(2);
  rank.put8(3, 2);
  rank.put8(4, 2, 1);
  rank.put8(5);
  rank.agent.flush();
  REQUIRE(rank.endpoints[1].sent.size() == 2);
  CHECK(test::ids_of(rank.endpoints[1].sent[0]) ==
        std::vector<std::uint64_t>{1, 2});
  CHECK(test::ids_of(rank.endpoints[1].sent[1]) ==
        std::vector<std::uint64_t>{5});
  REQUIRE(rank.endpoints[2].sent.size() == 2);
  CHECK(test::ids_of(rank.endpoints[2].sent[0]) ==
        std::vector<std::uint64_t>{3});
  CHECK(test::ids_of(rank.endpoints[2].sent[1]) ==
        std::vector<std::uint64_t>{4});
}

// Two shared replies wait for one endpoint, which is full from the start. Then
// either the room comes, or the peer is lost.
TEST_CASE(
    "agent: a shared reply to a full endpoint waits, and not for the dead",
    "[agent]") {
  AgentUnderTest rank;
  auto& endpoint = rank.endpoints[AgentUnderTest::kPeer];
  endpoint.room = 0;
  rank.put8(1);
  rank.put8(2);
  CHECK_FALSE(rank.agent.flush());
  CHECK(rank.agent.has_backlog());
  rank.put8(3);
  rank.put8(4);
  SECTION("until there is room") {
    endpoint.room = 2;
    CHECK(rank.agent.flush());
    CHECK_FALSE(rank.agent.has_backlog());
    REQUIRE(endpoint.sent.size() == 2);
    CHECK(test::ids_of(endpoint.sent[0]) == std::vector<std::uint64_t>{1, 2});
    CHECK(test::ids_of(endpoint.sent[1]) == std::vector<std::uint64_t>{3, 4});
  }
  SECTION("and is dropped with its peer") {
    endpoint.room = 2;
    rank.agent.forget_peer(AgentUnderTest::kPeer);
    CHECK_FALSE(rank.agent.flush());
    CHECK(endpoint.sent.empty());
  }
}

TEST_CASE("agent: replies to a full endpoint wait, those to others go",
          "[agent]") {
  AgentUnderTest rank;
  Step add = rank.step(Opcode::kAdd, 8);
  add.operand = 1;
  rank.endpoints[1].room = 0;
  for (std::uint64_t id = 0; id < 5; ++id) {
    rank.agent.on_request(1, 0, test::request_message(id, {&add, 1}, {}));
  }
  CHECK(rank.agent.has_backlog());
  rank.agent.on_request(2, 0, test::request_message(9, {&add, 1}, {}));
  CHECK(rank.agent.flush());
  CHECK(rank.reply(2).header.id == 9);
  CHECK_FALSE(rank.agent.flush());

  rank.endpoints[1].room = 3;
  CHECK(rank.agent.flush());
  CHECK(rank.endpoints[1].sent.size() == 3);
  CHECK(rank.agent.has_backlog());
  rank.endpoints[1].room = SIZE_MAX;
  CHECK(rank.agent.flush());
  CHECK_FALSE(rank.agent.has_backlog());
  // Each request was executed once: the old values are 0 to 4, with their ids.
  REQUIRE(rank.endpoints[1].sent.size() == 5);
  std::vector<bool> seen(5);
  for (int i = 0; i < 5; ++i) {
    const auto reply = rank.reply(1);
    REQUIRE(reply.header.id < 5);
    CHECK_FALSE(seen[reply.header.id]);
    seen[reply.header.id] = true;
    CHECK(
        test::word_of(reply.data) ==
        test::word_of(test::word_bytes(0x0f0e0d0c0b0a0908 + reply.header.id)));
  }
}

// A hundred replies wait for each of two full endpoints. Each flush may offer
// one of them to each endpoint.
TEST_CASE("agent: a full endpoint is asked once, however many replies wait",
          "[agent]") {
  AgentUnderTest rank;
  const Step add = rank.step(Opcode::kAdd, 8);
  for (const transport::ProcId proc : {1U, 2U}) {
    rank.endpoints[proc].room = 0;
    for (std::uint64_t id = 0; id < 100; ++id) {
      rank.agent.on_request(proc, 0, test::request_message(id, {&add, 1}, {}));
    }
    rank.endpoints[proc].offers = 0;
  }
  CHECK_FALSE(rank.agent.flush());
  CHECK(rank.endpoints[1].offers == 1);
  CHECK(rank.endpoints[2].offers == 1);
  rank.endpoints[1].room = 100;
  CHECK(rank.agent.flush());
  for (std::uint64_t id = 0; id < 100; ++id) {
    REQUIRE(rank.reply(1).header.id == id);
  }
  CHECK(rank.endpoints[2].offers == 2);
}

// The memory changes while the reply waits. The initiator has to get the new
// bytes, because the get is not complete before.
TEST_CASE("agent: a large get brings the bytes of when it is answered",
          "[agent]") {
  AgentUnderTest rank;
  constexpr std::uint32_t kBytes = 20'000;
  Step get;
  get.opcode = Opcode::kGet;
  get.remote = rank.space.codec().encode(0, 0, gmm::kModuleKey, 0, 0) + 3;
  get.size = kBytes;
  const std::span memory(rank.space.own(get.remote, kBytes).value(), kBytes);
  std::iota(reinterpret_cast<std::uint8_t*>(memory.data()),
            reinterpret_cast<std::uint8_t*>(memory.data()) + kBytes,
            std::uint8_t{1});
  std::vector<std::byte> then(memory.begin(), memory.end());
  auto& endpoint = rank.endpoints[AgentUnderTest::kPeer];
  endpoint.max_message = 2 * kBytes;
  SECTION("at once") {
    rank.request({&get, 1}, {}, 8);
  }
  SECTION("a full endpoint takes it later") {
    endpoint.room = 0;
    rank.request({&get, 1}, {}, 8);
    CHECK(endpoint.sent.empty());
    std::fill(memory.begin(), memory.end(), std::byte{0});
    then.assign(kBytes, std::byte{0});
    endpoint.room = 1;
    CHECK(rank.agent.flush());
  }
  CHECK(endpoint.from_region >= kBytes);
  const auto reply = rank.reply();
  CHECK(reply.header.id == 8);
  CHECK(reply.header.status == Status::kOk);
  CHECK(std::equal(reply.data.begin(), reply.data.end(), then.begin(),
                   then.end()));
  get.remote += std::uint64_t{1} << 40;
  rank.request({&get, 1});
  CHECK(rank.reply().header.status != Status::kOk);
}

TEST_CASE("agent: a large get whose memory is gone when there is room fails",
          "[agent]") {
  AgentUnderTest rank;
  alignas(64) std::array<std::byte, 2'000> memory{};
  const auto key = rank.keys.add(0, 0, memory.data(), memory.size());
  REQUIRE(key.ok());
  Step get;
  get.opcode = Opcode::kGet;
  get.remote = key.value();
  get.size = 2'000;
  auto& endpoint = rank.endpoints[AgentUnderTest::kPeer];
  endpoint.room = 0;
  rank.request({&get, 1}, {}, 8);
  REQUIRE(rank.agent.has_backlog());
  REQUIRE(endpoint.from_region != 0);  // it was found, and offered
  REQUIRE(rank.keys.remove(0, key.value()) == Status::kOk);
  CHECK_FALSE(rank.agent.flush());
  endpoint.room = 1;
  CHECK(rank.agent.flush());
  const auto reply = rank.reply();
  CHECK(reply.header.id == 8);
  CHECK(reply.header.status == Status::kBadKey);
  CHECK(reply.data.empty());
}

// First a peer is dead when the reply is sent. Then another peer dies while its
// reply waits. A reply to a live peer waits between two of the dead one, and
// has to go out.
TEST_CASE("agent: replies to the dead are dropped", "[agent]") {
  AgentUnderTest rank;
  const Step add = rank.step(Opcode::kAdd, 8);
  rank.agent.on_request(AgentUnderTest::kDead, 0,
                        test::request_message(1, {&add, 1}, {}));
  CHECK_FALSE(rank.agent.has_backlog());
  rank.endpoints[1].failure = Status::kPeerDead;
  rank.request({&add, 1});
  CHECK_FALSE(rank.agent.has_backlog());

  for (const transport::ProcId proc : {2U, 3U, 2U}) {
    rank.endpoints[proc].room = 0;
    rank.agent.on_request(proc, 0, test::request_message(1, {&add, 1}, {}));
  }
  rank.agent.forget_peer(2);
  rank.endpoints[2].room = rank.endpoints[3].room = 9;
  CHECK(rank.agent.flush());
  CHECK(rank.endpoints[2].sent.empty());
  CHECK(rank.endpoints[3].sent.size() == 1);
  CHECK_FALSE(rank.agent.has_backlog());
}

TEST_CASE("agent: a reply that the endpoint cannot carry becomes a failure",
          "[agent]") {
  AgentUnderTest rank;
  const auto get = rank.bulk(Opcode::kGet, 0, 200);
  rank.endpoints[1].max_message = 100;
  rank.request({&get, 1});
  const auto reply = rank.reply();
  CHECK(reply.header.status == Status::kTooLarge);
  CHECK(reply.data.empty());
  // A reply that had to wait for room becomes a failure too.
  rank.endpoints[1].room = 0;
  rank.request({&get, 1});
  CHECK(rank.agent.has_backlog());
  rank.endpoints[1].room = SIZE_MAX;
  CHECK(rank.agent.flush());
  CHECK(rank.reply().header.status == Status::kTooLarge);
  // This get asks for more bytes than the agent gathers for a reply.
  const std::uint64_t module_bytes =
      rank.host.segment().header().module_bytes + protocol::kRuntimeAreaBytes;
  Step huge = get;
  huge.remote = rank.space.codec().encode(0, 0, gmm::kModuleKey, 0, 0);
  huge.size = static_cast<std::uint32_t>(module_bytes);
  rank.endpoints[1].max_message = SIZE_MAX;
  rank.request({&huge, 1});
  CHECK(rank.reply().header.status == Status::kTooLarge);
}

// The source ends with the last byte of the region. One byte more, or a source
// of another rank, has to be refused without a start.
TEST_CASE("agent: a delegated copy is started from my memory only", "[agent]") {
  AgentUnderTest rank;
  Step copy = rank.step(Opcode::kCopy, 0);
  copy.remote = rank.space.codec().encode(1, 0, gmm::kStarterKey, 0, 0);
  copy.local = rank.at(56);
  copy.size = 200;
  rank.agent.on_request(1, 3, test::request_message(42, {&copy, 1}, {}));
  REQUIRE(rank.copies.size() == 1);
  CHECK(rank.copies[0].proc == 1);
  CHECK(rank.copies[0].color == 3);
  CHECK(rank.copies[0].id == 42);
  CHECK(rank.copies[0].step.remote == copy.remote);
  CHECK(rank.copies[0].step.local == rank.at(56));
  CHECK(rank.copies[0].step.size == 200);
  CHECK(rank.endpoints[1].sent.empty());
  rank.agent.reply(1, 3, 42, Status::kBadKey);
  const auto reply = rank.reply();
  CHECK(reply.header.id == 42);
  CHECK(reply.header.status == Status::kBadKey);

  copy.size = 201;
  rank.request({&copy, 1});
  CHECK(rank.reply().header.status == Status::kBadAddress);
  copy.local = rank.space.codec().encode(1, 0, gmm::kStarterKey, 0, 0);
  rank.request({&copy, 1});
  CHECK(rank.reply().header.status == Status::kBadRank);
  CHECK(rank.copies.size() == 1);
}

// The parts change memory at once, but only the last request has an answer,
// with the result of its atomic.
TEST_CASE("agent: a request in parts is answered once, by its last",
          "[agent]") {
  AgentUnderTest rank;
  auto& endpoint = rank.endpoints[AgentUnderTest::kPeer];
  rank.part(3, std::byte{77}, 5);
  rank.part(4, std::byte{78}, 5);
  CHECK(endpoint.sent.empty());
  CHECK(rank.memory[3] == std::byte{77});
  CHECK(rank.memory[4] == std::byte{78});
  const std::array steps = {rank.bulk(Opcode::kPut, 5, 1),
                            rank.step(Opcode::kAdd, 64)};
  const std::array data = {std::byte{79}};
  rank.request(steps, data, 5);
  const auto reply = rank.reply();
  CHECK(reply.header.id == 5);
  CHECK(reply.header.status == Status::kOk);
  CHECK(reply.data.size() == 8);
  CHECK(rank.memory[5] == std::byte{79});
  CHECK(endpoint.sent.empty());
}

TEST_CASE("agent: a part that fails is told by the last, which does nothing",
          "[agent]") {
  AgentUnderTest rank;
  const auto put8 = rank.step(Opcode::kPut8, 8);
  const std::uint64_t before = word_at(rank.memory.data() + 8);
  rank.part(256, std::byte{1}, 5);
  rank.part(7, std::byte{99}, 5);  // parts behind a failure are not executed
  CHECK(rank.memory[7] == std::byte{7});
  CHECK(rank.endpoints[AgentUnderTest::kPeer].sent.empty());

  // The failure does not concern requests of another number, peer or color.
  rank.request({&put8, 1}, {}, 6);
  CHECK(rank.reply().header.status == Status::kOk);
  rank.part(6, std::byte{60}, 5, 2);
  rank.part(5, std::byte{50}, 5, AgentUnderTest::kPeer, 1);
  CHECK(rank.memory[6] == std::byte{60});
  CHECK(rank.memory[5] == std::byte{50});

  std::memcpy(rank.memory.data() + 8, &before, sizeof before);
  rank.request({&put8, 1}, {}, 5);
  const auto failure = rank.reply();
  CHECK(failure.header.id == 5);
  CHECK(failure.header.status == Status::kBadAddress);
  CHECK(failure.header.failed_step == 0);
  CHECK(word_at(rank.memory.data() + 8) == before);

  // The failure is reported once: the number may then serve another request.
  rank.request({&put8, 1}, {}, 5);
  CHECK(rank.reply().header.status == Status::kOk);
}

// A put of a chain says its index in `operand`. The reply has to name the step
// that failed as the chain counts it, not as the part does.
TEST_CASE("agent: a put in parts that fails is told by its index", "[agent]") {
  AgentUnderTest rank;
  protocol::Step put = rank.bulk(Opcode::kPut, 5, 1);
  const std::array data = {std::byte{79}};
  put.operand = 3;
  SECTION("the first step of the last part") {
    put.remote = rank.bulk(Opcode::kPut, 256, 1).remote;
    rank.request({&put, 1}, data, 5);
    CHECK(rank.reply().header.failed_step == 3);
  }
  SECTION("a word behind it") {
    const std::array steps = {put, rank.step(Opcode::kAdd, 256)};
    rank.request(steps, data, 5);
    CHECK(rank.reply().header.failed_step == 4);
  }
  SECTION("an earlier part") {
    put.remote = rank.bulk(Opcode::kPut, 256, 1).remote;
    auto part = test::request_message(5, {&put, 1}, data);
    part[offsetof(protocol::RequestHeader, flags)] =
        std::byte{protocol::kMoreFlag};
    rank.agent.on_request(AgentUnderTest::kPeer, 0, part);
    const auto put8 = rank.step(Opcode::kPut8, 8);
    rank.request({&put8, 1}, {}, 5);
    CHECK(rank.reply().header.failed_step == 3);
  }
  SECTION("an index that no chain has") {
    put.operand = ~std::uint64_t{0};
    const std::array steps = {put, rank.step(Opcode::kAdd, 256)};
    rank.request(steps, data, 5);
    CHECK(rank.reply().header.failed_step == protocol::kMaxSteps - 1);
  }
}

TEST_CASE("agent: what a dead peer left incomplete is forgotten", "[agent]") {
  AgentUnderTest rank;
  rank.part(256, std::byte{1}, 5);
  rank.agent.forget_peer(AgentUnderTest::kPeer);
  rank.part(7, std::byte{99}, 5);
  CHECK(rank.memory[7] == std::byte{99});
}

}  // namespace acp::agent
