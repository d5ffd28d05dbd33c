// Two UCX transports in one process, polled by hand, without an engine above
// them. Used by the tests of this folder.
#pragma once

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "base/clock.h"
#include "transport/ucx/ucx_transport.h"

namespace acp::ucx {

/// Calls `step` until the condition holds. False: it did not in 20 seconds.
inline bool poll_until(const std::function<void()>& step,
                       const std::function<bool()>& condition) {
  const TimePoint limit = SteadyClock().now() + std::chrono::seconds(20);
  while (!condition()) {
    if (SteadyClock().now() > limit) {
      return false;
    }
    step();
  }
  return true;
}

/// While it lives, UCX_TLS has another value.
class OtherTls {
 public:
  explicit OtherTls(const std::string& tls) {
    if (const char* before = std::getenv("UCX_TLS"); before != nullptr) {
      before_ = before;
    }
    ::setenv("UCX_TLS", tls.c_str(), 1);
  }

  OtherTls(const OtherTls&) = delete;
  OtherTls& operator=(const OtherTls&) = delete;

  ~OtherTls() {
    if (before_) {
      ::setenv("UCX_TLS", before_->c_str(), 1);
    } else {
      ::unsetenv("UCX_TLS");
    }
  }

 private:
  std::optional<std::string> before_;
};

class Sink final : public transport::MessageSink {
 public:
  void on_message(transport::ProcId /*from*/,
                  transport::Color /*color*/,
                  std::span<const std::byte> /*bytes*/) override {
    ++messages;
  }

  void on_posted_done(std::uint64_t /*token*/) override { ++done; }

  void on_peer_failed(transport::ProcId /*peer*/,
                      std::string_view why) override {
    ++failures;
    last_failure = why;
  }

  int messages = 0;
  int done = 0;
  int failures = 0;
  std::string last_failure;
};

/// Whether UCX_TLS has a network. UCX's shared memory leads to no other host.
inline bool has_network() {
  const char* tls = std::getenv("UCX_TLS");
  return tls == nullptr || std::string(tls).find("tcp") != std::string::npos;
}

struct PairOptions {
  Executor atomics_of_1 = Executor::kCpu;
  std::string devices{};
  /// The processes know that they share a host.
  bool is_one_host = !has_network();
};

/// Process 0 posts; process 1 owns a word.
class Pair {
 public:
  /// Both transports are made before either looks for the other's address card.
  /// Each then registers the memory that the other one uses.
  explicit Pair(const PairOptions& chosen = {}) {
    for (transport::ProcId me = 0; me < 2; ++me) {
      UcxOptions options;
      options.me = me;
      options.procs = 2;
      options.devices = chosen.devices;
      options.atomics = me == 1 ? chosen.atomics_of_1 : Executor::kCpu;
      options.card_of = [this](transport::ProcId peer) {
        return transports[peer]->card();
      };
      options.is_local = [is_local = chosen.is_one_host](transport::ProcId) {
        return is_local;
      };
      options.has_other_hosts = !chosen.is_one_host;
      auto opened = UcxTransport::open(std::move(options));
      REQUIRE(opened.ok());
      transports[me] = std::move(*opened);
    }
    transports[0]->on_registered({.key = 3,
                                  .state = 1,
                                  .address = as_bytes(local),
                                  .size = sizeof local});
    transports[1]->on_registered({.key = 5,
                                  .state = 1,
                                  .address = as_bytes(remote),
                                  .size = sizeof remote});
  }

  /// One pass of one process.
  void pass(transport::ProcId me) {
    transports[me]->poll(sinks[me]);
    transports[me]->flush();
  }

  /// One pass of each process. True: process 1 has served process 0.
  bool pass() {
    pass(0);
    pass(1);
    return transports[1]->has_served();
  }

  /// The endpoint of process 0 to process 1.
  Endpoint& endpoint(transport::Color color = 0) {
    auto found = transports[0]->endpoint(1, color);
    REQUIRE(found.ok());
    return static_cast<Endpoint&>(**found);
  }

  /// A get of the whole word, or a put.
  transport::RemoteStep step(protocol::Opcode opcode) {
    transport::RemoteStep made;
    made.opcode = opcode;
    made.size = sizeof local;
    made.key = 5;
    made.state = 1;
    made.offset =
        reinterpret_cast<std::uintptr_t>(&remote) % transport::kOffsetAlignment;
    made.local_memory = as_bytes(local);
    made.local_key = 3;
    return made;
  }

  Status post_get(std::uint64_t token) {
    const transport::RemoteStep get = step(protocol::Opcode::kGet);
    return endpoint().post({&get, 1}, token);
  }

  /// Connects, and learns of the word. Both processes take part.
  void get_registration() {
    REQUIRE(poll_until([this] { pass(); },
                       [this] { return post_get(0) == Status::kOk; }));
    REQUIRE(
        poll_until([this] { pass(); }, [this] { return sinks[0].done == 1; }));
  }

  static std::byte* as_bytes(std::uint64_t& word) {
    return reinterpret_cast<std::byte*>(&word);
  }

  std::uint64_t local = 0;
  std::uint64_t remote = 0;
  std::array<std::unique_ptr<UcxTransport>, 2> transports;
  std::array<Sink, 2> sinks;
};

}  // namespace acp::ucx
