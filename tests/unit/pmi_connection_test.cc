// A thread that waits for the fence of PMI beside one that asks for values. The
// test is the launcher, at the other end of the socket.
#include "runtime/pmi_connection.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "runtime/pmi_message.h"

namespace acp::runtime {

namespace {

constexpr std::array kDialects = {PmiDialect::kPmi1, PmiDialect::kPmi2};

class ScriptedLauncher {
 public:
  explicit ScriptedLauncher(PmiDialect dialect) : dialect_(dialect) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) ==
            0);
    socket_.reset(ends[0]);
    client_.emplace(UniqueFd(ends[1]));
  }

  PmiConnection& client() { return *client_; }

  /// The next request; its command is "" when the client is gone.
  PmiMessage hear() {
    std::string text;
    char byte = 0;
    std::optional<std::size_t> left;
    while (left != 0 && ::read(socket_.get(), &byte, 1) == 1) {
      if (dialect_ == PmiDialect::kPmi1 && byte == '\n') break;
      text += byte;
      if (left) {
        --*left;
      } else if (dialect_ == PmiDialect::kPmi2 &&
                 text.size() == kPmi2LengthDigits) {
        left = decode_pmi2_length(text);
        text.clear();
      }
    }
    return decode_pmi(dialect_, text).value_or(PmiMessage{});
  }

  void say(const PmiMessage& message) {
    const std::string bytes = encode_pmi(dialect_, message);
    REQUIRE(::write(socket_.get(), bytes.data(), bytes.size()) ==
            static_cast<ssize_t>(bytes.size()));
  }

  /// Answers a request for a value with its key.
  void give(const PmiMessage& request) {
    say({"value", {{"value", *request.find("key")}}});
  }

  /// Gives a value, and returns true; false: the request is a fence.
  bool gives_value() {
    const PmiMessage message = hear();
    if (message.command != "get") {
      return false;
    }
    give(message);
    return true;
  }

  void leave() { socket_.reset(); }

 private:
  const PmiDialect dialect_;
  UniqueFd socket_;
  std::optional<PmiConnection> client_;
};

Status fence(PmiConnection& client,
             PmiDialect dialect,
             const WaitLimit& limit) {
  const auto answer =
      client.request(dialect, {"fence", {}}, "over", limit, PmiAnswer::kFence);
  return answer.ok() ? Status::kOk : answer.status();
}

/// kProtocol: the answer is that of another request.
Status get(PmiConnection& client,
           PmiDialect dialect,
           int number,
           const WaitLimit& limit) {
  const std::string key = std::to_string(number);
  const auto answer =
      client.request(dialect, {"get", {{"key", key}}}, "value", limit);
  if (!answer.ok()) {
    return answer.status();
  }
  const std::string* value = answer->find("value");
  return value != nullptr && *value == key ? Status::kOk : Status::kProtocol;
}

}  // namespace

// The launcher gives values before it ends each fence. Two threads of the rank
// share the connection, and each has to get its own answers.
TEST_CASE("pmi connection: values come while a fence is under way",
          "[runtime][bootstrap]") {
  constexpr int kFences = 200;
  constexpr int kValues = 20;
  for (const PmiDialect dialect : kDialects) {
    ScriptedLauncher launcher(dialect);
    std::thread other_end([&] {
      int given = 0;
      for (int i = 0; i < kFences; ++i) {
        while (launcher.gives_value()) {
          ++given;
        }
        for (int n = 0; n < kValues && given < kFences * kValues; ++n) {
          launcher.give(launcher.hear());
          ++given;
        }
        launcher.say({"over", {}});
      }
      for (; given < kFences * kValues; ++given) {
        launcher.give(launcher.hear());
      }
    });
    int failed = 0;
    std::atomic<int> wrong{0};
    std::thread asker([&] {
      for (int i = 0; i < kFences * kValues; ++i) {
        wrong += get(launcher.client(), dialect, i, {}) == Status::kOk ? 0 : 1;
      }
    });
    for (int i = 0; i < kFences; ++i) {
      failed += fence(launcher.client(), dialect, {}) == Status::kOk ? 0 : 1;
    }
    asker.join();
    other_end.join();
    CHECK(failed == 0);
    CHECK(wrong == 0);
  }
}

TEST_CASE("pmi connection: two threads ask for values, one after the other",
          "[runtime][bootstrap]") {
  constexpr int kValues = 1000;
  ScriptedLauncher launcher(PmiDialect::kPmi1);
  std::thread other_end([&] {
    for (int i = 0; i < 2 * kValues; ++i) {
      launcher.give(launcher.hear());
    }
  });
  std::atomic<int> wrong{0};
  const auto ask = [&](int first) {
    for (int i = 0; i < kValues; ++i) {
      wrong += get(launcher.client(), PmiDialect::kPmi1, first + i, {}) ==
                       Status::kOk
                   ? 0
                   : 1;
    }
  };
  std::thread second([&] { ask(kValues); });
  ask(0);
  second.join();
  other_end.join();
  CHECK(wrong == 0);
}

/// The thread that reads and the one that waits for it both have to end.
TEST_CASE("pmi connection: the end of the job, or of the launcher, ends both",
          "[runtime][bootstrap]") {
  for (const bool is_told : {true, false}) {
    for (const bool is_fence_first : {true, false}) {
      ScriptedLauncher launcher(PmiDialect::kPmi1);
      const UniqueFd end(::eventfd(0, EFD_CLOEXEC));
      const WaitLimit limit{TimePoint::max(), end.get(), POLLIN};
      std::array<Status, 2> statuses{};
      std::array<std::thread, 2> threads;
      for (const bool is_fence : {is_fence_first, !is_fence_first}) {
        threads[is_fence ? 0 : 1] = std::thread([&, is_fence] {
          statuses[is_fence ? 0 : 1] =
              is_fence ? fence(launcher.client(), PmiDialect::kPmi1, limit)
                       : get(launcher.client(), PmiDialect::kPmi1, 7, limit);
        });
        REQUIRE(launcher.hear().command == (is_fence ? "fence" : "get"));
      }
      if (is_told) {
        const std::uint64_t one = 1;
        REQUIRE(::write(end.get(), &one, sizeof one) == sizeof one);
      } else {
        launcher.leave();
      }
      for (std::thread& thread : threads) {
        thread.join();
      }
      const Status expected = is_told ? Status::kAborted : Status::kSystem;
      CHECK(statuses[0] == expected);
      CHECK(statuses[1] == expected);
    }
  }
}

/// The thread that asks for a value reads, and its limit has no deadline.
TEST_CASE(
    "pmi connection: a fence keeps its deadline while another thread reads",
    "[runtime][bootstrap]") {
  ScriptedLauncher launcher(PmiDialect::kPmi1);
  Status value = Status::kSystem;
  std::thread asker(
      [&] { value = get(launcher.client(), PmiDialect::kPmi1, 7, {}); });
  const PmiMessage request = launcher.hear();
  const TimePoint soon = SteadyClock().now() + std::chrono::milliseconds(20);
  CHECK(fence(launcher.client(), PmiDialect::kPmi1, {.deadline = soon}) ==
        Status::kTimedOut);
  launcher.give(request);
  asker.join();
  CHECK(value == Status::kOk);
}

}  // namespace acp::runtime
