// Carries PMI messages between a program and its launcher, and looks for an
// abort among them. Called by the join command's event loop. It changes no
// byte.
#include "launcher/pmi_relay.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "base/log.h"
#include "launcher/words.h"

namespace acp::launcher {

namespace {

constexpr std::string_view kVariable = "PMI_FD";
constexpr std::string_view kAbort = "cmd=abort";
constexpr std::string_view kExitCode = "exitcode=";
constexpr std::size_t kLengthDigits = 6;  ///< In front of a PMI-2 message.
/// No message of PMI is longer; a longer one is not looked at.
constexpr std::size_t kMaxMessage = std::size_t{1} << 20;

bool is_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         type == SOCK_STREAM;
}

/// Blocks until all bytes are out: PMI is question and answer, so neither side
/// sends more than the other one reads. False: the other side is gone.
bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return false;
    bytes.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  return true;
}

/// Reads once. Empty: the other side is gone.
std::string receive(int fd) {
  std::array<char, 65536> buffer{};
  ssize_t n = 0;
  do {
    n = ::recv(fd, buffer.data(), buffer.size(), 0);
  } while (n < 0 && errno == EINTR);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

bool is_abort(std::string_view message) {
  return message.starts_with(kAbort) &&
         (message.size() == kAbort.size() || message[kAbort.size()] == ' ' ||
          message[kAbort.size()] == ';');
}

int exit_status_in(std::string_view message) {
  const std::size_t at = message.find(kExitCode);
  if (at == std::string_view::npos) return 1;
  const std::string_view digits = message.substr(at + kExitCode.size());
  const auto status =
      number_in(digits.substr(0, digits.find_first_not_of("0123456789")));
  return status ? static_cast<int>(*status & 0xff) : 1;
}

}  // namespace

/// A message of PMI-1 is a line that begins with a letter. A message of PMI-2
/// has its length in front, filled up with spaces.
std::optional<std::string> PmiAbortFinder::take_message() {
  const auto take = [this](std::size_t skipped, std::size_t size,
                           std::size_t end) {
    std::string message = bytes_.substr(skipped, size);
    bytes_.erase(0, end);
    return message;
  };
  if (bytes_.empty()) return std::nullopt;
  const char first = bytes_.front();
  if (first != ' ' && (first < '0' || first > '9')) {
    const std::size_t end = bytes_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    return take(0, end, end + 1);
  }
  if (bytes_.size() < kLengthDigits) return std::nullopt;
  const std::string digits = bytes_.substr(0, kLengthDigits);
  const std::string_view head = digits;
  const std::size_t begin = head.find_first_not_of(' ');
  const auto size = number_in(head.substr(std::min(begin, head.size())));
  if (!size) return take(0, 0, bytes_.size());  // It is no PMI.
  if (bytes_.size() < kLengthDigits + *size) return std::nullopt;
  return take(kLengthDigits, *size, kLengthDigits + *size);
}

std::optional<int> PmiAbortFinder::feed(std::string_view bytes) {
  bytes_ += bytes;
  std::optional<int> status;
  while (auto message = take_message()) {
    if (is_abort(*message)) status = exit_status_in(*message);
  }
  if (bytes_.size() > kMaxMessage) bytes_.clear();
  return status;
}

/// The program must not inherit mpirun's descriptor, or the end of this process
/// would not close it. A launcher without PMI_FD, or with a descriptor that is
/// no socket, is left alone.
UniqueFd PmiRelay::put_between(std::vector<std::string>& environment) {
  const auto number = number_in(value_in(environment, kVariable));
  if (!number || !is_socket(static_cast<int>(*number))) return {};
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    log_warning("socket for PMI: {}; a call of MPI_Abort will not be named",
                errno_text(errno));
    return {};
  }
  program_.reset(ends[0]);
  UniqueFd program_end(ends[1]);
  launcher_ = static_cast<int>(*number);
  has_launcher_ = true;
  ::fcntl(launcher_, F_SETFD, FD_CLOEXEC);
  std::ranges::replace_if(
      environment,
      [](const std::string& entry) { return name_in(entry) == kVariable; },
      fmt::format("{}={}", kVariable, program_end.get()));
  return program_end;
}

/// The abort is reported first: after it the launcher kills this process.
void PmiRelay::pass_on_from_program() {
  const std::string bytes = receive(program_.get());
  if (bytes.empty()) {
    program_.reset();
    return;
  }
  if (const auto status = finder_.feed(bytes)) on_abort_(*status);
  if (!send_all(launcher_, bytes)) program_.reset();
}

void PmiRelay::pass_on_from_launcher() {
  const std::string bytes = receive(launcher_);
  if (bytes.empty()) {
    has_launcher_ = false;
    program_.reset();  // The program sees the end, as it would of mpirun.
    return;
  }
  if (program_) (void)send_all(program_.get(), bytes);
}

}  // namespace acp::launcher
