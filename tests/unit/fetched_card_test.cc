// The address cards of other hosts that a process fetches from acprun, beside a
// thread that waits for the others in a phase.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "support/fake_launcher.h"

namespace acp::runtime {

namespace {

using protocol::BootstrapType;
using protocol::Phase;
using test::FakeLauncher;

/// Process 1 of a job of many, alone on its host.
protocol::HostPlan plan_of_many() {
  protocol::HostPlan plan;
  plan.procs = 5000;
  plan.local_procs = {1};
  plan.sizes = {.starter_bytes = 4096,
                .module_bytes = 1 << 20,
                .card_bytes = protocol::kLongCardBytes,
                .card_table = protocol::CardTable::kOfHost};
  return plan;
}

/// The address card of a process: long and short ones in turn.
std::string card_of(std::uint64_t proc) {
  return std::string(proc % 2 == 0 ? 40'000 : 30, static_cast<char>(proc | 1));
}

/// Answers one WantAddress. False: it is another message, which stays in
/// `other`.
bool answer(FakeLauncher& launcher, protocol::BootstrapMessage& other) {
  auto message = launcher.hear();
  if (message.type != BootstrapType::kWantAddress) {
    other = message;
    return false;
  }
  const std::string card = card_of(message.value);
  std::ranges::copy(std::as_bytes(std::span(card)),
                    launcher.segment().fetched_card(0).begin());
  launcher.say({BootstrapType::kAddress, card.size(), {}});
  return true;
}

bool is_card_of(std::uint32_t proc, std::span<const std::byte> bytes) {
  const auto used = protocol::used_part(bytes);
  const std::string card = card_of(proc);
  return std::ranges::equal(used, std::as_bytes(std::span(card)));
}

}  // namespace

// The bytes of one address card stay valid only until the next one. So each is
// checked before another is asked for.
TEST_CASE("fetched card: whole, and nothing of the one before",
          "[runtime][bootstrap]") {
  FakeLauncher launcher(plan_of_many());
  const auto bootstrap = launcher.welcome(1);
  CHECK_FALSE(bootstrap->segment().has_card(0));
  CHECK(bootstrap->segment().has_card(1));
  std::thread acprun([&] {
    protocol::BootstrapMessage other;
    while (answer(launcher, other)) {
    }
  });
  int wrong = 0;
  for (std::uint32_t proc = 2; proc < 1000; ++proc) {
    const auto card = bootstrap->fetch_card(proc);
    wrong += card.ok() && is_card_of(proc, *card) ? 0 : 1;
  }
  bootstrap->abort(0, "");
  acprun.join();
  CHECK(wrong == 0);
}

// Two threads share one socket to the launcher. Each may read the answer that
// the other one waits for, and has to hand it over.
TEST_CASE("fetched card: another thread waits in a phase meanwhile",
          "[runtime][bootstrap]") {
  constexpr int kPhases = 2000;
  FakeLauncher launcher(plan_of_many());
  const auto bootstrap = launcher.welcome(1);
  std::thread acprun([&] {
    protocol::BootstrapMessage other;
    for (int phases = 0; phases < kPhases;) {
      if (!answer(launcher, other)) {
        launcher.say({BootstrapType::kGo, other.value, {}});
        ++phases;
      }
    }
    while (answer(launcher, other)) {
    }
  });
  std::atomic<bool> is_over{false};
  int wrong = 0;
  std::thread progress([&] {
    for (std::uint32_t i = 0; !is_over; ++i) {
      const std::uint32_t proc = 2 + i % 4000;
      const auto card = bootstrap->fetch_card(proc);
      wrong += card.ok() && is_card_of(proc, *card) ? 0 : 1;
    }
  });
  int failed = 0;
  for (int phase = 0; phase < kPhases; ++phase) {
    failed += bootstrap->arrive(Phase::kCollective) == Status::kOk ? 0 : 1;
  }
  is_over = true;
  progress.join();
  bootstrap->abort(0, "");
  acprun.join();
  CHECK(wrong == 0);
  CHECK(failed == 0);
}

// Both threads wait before the job ends. The launcher says so, or only closes
// its end.
TEST_CASE("fetched card: the end of the job ends both waits",
          "[runtime][bootstrap]") {
  set_log_level(LogLevel::kError);
  for (const bool is_told : {true, false}) {
    FakeLauncher launcher(plan_of_many());
    const auto bootstrap = launcher.welcome(1);
    Status phase = Status::kOk;
    std::thread main_thread(
        [&] { phase = bootstrap->arrive(Phase::kCollective); });
    REQUIRE(launcher.hear().type == BootstrapType::kArrive);
    Status card = Status::kOk;
    std::thread progress([&] { card = bootstrap->fetch_card(0).status(); });
    REQUIRE(launcher.hear().type == BootstrapType::kWantAddress);
    if (is_told) {
      launcher.say({BootstrapType::kEnding, 0, "rank 7 is lost"});
    } else {
      launcher.leave();
    }
    main_thread.join();
    progress.join();
    CHECK(phase == Status::kAborted);
    CHECK(card == Status::kAborted);
  }
}

}  // namespace acp::runtime
