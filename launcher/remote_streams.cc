// Flow control of the ranks' streams between acprun and daemons. Called from
// their event loops. Neither side may send more than the other one has room
// for.
#include "launcher/remote_streams.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace acp::launcher {

namespace {

/// acprun's memory for the output of all hosts together.
constexpr std::int64_t kOutputMemory = std::int64_t{16} << 20;

}  // namespace

std::int64_t output_window(std::size_t hosts) noexcept {
  return std::clamp<std::int64_t>(
      kOutputMemory /
          static_cast<std::int64_t>(std::max<std::size_t>(hosts, 1)),
      16 << 10, 256 << 10);
}

SinkState MessageSink::flush() {
  if (!pending_.empty() && room_ > 0) {
    room_ -= static_cast<std::int64_t>(pending_.size());
    send_(std::exchange(pending_, {}));
  }
  return state();
}

RankInput::RankInput(EventLoop& loop,
                     UniqueFd pipe,
                     std::function<void(std::int64_t)> on_taken,
                     std::function<void()> on_closed)
    : loop_(loop),
      pipe_(std::move(pipe)),
      on_taken_(std::move(on_taken)),
      on_closed_(std::move(on_closed)) {}

RankInput::~RankInput() {
  stop();
}

void RankInput::take(std::string_view bytes) {
  if (!pipe_) return;
  has_end_ = has_end_ || bytes.empty();
  pending_.append(bytes);
  write_some();
}

/// Reports the bytes taken before it acts on an error or an end, because acprun
/// sends as much again. The pipe is watched only while it is full: a pipe with
/// room would end each turn of the loop at once.
void RankInput::write_some() {
  std::size_t written = 0;
  bool is_broken = false;
  while (written < pending_.size()) {
    const ssize_t n = ::write(pipe_.get(), pending_.data() + written,
                              pending_.size() - written);
    if (n >= 0) {
      written += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      is_broken = true;
      break;
    }
  }
  pending_.erase(0, written);
  if (written > 0) on_taken_(static_cast<std::int64_t>(written));
  if (is_broken) {
    stop();
    on_closed_();
  } else if (!pending_.empty()) {
    if (loop_.watch(pipe_.get(), EPOLLOUT, [this] { write_some(); }) !=
        Status::kOk) {
      stop();
    }
  } else if (has_end_) {
    stop();
  } else {
    loop_.forget(pipe_.get());
  }
}

void RankInput::stop() {
  if (pipe_) {
    loop_.forget(pipe_.get());
    pipe_.reset();
  }
}

InputSender::InputSender(EventLoop& loop,
                         UniqueFd pipe,
                         std::function<void(std::string)> send)
    : loop_(loop), pipe_(std::move(pipe)), send_(std::move(send)) {
  watch();
}

InputSender::~InputSender() {
  close();
}

void InputSender::watch() {
  is_watched_ =
      loop_.watch(pipe_.get(), EPOLLIN, [this] { read_some(); }) == Status::kOk;
}

void InputSender::read_some() {
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(
      pipe_.get(), buffer.data(),
      std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(room_)));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    close();
    send_("");
    return;
  }
  room_ -= n;
  if (room_ == 0) {
    loop_.forget(pipe_.get());
    is_watched_ = false;
  }
  send_(std::string(buffer.data(), static_cast<std::size_t>(n)));
}

void InputSender::note_taken(std::int64_t bytes) {
  room_ = std::min(room_ + bytes, kInputWindow);
  if (pipe_ && !is_watched_ && room_ > 0) watch();
}

void InputSender::close() {
  if (pipe_) {
    loop_.forget(pipe_.get());
    pipe_.reset();
  }
}

}  // namespace acp::launcher
