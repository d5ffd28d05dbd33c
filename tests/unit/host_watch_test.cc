// Absences between hosts under another launcher than acprun, over the real
// connections of HostConnections and HostWatch. The hosts are segments of this
// process, and the test is the launcher and the other ranks of each host.
#include "runtime/host_watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "protocol/job_ending.h"
#include "runtime/bootstrap_socket.h"
#include "support/host_memory.h"
#include "support/stderr_capture.h"

using namespace std::chrono_literals;

namespace acp::runtime {

namespace {

using protocol::Absence;
using protocol::AbsenceKind;
using protocol::BootstrapType;
using protocol::Phase;

constexpr auto kPatience = 20s;
constexpr LeaderKey kKey{1, 2, 3};

template <typename Condition>
bool becomes(Condition is_true) {
  const auto limit = SteadyClock().now() + kPatience;
  while (!is_true()) {
    if (SteadyClock().now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Keeps the thread of the watch in abort() until the test lets it go on: after
/// that the watch would end this process.
class Launcher final : public ProcessManager {
 public:
  explicit Launcher(std::uint32_t rank) : rank_(rank) {}

  std::string_view name() const noexcept override { return "test"; }

  std::uint32_t rank() const noexcept override { return rank_; }

  std::uint32_t size() const noexcept override { return 3; }

  std::size_t value_limit() const noexcept override { return 100; }

  Result<NodeMap> node_map(const WaitLimit&) override { return NodeMap{}; }

  Status put(std::string_view, std::string_view, const WaitLimit&) override {
    return Status::kOk;
  }

  Result<std::string> get(std::uint32_t,
                          std::string_view,
                          const WaitLimit&) override {
    return std::string();
  }

  Status fence(FenceValues, const WaitLimit&) override { return Status::kOk; }

  bool shares_connection() const noexcept override { return false; }

  void finalize() override {}

  DeathWatch death_watch() const noexcept override { return {}; }

  void abort(int exit_status, std::string_view text) override {
    std::unique_lock lock(mutex_);
    ++aborts_;
    status_ = exit_status;
    text_ = text;
    changed_.wait_for(lock, hold_, [this] { return is_released_; });
  }

  int aborts() const {
    const std::lock_guard lock(mutex_);
    return aborts_;
  }

  int status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

  /// abort() returns after that at the latest.
  void hold_for(Duration limit) {
    const std::lock_guard lock(mutex_);
    hold_ = limit;
  }

  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }

 private:
  const std::uint32_t rank_;
  mutable std::mutex mutex_;  ///< Guards all fields below.
  std::condition_variable changed_;
  int aborts_ = 0;
  int status_ = 0;
  std::string text_;
  Duration hold_ = 10 * kPatience;
  bool is_released_ = false;
};

/// The leader of a host and, where there is one, the test's end of the
/// connection of its other rank.
struct Host {
  Host(std::uint32_t first,
       std::uint32_t local,
       HostConnections& its_connections)
      : memory(3, local, first), launcher(first), connections(its_connections) {
    std::vector<HostPeer> peers;
    if (local > 1) {
      std::array<int, 2> ends{};
      REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                           ends.data()) == 0);
      member.reset(ends[0]);
      HostPeer peer;
      peer.rank = first + 1;
      peer.process = ::getpid();
      peer.socket.reset(ends[1]);
      peers.push_back(std::move(peer));
    }
    watch.emplace(HostRole::kLeader, std::move(peers), memory.segment(),
                  launcher, &connections);
    REQUIRE(watch->start() == Status::kOk);
  }

  /// Deaths and the end of the job mean nothing from here on.
  void calm() {
    watch->go(Phase::kFinalize);
    launcher.release();
  }

  void member_says(BootstrapType type, std::uint64_t value) const {
    REQUIRE(send_message(member.get(), {type, value, {}}) == 0);
  }

  std::uint64_t word(AbsenceKind kind) const {
    return memory.segment().header().absences.get(kind);
  }

  test::HostMemory memory;
  Launcher launcher;
  HostConnections& connections;
  UniqueFd member;
  std::optional<HostWatch> watch;
};

/// Ranks 0 and 1 on the first host, rank 2 on the second one.
struct TwoHosts {
  TwoHosts() {
    REQUIRE(first_connections.open(kKey, 1) == Status::kOk);
    REQUIRE(second_connections.connect("127.0.0.1", first_connections.port(),
                                       kKey, 2, {}));
    first = std::make_unique<Host>(0, 2, first_connections);
    second = std::make_unique<Host>(2, 1, second_connections);
  }

  ~TwoHosts() {
    first->calm();
    second->calm();
  }

  /// All ranks come to the launcher in acp_reset, and go on.
  void meet() const {
    first->member_says(BootstrapType::kArrive,
                       static_cast<std::uint64_t>(Phase::kCollective));
    REQUIRE(first->watch->wait_for_ranks(Phase::kCollective, limit()) ==
            Status::kOk);
    REQUIRE(second->watch->wait_for_ranks(Phase::kCollective, limit()) ==
            Status::kOk);
    first->watch->go(Phase::kCollective);
    second->watch->go(Phase::kCollective);
  }

  static TimePoint limit() { return SteadyClock().now() + kPatience; }

  HostConnections first_connections;
  HostConnections second_connections;
  std::unique_ptr<Host> first;
  std::unique_ptr<Host> second;
};

constexpr std::uint64_t kLeaving1 = Absence{AbsenceKind::kLeaving, 1, 5}.word();

}  // namespace

TEST_CASE("host watch: an absence reaches the other hosts") {
  const TwoHosts hosts;
  const Absence of_leader{AbsenceKind::kLeaving, 2, 4};
  hosts.second->watch->tell_absence(of_leader);
  CHECK(becomes([&] {
    return hosts.first->word(AbsenceKind::kLeaving) == of_leader.word();
  }));
  const Absence of_member{AbsenceKind::kBesideReset, 1, 6};
  hosts.first->member_says(BootstrapType::kAbsent, of_member.word());
  CHECK(becomes([&] {
    return hosts.second->word(AbsenceKind::kBesideReset) == of_member.word();
  }));
  CHECK(hosts.first->launcher.aborts() == 0);
  CHECK(hosts.second->launcher.aborts() == 0);
}

// The wait and the absence come in both orders, and at both hosts. The line has
// to name the rank that waits and the rank that left.
TEST_CASE(
    "host watch: rank 0 ends a job whose ranks wait in acp_reset in vain") {
  const bool waits_first = GENERATE(true, false);
  const bool waits_at_rank_0 = GENERATE(true, false);
  const TwoHosts hosts;
  hosts.meet();
  const auto wait = [&] {
    if (waits_at_rank_0) {
      hosts.first->member_says(BootstrapType::kArrive,
                               static_cast<std::uint64_t>(Phase::kCollective));
    } else {
      (void)hosts.second->watch->wait_for_ranks(Phase::kCollective,
                                                TwoHosts::limit());
    }
  };
  const std::uint32_t absent = waits_at_rank_0 ? 2 : 1;
  const Absence absence{AbsenceKind::kLeaving, absent, 5};
  if (waits_first) wait();
  if (waits_at_rank_0) {
    hosts.second->watch->tell_absence(absence);
  } else {
    hosts.first->member_says(BootstrapType::kAbsent, absence.word());
  }
  if (!waits_first) wait();
  REQUIRE(becomes([&] { return hosts.first->launcher.aborts() > 0; }));
  CHECK(hosts.first->launcher.status() == kStatusUnlikeCalls);
  CHECK(hosts.first->launcher.text() ==
        "rank " + std::to_string(absent) + " called acp_finalize while rank " +
            std::to_string(waits_at_rank_0 ? 1 : 2) + " waits in acp_reset; " +
            std::string(protocol::kSameOrderAdvice));
}

TEST_CASE(
    "host watch: the line names ranks after acp_reset as it does before") {
  const TwoHosts hosts;
  auto* procs = hosts.first->memory.segment().proc_of_rank();
  procs[1] = 2;
  procs[2] = 1;
  // Process 1, in acp_finalize, is rank 2 now, and process 2 waits.
  hosts.first->member_says(BootstrapType::kAbsent,
                           Absence{AbsenceKind::kLeaving, 2, 5}.word());
  (void)hosts.second->watch->wait_for_ranks(Phase::kCollective,
                                            TwoHosts::limit());
  REQUIRE(becomes([&] { return hosts.first->launcher.aborts() > 0; }));
  CHECK(hosts.first->launcher.text() ==
        "rank 2 (started as rank 1) called acp_finalize while rank 1 (started "
        "as rank 2) waits in acp_reset; " +
            std::string(protocol::kSameOrderAdvice));
}

TEST_CASE("host watch: a leader ends such a job where rank 0 does not") {
  const bool has_left = GENERATE(true, false);
  const TwoHosts hosts;
  hosts.first->member_says(BootstrapType::kAbsent, kLeaving1);
  REQUIRE(becomes(
      [&] { return hosts.second->word(AbsenceKind::kLeaving) == kLeaving1; }));
  if (has_left) {
    hosts.first->watch->go(Phase::kFinalize);
  }
  (void)hosts.second->watch->wait_for_ranks(Phase::kCollective,
                                            TwoHosts::limit());
  // The abort of rank 0 does not come back, as that of a launcher which hangs.
  REQUIRE(becomes([&] { return hosts.second->launcher.aborts() > 0; }));
  CHECK(hosts.second->launcher.status() == kStatusUnlikeCalls);
  CHECK((hosts.first->launcher.aborts() == 0) == has_left);
}

namespace {

/// Captures what ranks write. Lines that the log has held back since tests
/// before do not count, and those of this test do.
class Lines {
 public:
  Lines() {
    log_held_lines();
    capture_.emplace();
  }

  std::string stop() {
    log_held_lines();
    return capture_->stop();
  }

 private:
  std::optional<spmd::StderrCapture> capture_;
};

/// The lines that say why the job ends.
int lines_in(const std::string& text) {
  int lines = 0;
  for (std::size_t at = text.find("the job ends"); at != std::string::npos;
       at = text.find("the job ends", at + 1)) {
    ++lines;
  }
  return lines;
}

constexpr Absence kLeaving0{AbsenceKind::kLeaving, 0, 5};

/// A connection to a leader from a rank 0 that is stopped: it never answers.
struct SilentRank0 {
  SilentRank0() {
    REQUIRE(hub.open(kKey, 1) == Status::kOk);
    REQUIRE(connections.connect("127.0.0.1", hub.port(), kKey, 1, {}));
    host = std::make_unique<Host>(1, 2, connections);
  }

  ~SilentRank0() { host->calm(); }

  /// The leader waits in acp_reset in vain, and has told it.
  void wait_in_vain() {
    hub.send_absence({LeaderMessageType::kAbsent, 0, kLeaving0.word(), 0});
    REQUIRE(becomes([&] {
      (void)hub.look();
      return host->word(AbsenceKind::kLeaving) != 0;
    }));
    (void)host->watch->wait_for_ranks(Phase::kCollective,
                                      SteadyClock().now() + 10ms);
    REQUIRE(becomes([&] {
      for (const LeaderMessage& message : hub.look().messages) {
        is_asked |= message.type == LeaderMessageType::kStuck;
      }
      return is_asked;
    }));
  }

  HostConnections hub;
  HostConnections connections;
  std::unique_ptr<Host> host;
  bool is_asked = false;
};

}  // namespace

TEST_CASE(
    "host watch: one line tells a judgement where rank 0's launcher hangs") {
  Lines lines;
  std::string text;
  {
    HostConnections hub;
    REQUIRE(hub.open(kKey, 2) == Status::kOk);
    std::array<HostConnections, 2> connections;
    Host first(0, 1, hub);
    std::vector<std::unique_ptr<Host>> others;
    for (std::uint32_t i = 0; i < 2; ++i) {
      REQUIRE(connections[i].connect("127.0.0.1", hub.port(), kKey, i + 1, {}));
      others.push_back(std::make_unique<Host>(i + 1, 1, connections[i]));
    }
    first.watch->tell_absence(kLeaving0);
    // Rank 0 has taken both: after its judgement it takes nobody.
    for (const auto& host : others) {
      REQUIRE(becomes([&] { return host->word(AbsenceKind::kLeaving) != 0; }));
    }
    for (const auto& host : others) {
      // No other rank is on the host, so the wait is over at once.
      REQUIRE(host->watch->wait_for_ranks(Phase::kCollective,
                                          TwoHosts::limit()) == Status::kOk);
    }
    for (const auto& host : others) {
      CHECK(becomes([&] { return host->launcher.aborts() > 0; }));
      CHECK(host->launcher.status() == kStatusUnlikeCalls);
      // Waits of the leader end without a line of their own.
      CHECK(host->watch->log_end() == Status::kAborted);
    }
    CHECK(first.launcher.aborts() == 1);
    text = lines.stop();
    for (const auto& host : others) {
      host->calm();
    }
    first.calm();
  }
  INFO(text);
  CHECK(lines_in(text) == 1);
}

TEST_CASE("host watch: a leader writes the line when rank 0 is stopped") {
  Lines lines;
  std::string text;
  {
    SilentRank0 rank_0;
    const TimePoint start = SteadyClock().now();
    rank_0.wait_in_vain();
    CHECK(becomes([&] { return rank_0.host->launcher.aborts() > 0; }));
    CHECK(SteadyClock().now() - start >= 3s);
    text = lines.stop();
  }
  INFO(text);
  CHECK(lines_in(text) == 1);
}

TEST_CASE("host watch: a leader writes the line when rank 0 has left") {
  Lines lines;
  std::string text;
  {
    SilentRank0 rank_0;
    rank_0.wait_in_vain();
    const TimePoint start = SteadyClock().now();
    rank_0.hub.say_goodbye();
    CHECK(becomes([&] { return rank_0.host->launcher.aborts() > 0; }));
    CHECK(SteadyClock().now() - start < 3s);
    text = lines.stop();
  }
  INFO(text);
  CHECK(lines_in(text) == 1);
}

TEST_CASE("host watch: after rank 0 has written the line no rank does") {
  Lines lines;
  std::string text;
  {
    SilentRank0 rank_0;
    rank_0.host->launcher.hold_for(0s);
    rank_0.hub.send_written();
    rank_0.wait_in_vain();
    // The leader ends the job when rank 0's launcher does not, and tells the
    // other rank of its host that there is a line.
    const ReceivedMessage received =
        receive_message(rank_0.host->member.get(), Waiting::kBlocks);
    REQUIRE(received.kind == ReceivedMessage::Kind::kMessage);
    CHECK(received.message.type == BootstrapType::kEnding);
    CHECK(received.message.value == 1);
    CHECK(rank_0.host->launcher.aborts() == 1);
    CHECK(rank_0.host->watch->log_end() == Status::kAborted);
    text = lines.stop();
  }
  INFO(text);
  CHECK(lines_in(text) == 0);
}

// The message of the leader says whether a line is written already. All that
// the member logs until its wait has ended is captured.
TEST_CASE("host watch: a member writes no line where its leader says so") {
  const bool is_written = GENERATE(true, false);
  Lines lines;
  std::string text;
  {
    const test::HostMemory memory(3, 2, 1);
    Launcher launcher(2);
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                         ends.data()) == 0);
    const UniqueFd leader(ends[0]);
    std::vector<HostPeer> peers(1);
    peers[0].rank = 1;
    peers[0].process = ::getpid();
    peers[0].socket.reset(ends[1]);
    HostWatch watch(HostRole::kMember, std::move(peers), memory.segment(),
                    launcher, nullptr);
    REQUIRE(watch.start() == Status::kOk);
    REQUIRE(send_message(leader.get(), {BootstrapType::kEnding,
                                        is_written ? 1U : 0U, "for a test"}) ==
            0);
    CHECK(watch.wait_for_go(Phase::kCollective, TwoHosts::limit()) ==
          Status::kAborted);
    text = lines.stop();
  }
  INFO(text);
  CHECK(lines_in(text) == (is_written ? 0 : 1));
}

namespace {

/// The state of abort_host(). The test sets it while no thread logs an error.
struct Aborting {
  Host* host = nullptr;
  std::thread::id waiter;  ///< Only errors of this thread abort.
  std::future<void> call;
};

Aborting g_aborting;

/// Does what ACP_ERRORS=abort does, but in a thread of its own: a line that is
/// written with the mutex of the watch fails the test, and does not hang it.
void abort_host(std::string_view) noexcept {
  if (std::this_thread::get_id() != g_aborting.waiter) {
    return;
  }
  Host& host = *g_aborting.host;
  g_aborting.call = std::async(std::launch::async,
                               [&host] { host.watch->abort(1, "for a test"); });
  CHECK(becomes([&host] { return host.launcher.aborts() > 0; }));
}

}  // namespace

TEST_CASE("host watch: ACP_ERRORS=abort ends a rank that waits") {
  const bool is_in_time = GENERATE(true, false);
  HostConnections connections;
  Host host(0, 2, connections);
  g_aborting = {&host, std::this_thread::get_id(), {}};
  set_error_action(abort_host);
  if (is_in_time) {
    host.member.reset();
  }
  const Status status = host.watch->wait_for_ranks(
      Phase::kFinalize,
      is_in_time ? TwoHosts::limit() : SteadyClock().now() + 1ms);
  set_error_action(nullptr);
  CHECK(status == (is_in_time ? Status::kAborted : Status::kTimedOut));
  REQUIRE(g_aborting.call.valid());
  host.calm();
  g_aborting.call.get();
}

// The launcher's abort returns at once. One line has to say which calls were
// not alike, and the end of the job must add none.
TEST_CASE(
    "host watch: ranks of one host in unlike calls leave the line to the "
    "judgement") {
  Lines lines;
  std::string text;
  {
    const TwoHosts hosts;
    hosts.first->launcher.hold_for(0s);
    hosts.first->member_says(BootstrapType::kAbsent, kLeaving1);
    hosts.first->member_says(BootstrapType::kArrive,
                             static_cast<std::uint64_t>(Phase::kFinalize));
    CHECK(hosts.first->watch->wait_for_ranks(
              Phase::kCollective, TwoHosts::limit()) == Status::kAborted);
    CHECK(hosts.first->launcher.aborts() == 1);
    text = lines.stop();
  }
  INFO(text);
  CHECK(lines_in(text) == 1);
  CHECK(text.find("rank 1 called acp_finalize while rank 0 waits in "
                  "acp_reset") != std::string::npos);
}

TEST_CASE("host watch: a leader waits long enough for a late judgement") {
  TwoHosts hosts;
  // Rank 0's abort does not come back, and that of the other leader does late.
  hosts.second->launcher.hold_for(1200ms);
  hosts.first->member_says(BootstrapType::kAbsent, kLeaving1);
  REQUIRE(becomes(
      [&] { return hosts.second->word(AbsenceKind::kLeaving) == kLeaving1; }));
  REQUIRE(hosts.second->watch->wait_for_ranks(
              Phase::kCollective, TwoHosts::limit()) == Status::kOk);
  CHECK(hosts.second->watch->await_judgement());
  CHECK(hosts.first->launcher.aborts() == 1);
  CHECK(hosts.second->launcher.aborts() == 1);
}

TEST_CASE("host watch: a rank that is ahead is not absent") {
  const TwoHosts hosts;
  hosts.meet();
  // Ranks 0 and 1 have met with rank 2, which has not got its Go.
  (void)hosts.second->watch->wait_for_ranks(Phase::kCollective,
                                            TwoHosts::limit());
  hosts.first->member_says(BootstrapType::kArrive,
                           static_cast<std::uint64_t>(Phase::kCollective));
  REQUIRE(hosts.first->watch->wait_for_ranks(Phase::kCollective,
                                             TwoHosts::limit()) == Status::kOk);
  hosts.first->watch->go(Phase::kCollective);
  hosts.first->member_says(BootstrapType::kAbsent, kLeaving1);
  const Absence last{AbsenceKind::kLeft, 1, 5};
  hosts.first->member_says(BootstrapType::kAbsent, last.word());
  REQUIRE(becomes(
      [&] { return hosts.second->word(AbsenceKind::kLeft) == last.word(); }));
  CHECK(hosts.second->launcher.aborts() == 0);
  hosts.second->watch->go(Phase::kCollective);
  CHECK(hosts.first->launcher.aborts() == 0);
}

TEST_CASE(
    "host watch: the number of an acp_reset that is over is not entered") {
  TwoHosts hosts;
  hosts.meet();
  // Another leader's words of before the meeting, which come late.
  hosts.second_connections.send_absence(
      {LeaderMessageType::kAbsent, 0,
       Absence{AbsenceKind::kResetting, 2, 3}.word(), 0});
  hosts.second->watch->tell_absence({AbsenceKind::kLeaving, 2, 9});
  REQUIRE(
      becomes([&] { return hosts.first->word(AbsenceKind::kLeaving) != 0; }));
  CHECK(hosts.first->word(AbsenceKind::kResetting) == 0);
  // The next one is.
  hosts.second->watch->tell_absence({AbsenceKind::kResetting, 2, 11});
  CHECK(
      becomes([&] { return hosts.first->word(AbsenceKind::kResetting) != 0; }));
}

TEST_CASE(
    "host watch: the loss of a host in acp_finalize ends the job a moment "
    "later") {
  const bool goes_on = GENERATE(true, false);
  HostConnections connections;
  REQUIRE(connections.open(kKey, 1) == Status::kOk);
  Host host(0, 2, connections);
  auto other = std::make_unique<HostConnections>();
  REQUIRE(other->connect("127.0.0.1", connections.port(), kKey, 2, {}));
  // An absence arrives, so the host has taken the connection.
  other->send_absence({LeaderMessageType::kAbsent, 0,
                       Absence{AbsenceKind::kLeaving, 2, 5}.word(), 0});
  REQUIRE(becomes([&] { return host.word(AbsenceKind::kLeaving) != 0; }));
  host.member_says(BootstrapType::kArrive,
                   static_cast<std::uint64_t>(Phase::kFinalize));
  REQUIRE(host.watch->wait_for_ranks(Phase::kFinalize, TwoHosts::limit()) ==
          Status::kOk);
  const TimePoint start = SteadyClock().now();
  other.reset();
  REQUIRE(becomes([&connections] { return connections.size() == 0; }));
  if (goes_on) {
    host.calm();
    // Longer than the pause: the end of the job would show.
    const WaitLimit limit = host.watch->limit_until({});
    pollfd end{limit.end_fd, limit.end_events, 0};
    CHECK(::poll(&end, 1, 1500) == 0);
    CHECK_FALSE(protocol::is_ending(host.memory.segment()));
  } else {
    CHECK(becomes([&] { return protocol::is_ending(host.memory.segment()); }));
    CHECK(SteadyClock().now() - start >= 1s);
    host.launcher.release();
  }
}

namespace {

/// Waits as HostWatch does.
ConnectionReport wait_and_look(HostConnections& connections) {
  pollfd ready{connections.ready_fd(), POLLIN, 0};
  (void)::poll(&ready, 1, 10);
  return connections.look();
}

/// Looks until so many messages have come.
std::vector<LeaderMessage> hear(HostConnections& connections,
                                std::size_t count) {
  std::vector<LeaderMessage> messages;
  CHECK(becomes([&] {
    for (const LeaderMessage& one : wait_and_look(connections).messages) {
      messages.push_back(one);
    }
    return messages.size() >= count;
  }));
  return messages;
}

}  // namespace

TEST_CASE(
    "host connections: a leader that rank 0 takes late gets what was told") {
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  HostConnections leaf;
  REQUIRE(leaf.connect("127.0.0.1", hub.port(), kKey, 7, {}));
  const auto absent = [](AbsenceKind kind, std::uint32_t barrier,
                         std::uint64_t meetings) {
    return LeaderMessage{LeaderMessageType::kAbsent, 0,
                         Absence{kind, 1, barrier}.word(), meetings};
  };
  // Rank 0 has not looked at the connection yet.
  hub.send_absence(absent(AbsenceKind::kResetting, 3, 0));
  hub.send_absence(absent(AbsenceKind::kResetting, 5, 4));
  hub.send_absence(absent(AbsenceKind::kResetting, 6, 4));
  hub.send_absence(absent(AbsenceKind::kLeaving, 9, 4));
  hub.send_absence(absent(AbsenceKind::kLeaving, 8, 4));
  hub.send_absence(absent(AbsenceKind::kLeft, 8, 4));
  hub.send_absence(absent(AbsenceKind::kLeft, 9, 4));
  hub.send_absence(absent(AbsenceKind::kBesideReset, 6, 4));
  hub.send_absence(absent(AbsenceKind::kBesideReset, 5, 4));
  leaf.send_absence(absent(AbsenceKind::kBesideReset, 5, 4));
  CHECK(hear(hub, 1).front().absence ==
        Absence{AbsenceKind::kBesideReset, 1, 5}.word());
  const auto messages = hear(leaf, 5);
  REQUIRE(messages.size() == 5);
  CHECK(messages[0].absence == Absence{AbsenceKind::kResetting, 1, 5}.word());
  CHECK(messages[1].absence == Absence{AbsenceKind::kResetting, 1, 6}.word());
  CHECK(messages[1].meetings == 4);
  CHECK(messages[2].absence == Absence{AbsenceKind::kLeaving, 1, 8}.word());
  CHECK(messages[3].absence == Absence{AbsenceKind::kLeft, 1, 8}.word());
  CHECK(messages[4].absence == Absence{AbsenceKind::kBesideReset, 1, 6}.word());
}

namespace {

/// A leader of which the test sees every byte.
UniqueFd connect_plainly(const HostConnections& hub, std::uint32_t rank) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(hub.port());
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof address) == 0);
  const timeval patience{20, 0};
  REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
                       sizeof patience) == 0);
  REQUIRE(::send(socket.get(), kKey.data(), kKey.size(), MSG_MORE) ==
          static_cast<ssize_t>(kKey.size()));
  REQUIRE(::send(socket.get(), &rank, sizeof rank, 0) ==
          static_cast<ssize_t>(sizeof rank));
  return socket;
}

/// Returns when the hub has the message in its receive buffer.
void say(const UniqueFd& leaf, const LeaderMessage& message) {
  REQUIRE(::send(leaf.get(), &message, sizeof message, MSG_NOSIGNAL) ==
          static_cast<ssize_t>(sizeof message));
  REQUIRE(becomes([&leaf] {
    int unacknowledged = 1;
    return ::ioctl(leaf.get(), SIOCOUTQ, &unacknowledged) == 0 &&
           unacknowledged == 0;
  }));
}

/// The next message is the goodbye.
void check_goodbye(const UniqueFd& leaf) {
  LeaderMessage message{LeaderMessageType::kStuck, 0, 0, 0};
  CHECK(::recv(leaf.get(), &message, sizeof message, MSG_WAITALL) ==
        static_cast<ssize_t>(sizeof message));
  CHECK(message.type == LeaderMessageType::kGoodbye);
}

/// The connection has ended, and TCP has not reset it.
void check_closed(const UniqueFd& leaf) {
  char byte = 0;
  errno = 0;
  CHECK(::recv(leaf.get(), &byte, 1, 0) == 0);
  CHECK(errno == 0);
}

constexpr LeaderMessage kAbsent1{LeaderMessageType::kAbsent, 0, kLeaving1, 0};

}  // namespace

TEST_CASE("host connections: unread absences do not reset a connection") {
  auto hub = std::make_unique<HostConnections>();
  REQUIRE(hub->open(kKey, 1) == Status::kOk);
  const UniqueFd leaf = connect_plainly(*hub, 7);
  say(leaf, kAbsent1);
  REQUIRE(hear(*hub, 1).size() == 1);
  for (int i = 0; i < 10; ++i) {
    say(leaf, kAbsent1);
  }
  hub->say_goodbye();
  check_goodbye(leaf);
  say(leaf, kAbsent1);
  hub.reset();
  check_closed(leaf);
}

TEST_CASE("host connections: a leader that has said goodbye gets no absence") {
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  const UniqueFd leaf = connect_plainly(hub, 7);
  say(leaf, {LeaderMessageType::kGoodbye, 0, 0, 0});
  say(leaf, kAbsent1);
  REQUIRE(hear(hub, 1).size() == 1);
  hub.send_absence(kAbsent1);
  hub.say_goodbye();
  check_goodbye(leaf);
}

TEST_CASE(
    "host connections: a leader that rank 0 has not taken gets its goodbye") {
  auto hub = std::make_unique<HostConnections>();
  REQUIRE(hub->open(kKey, 1) == Status::kOk);
  const UniqueFd leaf = connect_plainly(*hub, 7);
  say(leaf, kAbsent1);
  hub->say_goodbye();
  check_goodbye(leaf);
  hub.reset();
  check_closed(leaf);
}

// The hub says goodbye before or after it has read the key of the leader. In
// both cases the absence arrives first.
TEST_CASE(
    "host connections: a leader whose key rank 0 has not read gets what was "
    "told before the goodbye") {
  const bool is_taken = GENERATE(true, false);
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  const UniqueFd leaf = connect_plainly(hub, 7);
  if (is_taken) {
    REQUIRE(becomes([&] { return hub.look(), hub.size() == 1; }));
  }
  hub.send_absence(kAbsent1);
  hub.say_goodbye();
  LeaderMessage message;
  CHECK(::recv(leaf.get(), &message, sizeof message, MSG_WAITALL) ==
        static_cast<ssize_t>(sizeof message));
  CHECK(message.type == LeaderMessageType::kAbsent);
  CHECK(message.absence == kAbsent1.absence);
  check_goodbye(leaf);
}

// The message arrives in both cases. Only the end without a goodbye is a loss.
TEST_CASE(
    "host connections: the end of a connection means a loss before goodbye") {
  const bool says_goodbye = GENERATE(true, false);
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  {
    HostConnections leaf;
    REQUIRE(leaf.connect("127.0.0.1", hub.port(), kKey, 7, {}));
    leaf.send_absence({LeaderMessageType::kAbsent, 0, kLeaving1, 0});
    if (says_goodbye) leaf.say_goodbye();
  }
  std::size_t messages = 0;
  std::optional<LostHost> lost;
  CHECK(becomes([&] {
    const ConnectionReport report = wait_and_look(hub);
    messages += report.messages.size();
    lost = report.lost ? report.lost : lost;
    return messages == 1 && hub.size() == 0;
  }));
  REQUIRE(lost.has_value() == !says_goodbye);
  if (lost) {
    CHECK(lost->leader == 7);
    CHECK(lost->address == "127.0.0.1");
  }
}

TEST_CASE(
    "host connections: of two hosts that are lost at once one is reported") {
  HostConnections hub;
  REQUIRE(hub.open(kKey, 2) == Status::kOk);
  std::vector<UniqueFd> leaders;
  for (const std::uint32_t rank : {7U, 9U}) {
    leaders.push_back(connect_plainly(hub, rank));
    say(leaders.back(), kAbsent1);
  }
  REQUIRE(hear(hub, 2).size() == 2);
  leaders.clear();
  std::vector<std::uint32_t> lost;
  CHECK(becomes([&] {
    if (const ConnectionReport report = wait_and_look(hub); report.lost) {
      lost.push_back(report.lost->leader);
    }
    return hub.size() == 0;
  }));
  // One look, or two, saw the ends of both connections.
  REQUIRE((lost.size() == 1 || lost.size() == 2));
  CHECK((lost.front() == 7 || lost.front() == 9));
  CHECK((lost.front() != lost.back()) == (lost.size() == 2));
}

namespace {

/// Sets the soft limit of open files, and restores it at the end.
class OpenFiles {
 public:
  explicit OpenFiles(rlim_t limit) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    set(limit);
  }

  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  ~OpenFiles() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

  void set(rlim_t limit) const {
    const rlimit changed{limit, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &changed) == 0);
  }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE(
    "host connections: rank 0 takes more leaders than files are open by "
    "default") {
  constexpr std::size_t kLeaders = 300;
  const OpenFiles files(kLeaders + 64);  // one end of each connection
  HostConnections hub;
  REQUIRE(hub.open(kKey, kLeaders) == Status::kOk);
  std::vector<UniqueFd> leaders;
  for (std::size_t i = 0; i < kLeaders; ++i) {
    leaders.push_back(connect_plainly(hub, static_cast<std::uint32_t>(i)));
  }
  for (const UniqueFd& leader : leaders) {
    say(leader, kAbsent1);
  }
  CHECK(hear(hub, kLeaders).size() == kLeaders);
  CHECK(hub.size() == kLeaders);
  hub.send_absence(kAbsent1);
  hub.say_goodbye();
  for (const UniqueFd& leader : leaders) {
    LeaderMessage message;
    CHECK(::recv(leader.get(), &message, sizeof message, MSG_WAITALL) ==
          static_cast<ssize_t>(sizeof message));
    CHECK(message.absence == kAbsent1.absence);
    check_goodbye(leader);
  }
}

TEST_CASE(
    "host connections: the connections of a raised limit leave select() room") {
  const OpenFiles files(FD_SETSIZE);
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  const auto high_connections = [] {
    int count = 0;
    for (int fd = FD_SETSIZE; fd < FD_SETSIZE + 100; ++fd) {
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      auto* const address = reinterpret_cast<sockaddr*>(&peer);
      count += ::getpeername(fd, address, &size) == 0 ? 1 : 0;
    }
    return count;
  };
  CHECK(high_connections() == 0);
  const UniqueFd leader = connect_plainly(hub, 7);
  say(leader, kAbsent1);
  CHECK(hear(hub, 1).size() == 1);
  CHECK(high_connections() == 1);
}

TEST_CASE(
    "host connections: a leader without a free descriptor at rank 0 waits") {
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  {
    // No connection waits, so nothing is missing.
    const OpenFiles files(1);  // the standard input
    CHECK(hub.look().messages.empty());
    CHECK(hub.look_due() == TimePoint::max());
  }
  const UniqueFd leader = connect_plainly(hub, 7);
  say(leader, kAbsent1);
  {
    const OpenFiles files(1);  // the standard input
    CHECK(hub.look().messages.empty());
  }
  // The thread that polls would otherwise never sleep.
  pollfd ready{hub.ready_fd(), POLLIN, 0};
  CHECK(::poll(&ready, 1, 0) == 0);
  const TimePoint due = hub.look_due();
  CHECK(due > SteadyClock().now());
  CHECK(due <= SteadyClock().now() + 1s);
  CHECK(hear(hub, 1).size() == 1);
  CHECK(SteadyClock().now() >= due);
  CHECK(hub.size() == 1);
  CHECK(hub.look_due() == TimePoint::max());
}

TEST_CASE(
    "host connections: what a full connection does not take leaves later") {
  constexpr std::size_t kMessages = 400'000;  // more than TCP buffers
  HostConnections hub;
  REQUIRE(hub.open(kKey, 1) == Status::kOk);
  const UniqueFd leader = connect_plainly(hub, 7);
  say(leader, kAbsent1);
  REQUIRE(hear(hub, 1).size() == 1);
  for (std::size_t i = 0; i < kMessages; ++i) {
    hub.send_absence({LeaderMessageType::kAbsent, 0, kLeaving1, i});
  }
  std::string received;
  std::array<char, 65536> part{};
  CHECK(becomes([&] {
    (void)wait_and_look(hub);
    for (ssize_t n = 1; n > 0;) {
      n = ::recv(leader.get(), part.data(), part.size(), MSG_DONTWAIT);
      received.append(part.data(),
                      static_cast<std::size_t>(std::max(n, ssize_t{0})));
    }
    return received.size() >= kMessages * sizeof(LeaderMessage);
  }));
  REQUIRE(received.size() == kMessages * sizeof(LeaderMessage));
  LeaderMessage last;
  std::memcpy(&last, received.data() + received.size() - sizeof last,
              sizeof last);
  CHECK(last.meetings == kMessages - 1);
}

}  // namespace acp::runtime
