// Requests and answers over the socket that a launcher has given to this
// process. Called by the clients of PMI-1 and PMI-2. The only waits are polls
// with the caller's limit.
#include "runtime/pmi_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "base/log.h"
#include "runtime/process_watch.h"

namespace acp::runtime {

namespace {

/// The launcher's process has made the socket pair.
pid_t maker_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
             ? peer.pid
             : 0;
}

/// The message without its line end or length, for log lines.
std::string shown(PmiDialect dialect, const PmiMessage& message) {
  std::string text = encode_pmi(dialect, message);
  return dialect == PmiDialect::kPmi1 ? text.substr(0, text.size() - 1)
                                      : text.substr(kPmi2LengthDigits);
}

}  // namespace

PmiConnection::PmiConnection(UniqueFd socket)
    : socket_(std::move(socket)),
      launcher_(watch_process(maker_of(socket_.get()))) {}

/// Without a process descriptor the socket tells. It also closes when an MPI
/// library in this process has finalized; the caller tells these two apart.
DeathWatch PmiConnection::death_watch() const noexcept {
  return launcher_ ? DeathWatch{launcher_.get(), POLLIN}
                   : DeathWatch{socket_.get(), POLLRDHUP};
}

bool PmiConnection::send(PmiDialect dialect, const PmiMessage& message) {
  const std::string bytes = encode_pmi(dialect, message);
  const std::lock_guard lock(send_mutex_);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(socket_.get(), bytes.data() + sent,
                             bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) {
      return false;
    }
    sent += n < 0 ? 0 : static_cast<std::size_t>(n);
  }
  return true;
}

/// The poll asks for the hang-up of the launcher alone: an answer that another
/// thread waits for must not end this wait.
void PmiConnection::wait_for_close(TimePoint deadline) const {
  const WaitLimit limit{deadline, launcher_.get(), POLLIN};
  std::array<pollfd, 2> ready{
      {{socket_.get(), POLLRDHUP, 0}, {limit.end_fd, limit.end_events, 0}}};
  while (::poll(ready.data(), ready.size(), limit.poll_timeout_ms()) < 0 &&
         errno == EINTR) {
  }
}

/// An answer to something else has one of two causes. Another part of the
/// process is in the middle of a request, or this is no launcher that we know.
Result<PmiMessage> PmiConnection::request(PmiDialect dialect,
                                          const PmiMessage& message,
                                          std::string_view expected,
                                          const WaitLimit& limit,
                                          PmiAnswer kind) {
  std::unique_lock turn(at_once_mutex_, std::defer_lock);
  if (kind == PmiAnswer::kAtOnce) {
    turn.lock();
  }
  const Result<std::string> text = ask(dialect, message, expected, limit, kind);
  if (!text.ok()) {
    return text.status();
  }
  auto answer = decode_pmi(dialect, *text);
  if (!answer || answer->command != expected) {
    log_error(
        "the launcher answers \"{}\" with \"{}\": it does not speak the "
        "protocol that ACP_BOOTSTRAP or the environment promises; acprun "
        "starts "
        "the program without it",
        shown(dialect, message), *text);
    return Status::kProtocol;
  }
  return std::move(*answer);
}

/// The expected command is set before the message leaves, because a thread that
/// reads for the other kind may get the answer at once.
Result<std::string> PmiConnection::ask(PmiDialect dialect,
                                       const PmiMessage& message,
                                       std::string_view expected,
                                       const WaitLimit& limit,
                                       PmiAnswer kind) {
  const auto index = static_cast<std::size_t>(kind);
  {
    const std::lock_guard lock(mutex_);
    expected_[index] = expected;
  }
  const bool is_sent = send(dialect, message);
  if (!is_sent) {
    log_error("the launcher does not take \"{}\": {}", shown(dialect, message),
              errno_text(errno));
  }
  Result<std::string> text = is_sent ? wait_for_answer(dialect, kind, limit)
                                     : Result<std::string>(Status::kSystem);
  const std::lock_guard lock(mutex_);
  expected_[index].clear();
  return text;
}

/// A thread that finds another one reading waits for it, until that one has got
/// an answer or gives up. The end of the job ends the other one's poll.
Result<std::string> PmiConnection::wait_for_answer(PmiDialect dialect,
                                                   PmiAnswer kind,
                                                   const WaitLimit& limit) {
  std::optional<std::string>& mine = answers_[static_cast<std::size_t>(kind)];
  std::unique_lock lock(mutex_);
  while (!mine) {
    if (is_reading_) {
      if (limit.deadline == TimePoint::max()) {
        changed_.wait(lock);
      } else if (changed_.wait_until(lock, limit.deadline) ==
                 std::cv_status::timeout) {
        return Status::kTimedOut;
      }
      continue;
    }
    is_reading_ = true;
    lock.unlock();
    Result<std::string> text = receive(dialect, limit);
    lock.lock();
    is_reading_ = false;
    changed_.notify_all();
    if (!text.ok()) {
      return text;
    }
    deliver(dialect, std::move(*text));
  }
  std::string text = std::move(*mine);
  mine.reset();
  return text;
}

/// An answer that no thread expects goes to one that waits: its request then
/// fails, and the line shows the answer. Called with the mutex.
void PmiConnection::deliver(PmiDialect dialect, std::string text) {
  constexpr auto kAtOnce = static_cast<std::size_t>(PmiAnswer::kAtOnce);
  constexpr auto kFence = static_cast<std::size_t>(PmiAnswer::kFence);
  const auto answer = decode_pmi(dialect, text);
  const bool is_of_fence = answer && answer->command == expected_[kFence];
  const bool waits_at_once = !expected_[kAtOnce].empty();
  answers_[is_of_fence || !waits_at_once ? kFence : kAtOnce] = std::move(text);
}

/// Looks for a whole message in the bytes at hand before it waits for more: a
/// read may have taken several messages. The limit on the text is checked
/// before each read, so a launcher that sends no end of a message cannot fill
/// the memory.
Result<std::string> PmiConnection::receive(PmiDialect dialect,
                                           const WaitLimit& limit) {
  for (;;) {
    if (dialect == PmiDialect::kPmi1) {
      const std::size_t end = received_.find('\n');
      if (end != std::string::npos) {
        std::string line = take(end + 1);
        line.pop_back();
        return line;
      }
    } else if (received_.size() >= kPmi2LengthDigits) {
      const auto size =
          decode_pmi2_length({received_.data(), kPmi2LengthDigits});
      if (!size) {
        log_error("the launcher sends \"{}\" instead of a length",
                  received_.substr(0, kPmi2LengthDigits));
        return Status::kProtocol;
      }
      if (received_.size() >= kPmi2LengthDigits + *size) {
        return take(kPmi2LengthDigits + *size).substr(kPmi2LengthDigits);
      }
    }
    if (received_.size() > kPmiMaxText) {
      log_error("the launcher sends a message of more than {} bytes",
                kPmiMaxText);
      return Status::kProtocol;
    }
    if (const Status status = fill(limit); status != Status::kOk) {
      return status;
    }
  }
}

/// Reads what has arrived, after a wait for the first byte. The end of the job
/// comes first: the launcher may never answer then.
Status PmiConnection::fill(const WaitLimit& limit) {
  std::array<pollfd, 2> ready{
      {{socket_.get(), POLLIN, 0}, {limit.end_fd, limit.end_events, 0}}};
  const int found = ::poll(ready.data(), ready.size(), limit.poll_timeout_ms());
  if (found < 0) {
    if (errno == EINTR) {
      return Status::kOk;
    }
    log_error("poll: {}", errno_text(errno));
    return Status::kSystem;
  }
  if (found == 0) {
    return Status::kTimedOut;
  }
  if (ready[1].revents != 0) {
    return Status::kAborted;
  }
  std::array<char, 4096> buffer{};
  const ssize_t n =
      ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
    return Status::kOk;
  }
  if (n <= 0) {
    log_error("the launcher has closed its connection: {}",
              n == 0 ? "its process on this host is gone, or this process has "
                       "called MPI_Finalize"
                     : errno_text(errno));
    return Status::kSystem;
  }
  received_.append(buffer.data(), static_cast<std::size_t>(n));
  return Status::kOk;
}

std::string PmiConnection::take(std::size_t bytes) {
  std::string front = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return front;
}

/// An MPI library in this process uses the original descriptor and closes it.
Result<UniqueFd> open_pmi_socket() {
  const char* text = std::getenv("PMI_FD");
  if (text == nullptr) {
    log_error(
        "the launcher gives no PMI_FD: start the program with mpiexec of "
        "MPICH, srun --mpi=pmi2, or acprun");
    return Status::kUnsupported;
  }
  int number = -1;
  const std::string_view digits(text);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number =
      error == std::errc{} && end == digits.data() + digits.size();
  UniqueFd copy(is_number ? ::fcntl(number, F_DUPFD_CLOEXEC, 3) : -1);
  if (!copy) {
    log_error(
        "PMI_FD={}: no open socket. A program that a rank starts is no rank of "
        "the job: set ACP_BOOTSTRAP=single for it",
        text);
    return Status::kProtocol;
  }
  return copy;
}

}  // namespace acp::runtime
