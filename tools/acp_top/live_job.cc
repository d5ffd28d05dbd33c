// Talks to acprun. Called by main.cc and screen.cc. An acprun that is stopped
// does not answer, so every wait here has a limit.
#include "live_job.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "table.h"

namespace acp::top {

namespace {

using protocol::JobView;
using protocol::ViewRequest;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kJobLimit{2000};

/// The time until `deadline` for poll(), not negative.
int left_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max(left, milliseconds(0)).count());
}

/// One line for each job of a list.
std::string line_of(std::uint32_t pid, const std::optional<JobView>& view) {
  if (!view) {
    return fmt::format("  {:>8}  does not answer: is it stopped (state T)?\n",
                       pid);
  }
  return fmt::format("  {:>8}  {:>6}  {:>7}  {}\n", pid, view->procs,
                     describe_seconds(static_cast<double>(view->age_ms) / 1000),
                     shorten(view->program, 60));
}

std::string list_of(std::span<LiveJob> jobs) {
  const auto deadline = Clock::now() + kJobLimit;
  for (LiveJob& job : jobs)
    job.ask(ViewRequest::kJob);
  std::string text =
      fmt::format("  {:>8}  {:>6}  {:>7}  PROGRAM\n", "JOB", "RANKS", "AGE");
  for (LiveJob& job : jobs)
    text += line_of(job.pid(), job.wait(milliseconds(left_until(deadline))));
  return text;
}

std::string how_to_start(std::span<const std::string> folders) {
  std::string places;
  for (const std::string& folder : folders)
    places += (places.empty() ? "" : ", ") + folder;
  return fmt::format(
      "no job of acprun runs on this host for this user (no socket in {}).\n"
      "Start one: acprun -np 4 PROGRAM. A job on several hosts is seen on the "
      "host of its acprun.\n"
      "Jobs of mpirun, mpiexec and srun have no acprun that could answer, so "
      "acp_top does not see them.\n",
      places);
}

}  // namespace

void LiveJob::fail(std::string error) {
  is_over_ = true;
  error_ = std::move(error);
}

void LiveJob::ask(ViewRequest request) {
  const char byte = static_cast<char>(request);
  if (::send(fd(), &byte, 1, MSG_NOSIGNAL) == 1) return;
  // The last view may still be on its way: receive() finds the end behind it.
  if (errno == EPIPE || errno == ECONNRESET) return;
  fail(fmt::format("sending to acprun {}: {}", pid(), errno_text(errno)));
}

void LiveJob::read_some() {
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = ::recv(fd(), buffer.data(), buffer.size(), 0);
    if (n > 0) {
      bytes_.append(buffer.data(), static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    fail(n == 0 || errno == ECONNRESET
             ? ""
             : fmt::format("reading from acprun {}: {}", pid(),
                           errno_text(errno)));
    return;
  }
}

/// A view that came before the end of the connection still counts.
std::optional<JobView> LiveJob::receive() {
  if (!is_over_) read_some();
  std::optional<JobView> newest;
  while (bytes_.size() >= protocol::kViewHeaderBytes) {
    const protocol::ViewHeader header = protocol::decode_view_header(bytes_);
    if (!header.is_view || header.version != protocol::kViewVersion) {
      bytes_.clear();
      fail(
          fmt::format("acprun {} is of another version of ACP: use the "
                      "acp_top beside that acprun",
                      pid()));
      break;
    }
    const std::size_t size = protocol::kViewHeaderBytes + header.bytes;
    if (bytes_.size() < size) break;
    newest = protocol::decode_view(std::string_view{bytes_}.substr(
        protocol::kViewHeaderBytes, header.bytes));
    bytes_.erase(0, size);
    if (newest) continue;
    bytes_.clear();
    fail(fmt::format("acprun {} sent a view that makes no sense", pid()));
  }
  return newest;
}

std::optional<JobView> LiveJob::wait(milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    if (auto view = receive()) return view;
    const int left = left_until(deadline);
    if (is_over_ || left == 0) return std::nullopt;
    pollfd ready{fd(), POLLIN, 0};
    ::poll(&ready, 1, left);
  }
}

std::variant<LiveJob, NoJob> find_job(std::uint32_t pid,
                                      std::span<const std::string> folders) {
  std::vector<LiveJob> jobs;
  for (protocol::ViewConnection& one : protocol::connect_to_jobs(folders))
    jobs.emplace_back(std::move(one));
  if (jobs.empty()) return NoJob{how_to_start(folders)};
  if (pid == 0 && jobs.size() == 1) return std::move(jobs.front());
  const auto wanted = std::ranges::find(jobs, pid, &LiveJob::pid);
  if (wanted != jobs.end()) return std::move(*wanted);
  const std::string list = list_of(jobs);
  return NoJob{
      pid == 0 ? fmt::format(
                     "several jobs run here; give the number of one:\n{}", list)
               : fmt::format("no acprun of this user has the number {}; there "
                             "is:\n{}",
                             pid, list)};
}

}  // namespace acp::top
