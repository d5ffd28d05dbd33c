// How a process finds its launcher, and the messages that it sends to acprun.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <catch2/catch.hpp>

#include "base/log.h"
#include "runtime/bootstrap.h"
#include "support/fake_launcher.h"
#include "support/stderr_capture.h"

namespace acp::runtime {

namespace {

using protocol::BootstrapType;
using test::FakeLauncher;

constexpr const char* kVariables[] = {
    protocol::kBootstrapFdVariable, "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
    "SLURM_STEP_NUM_TASKS",         "MPI_LOCALNRANKS",      "SLURM_NTASKS"};

/// Removes all variables of launchers, and restores them at the end.
class CleanEnvironment {
 public:
  CleanEnvironment() {
    for (const char* name : kVariables) {
      const char* value = std::getenv(name);
      saved_.emplace_back(value == nullptr ? std::nullopt
                                           : std::optional<std::string>(value));
      ::unsetenv(name);
    }
  }

  CleanEnvironment(const CleanEnvironment&) = delete;
  CleanEnvironment& operator=(const CleanEnvironment&) = delete;

  ~CleanEnvironment() {
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      ::unsetenv(kVariables[i]);
      if (saved_[i]) {
        ::setenv(kVariables[i], saved_[i]->c_str(), 1);
      }
    }
  }

 private:
  std::vector<std::optional<std::string>> saved_;
};

Settings small_settings() {
  Settings settings;
  REQUIRE(settings.set(SettingId::kModuleMemory, "1M",
                       SettingSource::kOption) == Status::kOk);
  return settings;
}

}  // namespace

TEST_CASE("launch: by hand it is rank 0 of 1", "[runtime][bootstrap]") {
  const CleanEnvironment clean;
  Settings settings = small_settings();
  REQUIRE(settings.set(SettingId::kStarterMemory, "20000",
                       SettingSource::kOption) == Status::kOk);
  auto bootstrap = find_bootstrap(settings);
  REQUIRE(bootstrap.ok());
  CHECK((*bootstrap)->name() == "singleton");
  CHECK((*bootstrap)->proc() == 0);
  const protocol::HostHeader& header = (*bootstrap)->segment().header();
  CHECK(header.procs == 1);
  CHECK(header.starter_bytes >= 20000);
  CHECK(header.module_bytes ==
        (std::uint64_t{1} << 30) + protocol::kMiddleBytes + (1 << 20));
  CHECK((*bootstrap)->arrive(protocol::Phase::kInit) == Status::kOk);
  CHECK((*bootstrap)->arrive(protocol::Phase::kFinalize) == Status::kOk);
  (*bootstrap)->finalized();
}

TEST_CASE("launch: another launcher's several tasks are no singletons",
          "[runtime][bootstrap]") {
  const CleanEnvironment clean;
  const Settings settings = small_settings();
  ::setenv("SLURM_NTASKS", "4", 1);  // a shell of an allocation has this too
  CHECK(find_bootstrap(settings).ok());
  for (std::size_t i = 1; i < std::size(kVariables) - 1; ++i) {
    INFO(kVariables[i]);
    ::setenv(kVariables[i], "4", 1);
    CHECK(find_bootstrap(settings).status() == Status::kUnsupported);
    ::setenv(kVariables[i], "1", 1);
    CHECK(find_bootstrap(settings).ok());
    ::setenv(kVariables[i], "some", 1);
    CHECK(find_bootstrap(settings).ok());
    ::unsetenv(kVariables[i]);
  }
}

TEST_CASE("launch: a socket that is none is an error", "[runtime][bootstrap]") {
  const CleanEnvironment clean;
  const Settings settings = small_settings();
  for (const char* bad : {"", "x", "-1", "12x", "9999", "99999999999999"}) {
    INFO(bad);
    ::setenv(protocol::kBootstrapFdVariable, bad, 1);
    CHECK(find_bootstrap(settings).status() == Status::kProtocol);
  }
}

TEST_CASE("launch: acprun's socket is used and not handed on",
          "[runtime][bootstrap]") {
  const CleanEnvironment clean;
  FakeLauncher launcher;
  const int fd = launcher.theirs.release();
  ::setenv(protocol::kBootstrapFdVariable, std::to_string(fd).c_str(), 1);
  ::setenv("PMI_SIZE", "4", 1);  // acprun inside of another launcher
  protocol::HostPlan plan;
  plan.sizes.module_bytes = 1 << 20;
  const Result<UniqueFd> memory = protocol::create_host_segment(plan);
  REQUIRE(memory.ok());
  launcher.say({BootstrapType::kWelcome, 0, {}}, memory.value().get());
  auto bootstrap = find_bootstrap(small_settings());
  REQUIRE(bootstrap.ok());
  CHECK((*bootstrap)->name() == "acprun");
  CHECK(std::getenv(protocol::kBootstrapFdVariable) == nullptr);
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
}

// The launcher is the other end of a socket, and says Go before the rank
// arrives.
TEST_CASE("launch: phases, abort and end as acprun hears them",
          "[runtime][bootstrap]") {
  FakeLauncher launcher;
  const auto bootstrap = launcher.welcome();
  CHECK(bootstrap->proc() == 1);
  CHECK(bootstrap->segment().header().procs == 2);
  for (const auto phase : {protocol::Phase::kInit, protocol::Phase::kCollective,
                           protocol::Phase::kFinalize}) {
    const auto value = static_cast<std::uint64_t>(phase);
    launcher.say({BootstrapType::kGo, value, {}});
    CHECK(bootstrap->arrive(phase) == Status::kOk);
    const auto heard = launcher.hear();
    CHECK(heard.type == BootstrapType::kArrive);
    CHECK(heard.value == value);
  }
  bootstrap->abort(3, "no more");
  const auto aborted = launcher.hear();
  CHECK(aborted.type == BootstrapType::kAbort);
  CHECK(aborted.value == 3);
  CHECK(aborted.text == "no more");
  bootstrap->finalized();
  CHECK(launcher.hear().type == BootstrapType::kFinalized);
  CHECK(launcher.is_closed());
}

namespace {

/// The bootstrap that abort_job() ends, and the calls of that. It ends an
/// endless recursion by itself.
Bootstrap* g_aborted = nullptr;
int g_aborts = 0;

void abort_job(std::string_view why) noexcept {
  if (++g_aborts < 10) {
    g_aborted->abort(1, why);
  }
}

}  // namespace

// The action of ACP_ERRORS=abort tells acprun, which is gone.
TEST_CASE("launch: ACP_ERRORS=abort says once that acprun is gone",
          "[runtime][bootstrap]") {
  FakeLauncher launcher;
  const auto bootstrap = launcher.welcome();
  launcher.leave();
  log_held_lines();
  g_aborted = bootstrap.get();
  g_aborts = 0;
  spmd::StderrCapture capture;
  set_error_action(abort_job);
  const Status status = bootstrap->arrive(protocol::Phase::kInit);
  set_error_action(nullptr);
  log_held_lines();
  const std::string text = capture.stop();
  CHECK(status == Status::kAborted);
  CHECK(g_aborts == 1);
  CHECK(text == "acp: error: acprun is gone: Broken pipe\n");
}

TEST_CASE("launch: the end of the job while a rank waits",
          "[runtime][bootstrap]") {
  FakeLauncher launcher;
  const auto bootstrap = launcher.welcome();
  SECTION("acprun says so") {
    launcher.say({BootstrapType::kEnding, 0, "rank 0 died"});
    CHECK(bootstrap->arrive(protocol::Phase::kInit) == Status::kAborted);
  }
  SECTION("acprun is gone before") {
    launcher.leave();
    CHECK(bootstrap->arrive(protocol::Phase::kInit) == Status::kAborted);
  }
  SECTION("acprun goes while it waits") {
    std::thread leaver([&] {
      (void)launcher.take();
      launcher.leave();
    });
    const Status status = bootstrap->arrive(protocol::Phase::kInit);
    leaver.join();
    CHECK(status == Status::kAborted);
  }
  SECTION("another phase than asked for") {
    launcher.say({BootstrapType::kGo, 2, {}});
    CHECK(bootstrap->arrive(protocol::Phase::kInit) == Status::kProtocol);
  }
  SECTION("bytes that make no sense") {
    launcher.say_bytes(std::array{std::byte{1}, std::byte{2}});
    CHECK(bootstrap->arrive(protocol::Phase::kInit) == Status::kProtocol);
  }
}

// A rank that has ended before acp_init ends the job. Then acprun may say so to
// a rank that has just said hello, and both are of the same build.
TEST_CASE("launch: the end of the job in place of a welcome",
          "[runtime][bootstrap]") {
  FakeLauncher launcher;
  launcher.say({BootstrapType::kEnding, 0, "rank 0 died"});
  log_held_lines();
  spmd::StderrCapture capture;
  CHECK(connect_to_acprun(std::move(launcher.theirs)).status() ==
        Status::kAborted);
  CHECK(capture.stop() == "acp: error: the job ends: rank 0 died\n");
}

// A rank that joins trusts nothing of what it gets: an error here is a status
// of acp_init, not a crash.
TEST_CASE("launch: a welcome has to be whole", "[runtime][bootstrap]") {
  FakeLauncher launcher;
  SECTION("no memory comes with it") {
    launcher.say({BootstrapType::kWelcome, 0, {}});
    CHECK(connect_to_acprun(std::move(launcher.theirs)).status() ==
          Status::kProtocol);
  }
  SECTION("memory that is none of ours") {
    const UniqueFd other(::open("/dev/null", O_RDWR | O_CLOEXEC));
    launcher.say({BootstrapType::kWelcome, 0, {}}, other.get());
    CHECK_FALSE(connect_to_acprun(std::move(launcher.theirs)).ok());
  }
  SECTION("something else comes first") {
    launcher.say({BootstrapType::kGo, 1, {}});
    CHECK(connect_to_acprun(std::move(launcher.theirs)).status() ==
          Status::kProtocol);
  }
  SECTION("nobody is there") {
    launcher.leave();
    CHECK(connect_to_acprun(std::move(launcher.theirs)).status() ==
          Status::kAborted);
  }
  SECTION("a process that the memory has no slot for") {
    protocol::HostPlan plan;
    plan.sizes.module_bytes = 1 << 20;
    const Result<UniqueFd> memory = protocol::create_host_segment(plan);
    REQUIRE(memory.ok());
    launcher.say({BootstrapType::kWelcome, 1, {}}, memory.value().get());
    CHECK(connect_to_acprun(std::move(launcher.theirs)).status() ==
          Status::kProtocol);
  }
}

}  // namespace acp::runtime
