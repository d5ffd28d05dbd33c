// Writes log lines at once, or keeps them for a thread that writes them.
// Called by log.cc. No function but deliver() and the thread itself may block
// on standard error. Logs nothing itself.
#include "base/log_output.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/blocked_signals.h"
#include "base/futex.h"
#include "base/stderr_try.h"

namespace acp {

namespace {

/// A pipe takes this much as a whole or not at all (PIPE_BUF of Linux), so
/// lines of several processes do not mix.
constexpr std::size_t kPiece = 4096;
/// Room that is left for the line which tells of lost lines.
constexpr std::size_t kNoteRoom = 1024;
/// Time without a line after which the thread ends.
constexpr Duration kIdle = std::chrono::seconds(1);

/// Now plus `limit`, which may be the longest Duration.
TimePoint time_after(Duration limit) noexcept {
  const TimePoint now = SteadyClock().now();
  return limit < TimePoint::max() - now ? now + limit : TimePoint::max();
}

}  // namespace

void LogOutput::set_head(std::string_view head) noexcept {
  const Lock lock(mutex_);
  head_size_ = std::min(head.size(), head_.size());
  std::memcpy(head_.data(), head.data(), head_size_);
}

std::string_view LogOutput::compose(std::string_view kind,
                                    std::string_view text) noexcept {
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    const std::size_t taken = std::min(part.size(), line_.size() - 1 - size);
    std::memcpy(line_.data() + size, part.data(), taken);
    size += taken;
  };
  add(head_size_ == 0 ? "acp: " : std::string_view(head_.data(), head_size_));
  add(kind);
  add(kind.empty() ? "" : ": ");
  add(text);
  line_[size++] = '\n';
  return {line_.data(), size};
}

std::string_view LogOutput::compose_loss_note() noexcept {
  std::array<char, 160> text{};
  char* end = std::to_chars(text.begin(), text.end(), lost_).ptr;
  const std::string_view rest =
      lost_ == 1 ? " log line was lost: standard error took no more"
                 : " log lines were lost: standard error took no more";
  std::memcpy(end, rest.data(), rest.size());
  return compose(
      "warning",
      {text.data(), static_cast<std::size_t>(end - text.data()) + rest.size()});
}

/// A line goes out at once only when none waits, which keeps the order.
void LogOutput::put(std::string_view kind, std::string_view text) noexcept {
  Lock lock(mutex_);
  if (size_ > 0 || lost_ > 0) {
    // Room is awaited before the line is composed, because composing uses
    // memory that another caller may use during the wait.
    const std::size_t bytes =
        std::min(head_.size() + kind.size() + text.size(), kMaxLine);
    be_patient(lock, [&] { return has_room(bytes + kNoteRoom); });
    if (!has_room(bytes + kNoteRoom)) {
      ++lost_;
      return;
    }
    if (lost_ > 0) {
      append(compose_loss_note());
      lost_ = 0;
    }
    keep(lock, compose(kind, text));
    return;
  }
  std::string_view line = compose(kind, text);
  const ssize_t taken = try_stderr(line);
  if (taken < 0) {
    ++lost_;
    return;
  }
  line.remove_prefix(static_cast<std::size_t>(taken));
  if (!line.empty()) {
    keep(lock, line);
  }
}

/// Keeps a line for the writer. A writer that is not stuck gets the line out
/// before put() returns.
void LogOutput::keep(Lock& lock, std::string_view line) noexcept {
  append(line);
  if (start_writer()) {
    be_patient(lock, [this] { return size_ == 0; });
  }
}

bool LogOutput::has_room(std::size_t bytes) const noexcept {
  return kRoom - size_ >= bytes;
}

void LogOutput::append(std::string_view bytes) noexcept {
  const std::size_t end = (begin_ + size_) % kRoom;
  const std::size_t first = std::min(bytes.size(), kRoom - end);
  std::memcpy(kept_.data() + end, bytes.data(), first);
  std::memcpy(kept_.data(), bytes.data() + first, bytes.size() - first);
  size_ += bytes.size();
  note_change();
}

/// Copies the oldest bytes, up to the end of a line where the piece has one.
std::size_t LogOutput::peek(char* piece, std::size_t size) const noexcept {
  const std::size_t bytes = std::min(size, size_);
  const std::size_t first = std::min(bytes, kRoom - begin_);
  std::memcpy(piece, kept_.data() + begin_, first);
  std::memcpy(piece + first, kept_.data(), bytes - first);
  const std::size_t newline = std::string_view(piece, bytes).rfind('\n');
  return newline == std::string_view::npos ? bytes : newline + 1;
}

void LogOutput::take(std::size_t bytes) noexcept {
  begin_ = (begin_ + bytes) % kRoom;
  size_ -= bytes;
  if (size_ == 0) {
    waited_ = {};
  }
  note_change();
}

/// Standard error is broken. The lines count as lost.
void LogOutput::drop_all() noexcept {
  std::array<char, kPiece> piece{};
  while (size_ > 0) {
    const std::size_t bytes = peek(piece.data(), piece.size());
    lost_ += static_cast<std::uint64_t>(
        std::count(piece.data(), piece.data() + bytes, '\n'));
    take(bytes);
  }
}

template <typename Condition>
bool LogOutput::await(Lock& lock, TimePoint until, Condition holds) noexcept {
  while (!holds()) {
    const TimePoint now = SteadyClock().now();
    if (now >= until) {
      return false;
    }
    // An hour, because the system refuses longer times than it can count.
    const Duration left =
        std::min<Duration>(until - now, std::chrono::hours(1));
    const std::uint32_t seen = turn_.load(std::memory_order_relaxed);
    lock.unlock();
    futex_wait(turn_, seen, left);
    lock.lock();
  }
  return true;
}

/// Waits while the patience lasts. Callers share it.
template <typename Condition>
void LogOutput::be_patient(Lock& lock, Condition holds) noexcept {
  if (waited_ >= kPatience || holds()) {
    return;
  }
  const TimePoint begin = SteadyClock().now();
  if (!await(lock, begin + (kPatience - waited_), holds) || size_ > 0) {
    waited_ += SteadyClock().now() - begin;
  }
}

void LogOutput::note_change() noexcept {
  // Relaxed: await() reads it under the mutex, and the kernel again.
  turn_.fetch_add(1, std::memory_order_relaxed);
  futex_wake_all(turn_);
}

/// False: the system refuses a thread. The lines stay, and the next one, or
/// deliver(), tries again.
bool LogOutput::start_writer() noexcept {
  if (has_writer_) {
    return true;
  }
  const BlockedSignals blocked;
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, &run_writer, this) != 0) {
    return false;
  }
  ::pthread_detach(thread);
  has_writer_ = true;
  return true;
}

void* LogOutput::run_writer(void* self) {
  auto& output = *static_cast<LogOutput*>(self);
  Lock lock(output.mutex_);
  do {
    output.write_kept(lock);
  } while (output.await(lock, time_after(kIdle),
                        [&output] { return output.size_ > 0; }));
  output.has_writer_ = false;
  return nullptr;
}

/// Writes until nothing waits, and then tells of lines that were lost.
void LogOutput::write_kept(Lock& lock) noexcept {
  while (size_ > 0) {
    if (!write_piece(lock)) {
      drop_all();
      return;
    }
    if (size_ == 0 && lost_ > 0) {
      append(compose_loss_note());
      lost_ = 0;
    }
  }
}

/// Only one thread writes at a time: has_writer_ is set. The mutex is free
/// meanwhile, and other threads only append. False: standard
/// error is broken.
bool LogOutput::write_piece(Lock& lock) noexcept {
  std::array<char, kPiece> piece{};
  const std::size_t bytes = peek(piece.data(), piece.size());
  lock.unlock();
  const ssize_t written = ::write(STDERR_FILENO, piece.data(), bytes);
  const int error = written < 0 ? errno : 0;
  if (error == EAGAIN) {  // The program has made it non-blocking.
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    (void)::poll(&room, 1, -1);
  }
  lock.lock();
  if (written > 0) {
    take(static_cast<std::size_t>(written));
  }
  return error == 0 || error == EAGAIN || error == EINTR;
}

/// Without a thread the lines are written here, where standard error has room.
bool LogOutput::deliver(Duration limit) noexcept {
  const TimePoint until = time_after(limit);
  Lock lock(mutex_);
  while (size_ > 0 && !start_writer()) {
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    if (!has_writer_ && ::poll(&room, 1, 0) > 0) {
      has_writer_ = true;
      if (!write_piece(lock)) {
        drop_all();
      }
      has_writer_ = false;
    } else if (SteadyClock().now() >= until) {
      return false;
    } else {
      (void)await(lock, time_after(std::chrono::milliseconds(10)),
                  [] { return false; });
    }
  }
  return await(lock, until, [this] { return size_ == 0; });
}

void LogOutput::unlock_in_child() noexcept {
  size_ = 0;
  lost_ = 0;
  waited_ = {};
  has_writer_ = false;
  mutex_.unlock();
}

}  // namespace acp
