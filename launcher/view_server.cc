// acprun's side of acp_top. job.cc calls it after each event. It trusts no
// byte of a viewer: a request is one byte, and any other byte ends the
// connection.
#include "launcher/view_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/log.h"

namespace acp::launcher {

using protocol::JobView;
using protocol::ViewRequest;

ViewServer::~ViewServer() {
  while (!viewers_.empty())
    drop(viewers_.begin()->first);
  if (listener_) loop_.forget(listener_->fd());
}

void ViewServer::open(std::span<const std::string> folders) {
  std::string why;
  auto listener = protocol::ViewListener::open(folders, why);
  if (!listener.ok()) {
    log(LogLevel::kDebug, "acp_top cannot see this job: {}", why);
    return;
  }
  listener_.emplace(std::move(*listener));
  if (loop_.watch(listener_->fd(), EPOLLIN, [this] { accept(); }) !=
      Status::kOk) {
    listener_.reset();
  }
}

bool ViewServer::is_asked() const {
  return std::ranges::any_of(
      viewers_, [](const auto& entry) { return entry.second.wants_ranks; });
}

bool ViewServer::is_look_due(Clock::time_point now) const {
  return answer_by_ == Clock::time_point::max() && now >= next_look_ &&
         is_asked();
}

void ViewServer::note_look(Clock::time_point begin, Clock::time_point end) {
  rest_after(begin, end);
  if (is_asked()) answer_by_ = std::min(answer_by_, end + kLookLimit);
}

void ViewServer::rest_after(Clock::time_point begin, Clock::time_point end) {
  next_look_ = std::max(
      next_look_,
      end + std::max<Clock::duration>(kLeastPause, kRest * (end - begin)));
}

void ViewServer::answer(const JobView& view) {
  answer_by_ = Clock::time_point::max();
  if (!is_asked()) return;
  const auto bytes =
      std::make_shared<const std::string>(protocol::encode_view(view));
  std::vector<int> asked;
  for (const auto& [fd, viewer] : viewers_) {
    if (viewer.wants_ranks) asked.push_back(fd);
  }
  // send() may drop the viewer.
  for (const int fd : asked)
    send(viewers_.at(fd), bytes);
}

void ViewServer::finish(const JobView& view) {
  last_ = std::make_shared<const std::string>(protocol::encode_view(view));
  answer_by_ = Clock::time_point::max();
  std::vector<int> all;
  for (const auto& [fd, viewer] : viewers_)
    all.push_back(fd);
  for (const int fd : all)
    send(viewers_.at(fd), last_);
}

void ViewServer::check(Clock::time_point now) {
  std::vector<int> late;
  for (const auto& [fd, viewer] : viewers_) {
    if (now >= viewer.drop_at) late.push_back(fd);
  }
  for (const int fd : late)
    drop(fd);
}

ViewServer::Clock::time_point ViewServer::next() const {
  const bool waits_for_pause =
      answer_by_ == Clock::time_point::max() && is_asked();
  auto next = waits_for_pause ? next_look_ : answer_by_;
  for (const auto& [fd, viewer] : viewers_)
    next = std::min(next, viewer.drop_at);
  return next;
}

void ViewServer::accept() {
  while (UniqueFd socket = listener_->accept()) {
    const int fd = socket.get();
    if (viewers_.size() >= kMostViewers || loop_.watch(fd, EPOLLIN, [this, fd] {
          read_from(fd);
        }) != Status::kOk) {
      continue;
    }
    viewers_[fd].socket = std::move(socket);
  }
  // Without a descriptor for it, a connection stays where it is, and the event
  // loop would call again at once.
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
    log(LogLevel::kDebug, "no more viewers: accept: {}", errno_text(errno));
    loop_.forget(listener_->fd());
  }
}

/// One byte is expected. Two at once are no request of a viewer that waits for
/// its answers, and a viewer that sends many would keep acprun busy.
void ViewServer::read_from(int fd) {
  std::array<char, 2> bytes{};
  const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n != 1 || !take_request(viewers_.at(fd), bytes.front())) drop(fd);
}

/// Returns false for a byte that no viewer of ours sends at that time.
bool ViewServer::take_request(Viewer& viewer, char request) {
  if (viewer.wants_ranks || viewer.queue.size() > 0) return false;
  switch (static_cast<ViewRequest>(request)) {
    case ViewRequest::kJob:
      send(viewer,
           std::make_shared<const std::string>(protocol::encode_view(job_())));
      return true;
    case ViewRequest::kRanks:
      viewer.wants_ranks = true;
      if (last_) send(viewer, last_);
      return true;
  }
  return false;
}

void ViewServer::send(Viewer& viewer, SharedBytes view) {
  viewer.wants_ranks = false;
  viewer.queue.push(std::move(view));
  viewer.drop_at = Clock::now() + kPatience;
  flush(viewer.socket.get());
}

void ViewServer::flush(int fd) {
  Viewer& viewer = viewers_.at(fd);
  const auto outcome = viewer.queue.write_to(fd);
  if (outcome == WriteQueue::Outcome::kBroken) {
    drop(fd);
    return;
  }
  const bool is_full = outcome == WriteQueue::Outcome::kFull;
  if (!is_full) viewer.drop_at = Clock::time_point::max();
  // While the socket is full, a viewer is only written to.
  const Status status =
      is_full ? loop_.watch(fd, EPOLLOUT, [this, fd] { flush(fd); })
              : loop_.watch(fd, EPOLLIN, [this, fd] { read_from(fd); });
  if (status != Status::kOk) drop(fd);
}

void ViewServer::drop(int fd) {
  loop_.forget(fd);
  viewers_.erase(fd);
  if (!is_asked()) answer_by_ = Clock::time_point::max();
}

}  // namespace acp::launcher
