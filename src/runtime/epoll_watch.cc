// The system calls of a sleep in epoll. Called by Progress, which decides when
// and for how long to sleep. It reads no descriptor: what was readable stays
// readable for its owner.
#include "runtime/epoll_watch.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"

namespace acp::runtime {

namespace {

/// A time for epoll_wait: rounded up, so that it does not return early, and at
/// most a day, which an int holds.
int milliseconds_of(Duration time, bool is_forever) {
  constexpr Duration kDay = std::chrono::hours(24);
  return is_forever
             ? -1
             : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(
                                    std::min(time, kDay))
                                    .count());
}

}  // namespace

Status EpollWatch::open(int doorbell, std::vector<int> transports) {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  transports_ = std::move(transports);
  if (!epoll_ || !add(doorbell)) {
    log_error("epoll: {}", errno_text(errno));
    return Status::kSystem;
  }
  return attach() ? Status::kOk : Status::kSystem;
}

bool EpollWatch::add(int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

bool EpollWatch::attach() {
  if (is_attached_) {
    return true;
  }
  is_attached_ = true;
  for (const int fd : transports_) {
    if (!add(fd)) {
      if (!std::exchange(has_complained_, true)) {
        log_error("epoll: watching a socket: {}", errno_text(errno));
      }
      detach();
      return false;
    }
  }
  return true;
}

void EpollWatch::detach() noexcept {
  if (std::exchange(is_attached_, false)) {
    for (const int fd : transports_) {
      (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    }
  }
}

/// epoll_pwait2 takes nanoseconds; epoll_wait would turn a time-out of 250 us
/// into one of a millisecond.
bool EpollWatch::wait(TimePoint limit) {
  const bool is_forever = limit == TimePoint::max();
  const Duration left = limit - SteadyClock().now();
  if (left.count() <= 0) {
    return false;
  }
  std::array<epoll_event, 4> events{};
  if (has_pwait2_) {
    timespec timeout{};
    timeout.tv_sec = left.count() / 1'000'000'000;
    timeout.tv_nsec = left.count() % 1'000'000'000;
    const int found = ::epoll_pwait2(epoll_.get(), events.data(),
                                     static_cast<int>(events.size()),
                                     is_forever ? nullptr : &timeout, nullptr);
    // ENOSYS: a kernel before 5.11, or a tool that emulates one. EPERM: a
    // container's filter that does not know the call. Both answers are final.
    if (found >= 0 || (errno != ENOSYS && errno != EPERM)) {
      return found > 0;
    }
    has_pwait2_ = false;
  }
  return ::epoll_wait(epoll_.get(), events.data(),
                      static_cast<int>(events.size()),
                      milliseconds_of(left, is_forever)) > 0;
}

}  // namespace acp::runtime
