// A process that answers viewers as acprun does, with a view that the test has
// made. Killed when destroyed, so it leaves its socket like a killed acprun.
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "launcher/event_loop.h"
#include "launcher/view_server.h"
#include "protocol/job_view.h"

namespace test {

/// A folder of mode 0700 that is removed with everything in it.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::string name = "/tmp/acp-view-test-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }

  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  ~PrivateFolder() {
    [[maybe_unused]] const int status =
        std::system(("rm -rf '" + path_ + "'").c_str());
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class FakeAcprun {
 public:
  FakeAcprun(const std::string& folder, acp::protocol::JobView view) {
    int ready[2] = {-1, -1};
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) serve(folder, std::move(view), ready[1]);
    ::close(ready[1]);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
  }

  FakeAcprun(const FakeAcprun&) = delete;
  FakeAcprun& operator=(const FakeAcprun&) = delete;

  ~FakeAcprun() { kill(); }

  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

  void stop() const { REQUIRE(::kill(pid_, SIGSTOP) == 0); }

  /// Its socket stays.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  [[noreturn]] static void serve(const std::string& folder,
                                 acp::protocol::JobView view,
                                 int ready) {
    using Clock = acp::launcher::ViewServer::Clock;
    view.acprun_pid = static_cast<std::uint32_t>(::getpid());
    acp::launcher::EventLoop loop;
    if (loop.open() != acp::Status::kOk) ::_exit(1);
    acp::launcher::ViewServer server(loop, [&view] {
      acp::protocol::JobView job = view;
      job.ranks.clear();
      return job;
    });
    const std::string folders[] = {folder};
    server.open(folders);
    if (::write(ready, "r", 1) != 1) ::_exit(1);
    for (;;) {
      loop.turn(std::chrono::milliseconds(10));
      view.age_ms += 1000;
      server.check(Clock::now());
      if (server.is_look_due(Clock::now())) server.answer(view);
    }
  }

  pid_t pid_ = -1;
};

/// A job of so many ranks on host "a", all of them computing.
inline acp::protocol::JobView computing_job(std::uint32_t ranks) {
  acp::protocol::JobView view;
  view.procs = ranks;
  view.program = "./program";
  view.hosts = {"a"};
  for (std::uint32_t i = 0; i < ranks; ++i) {
    acp::protocol::RankView rank;
    rank.launch_rank = i;
    rank.rank = i;
    rank.pid = 1000 + i;
    rank.stage = acp::protocol::RankStage::kRunning;
    rank.was_seen = true;
    view.ranks.push_back(rank);
  }
  return view;
}

}  // namespace test
