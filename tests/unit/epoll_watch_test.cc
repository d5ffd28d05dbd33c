// EpollWatch: a thread sleeps until its doorbell or a transport wakes it.
#include "runtime/epoll_watch.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <thread>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"

namespace acp::runtime {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A descriptor that becomes readable when the test wants it.
class Doorbell {
 public:
  int fd() const { return fd_.get(); }

  void ring() const { REQUIRE(::eventfd_write(fd_.get(), 1) == 0); }

  void silence() const {
    eventfd_t count = 0;
    REQUIRE(::eventfd_read(fd_.get(), &count) == 0);
  }

 private:
  UniqueFd fd_{::eventfd(0, EFD_NONBLOCK)};
};

TimePoint soon() {
  return SteadyClock().now() + milliseconds(20);
}

TimePoint late() {
  return SteadyClock().now() + seconds(60);
}

/// Makes epoll_pwait2 fail with `error` in this thread from now on. The thread
/// must end afterwards, since a filter of system calls stays. False where there
/// are no filters.
bool refuse_epoll_pwait2(unsigned error) {
  std::array<sock_filter, 4> rules = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                           offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_pwait2, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

TEST_CASE("epoll watch: wakes for the doorbell and for transports",
          "[runtime][epoll_watch]") {
  const Doorbell doorbell;
  const Doorbell transport;
  EpollWatch watch;
  REQUIRE(watch.open(doorbell.fd(), {transport.fd()}) == Status::kOk);
  CHECK_FALSE(watch.wait(soon()));
  CHECK_FALSE(watch.wait(TimePoint{}));
  transport.ring();
  CHECK(watch.wait(late()));
  transport.silence();
  doorbell.ring();
  CHECK(watch.wait(late()));
  CHECK(watch.wait(TimePoint::max()));
}

TEST_CASE("epoll watch: detached it sees the doorbell only, attached what came",
          "[runtime][epoll_watch]") {
  const Doorbell doorbell;
  const Doorbell transport;
  EpollWatch watch;
  REQUIRE(watch.open(doorbell.fd(), {transport.fd()}) == Status::kOk);
  watch.detach();
  watch.detach();
  transport.ring();
  CHECK_FALSE(watch.wait(soon()));
  CHECK(watch.attach());
  CHECK(watch.attach());
  CHECK(watch.wait(late()));
  watch.detach();
  doorbell.ring();
  CHECK(watch.wait(late()));
}

// A filter of system calls in a thread of its own stands for an old kernel. The
// watch has to find its other way, and to wake.
TEST_CASE("epoll watch: sleeps where epoll_pwait2 is refused",
          "[runtime][epoll_watch]") {
  for (const unsigned error : {ENOSYS, EPERM}) {
    bool has_filter = false;
    std::array<bool, 2> slept{};
    bool has_woken = false;
    std::thread([&] {
      has_filter = refuse_epoll_pwait2(error);
      const Doorbell doorbell;
      EpollWatch watch;
      if (!has_filter || watch.open(doorbell.fd(), {}) != Status::kOk) {
        return;
      }
      for (bool& each : slept) {
        const TimePoint limit = soon();
        each = !watch.wait(limit) && SteadyClock().now() >= limit;
      }
      doorbell.ring();
      has_woken = watch.wait(TimePoint::max());
    }).join();
    if (!has_filter) {
      WARN("this system has no filters of system calls");
      continue;
    }
    INFO("errno " << error);
    CHECK(slept[0]);
    CHECK(slept[1]);
    CHECK(has_woken);
  }
}

TEST_CASE("epoll watch: a descriptor that cannot be watched",
          "[runtime][epoll_watch]") {
  const Doorbell doorbell;
  EpollWatch watch;
  spmd::StderrCapture capture;
  CHECK(watch.open(doorbell.fd(), {-1}) == Status::kSystem);
  CHECK_FALSE(watch.attach());
  CHECK(capture.stop().find("epoll") != std::string::npos);
  doorbell.ring();
  CHECK(watch.wait(late()));
  EpollWatch other;
  CHECK(other.open(-1, {}) == Status::kSystem);
}

}  // namespace acp::runtime
