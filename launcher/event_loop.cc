// The epoll behind the event loop of acprun and of daemons. Handlers run in the
// thread that calls turn(), and may not block it.
#include "launcher/event_loop.h"

#include <array>
#include <cerrno>
#include <vector>

#include "base/log.h"

namespace acp::launcher {

Status EventLoop::open() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) {
    log_error("epoll_create1: {}", errno_text(errno));
    return Status::kSystem;
  }
  return Status::kOk;
}

Status EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  forget(fd);
  auto watch = std::make_shared<Watch>();
  watch->handler = std::move(handler);
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    // EPERM: epoll refuses regular files, because they never block.
    if (errno != EPERM) {
      log_error("epoll_ctl: {}", errno_text(errno));
      return Status::kSystem;
    }
    watch->is_always_ready = true;
    ++always_ready_;
  }
  watches_[fd] = std::move(watch);
  return Status::kOk;
}

void EventLoop::forget(int fd) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  if (found->second->is_always_ready) {
    --always_ready_;
  } else {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
  watches_.erase(found);
}

void EventLoop::call(int fd) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return;
  // The copy keeps the handler alive: it may forget its own descriptor.
  const std::shared_ptr<Watch> watch = found->second;
  watch->handler();
}

/// Calls handlers of epoll's descriptors first, then those of regular files. A
/// handler may change watches_, so the files are listed before.
void EventLoop::turn(std::chrono::milliseconds limit) {
  std::array<epoll_event, 64> events{};
  const int timeout =
      always_ready_ > 0
          ? 0
          : static_cast<int>(std::min<std::int64_t>(limit.count(), 1'000'000));
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout);
  for (int i = 0; i < count; ++i) {
    call(events[static_cast<std::size_t>(i)].data.fd);
  }
  if (always_ready_ == 0) return;
  std::vector<int> ready;
  for (const auto& [fd, watch] : watches_) {
    if (watch->is_always_ready) ready.push_back(fd);
  }
  for (const int fd : ready)
    call(fd);
}

}  // namespace acp::launcher
