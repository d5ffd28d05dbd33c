#include "runtime/epoll_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"

namespace acp::runtime {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A descriptor that becomes readable when it is told to.
class Bell {
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

}  // namespace

TEST_CASE("epoll watch: wakes for the doorbell and for wires",
          "[runtime][epoll_watch]") {
  const Bell doorbell;
  const Bell wire;
  EpollWatch watch;
  REQUIRE(watch.open(doorbell.fd(), {wire.fd()}) == Status::kOk);
  CHECK_FALSE(watch.wait(soon()));
  CHECK_FALSE(watch.wait(TimePoint{}));
  wire.ring();
  CHECK(watch.wait(late()));
  wire.silence();
  doorbell.ring();
  CHECK(watch.wait(late()));
  CHECK(watch.wait(TimePoint::max()));
}

TEST_CASE("epoll watch: detached it sees the doorbell only, attached what came",
          "[runtime][epoll_watch]") {
  const Bell doorbell;
  const Bell wire;
  EpollWatch watch;
  REQUIRE(watch.open(doorbell.fd(), {wire.fd()}) == Status::kOk);
  watch.detach();
  watch.detach();
  wire.ring();
  CHECK_FALSE(watch.wait(soon()));
  CHECK(watch.attach());
  CHECK(watch.attach());
  CHECK(watch.wait(late()));
  watch.detach();
  doorbell.ring();
  CHECK(watch.wait(late()));
}

TEST_CASE("epoll watch: a descriptor that cannot be watched",
          "[runtime][epoll_watch]") {
  const Bell doorbell;
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
