// Walks and ends the process tree by /proc and pidfds. Called by the keeper and
// the join command, and by acprun and daemons at the end of a job. It may not
// signal a process by a number that may have been reused, nor end those that
// the caller spares.
#include "launcher/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace acp::launcher {

namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

std::string read_small_file(const std::string& name) {
  const UniqueFd fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0;
       fd && (n = ::read(fd.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

/// Lists the names in a directory of /proc that are numbers.
std::vector<pid_t> list_numbers(const std::string& name) {
  std::vector<pid_t> numbers;
  const Directory directory(::opendir(name.c_str()), ::closedir);
  if (!directory) return numbers;
  while (const dirent* entry = ::readdir(directory.get())) {
    pid_t number = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [rest, error] = std::from_chars(entry->d_name, end, number);
    if (error == std::errc{} && rest == end) numbers.push_back(number);
  }
  return numbers;
}

/// Reads the number at the front of the text; -1 when there is none.
pid_t parse_pid(std::string_view text) {
  pid_t pid = -1;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

pid_t parent_of(pid_t process) {
  const std::string stat =
      read_small_file(fmt::format("/proc/{}/stat", process));
  // The line is "pid (name) state ppid". The name may contain ") " as well,
  // so the search is for the last one.
  std::string_view rest(stat);
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size()));
  return rest.size() < 4 ? -1 : parse_pid(rest.substr(4));
}

/// Finds children on kernels without the file "children".
std::vector<pid_t> scan_for_children(pid_t process) {
  std::vector<pid_t> children;
  for (const pid_t other : list_numbers("/proc")) {
    if (parent_of(other) == process) children.push_back(other);
  }
  return children;
}

bool has_children_files() {
  static const bool has = [] {
    const pid_t self = ::getpid();
    return ::access(
               fmt::format("/proc/{}/task/{}/children", self, self).c_str(),
               R_OK) == 0;
  }();
  return has;
}

/// Signals `child` by a pidfd, after a look whether its parent is the expected
/// one. So a process that got a reused number is never hit.
void signal_child(pid_t parent, pid_t child, int signal) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!pidfd) {
    if (errno == ENOSYS) ::kill(child, signal);
    return;
  }
  const pid_t now = parent_of(child);
  if (now == parent || now == ::getpid()) {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
  }
}

struct Kinship {
  pid_t parent;
  pid_t child;
};

/// Which processes are left alone, with all below them.
struct Exceptions {
  std::span<const pid_t> spared;
  bool spares_keepers = false;  ///< Keepers of dead daemons.
  pid_t own_keeper = 0;         ///< It is no exception.
};

/// The name alone decides. A program of the job that takes it lives for
/// kOrphanLimit longer.
bool is_keeper(pid_t process) {
  return read_small_file(fmt::format("/proc/{}/comm", process)) ==
         fmt::format("{}\n", kKeeperName);
}

/// Processes below this one.
struct Found {
  std::vector<Kinship> kin;
  bool has_keeper = false;  ///< At least one was left alone.
};

/// Collects all processes below `top`, parents before their children.
void collect_below(pid_t top, const Exceptions& exceptions, Found& found) {
  const auto spared = exceptions.spared;
  for (const pid_t child : children_of(top)) {
    if (std::find(spared.begin(), spared.end(), child) != spared.end()) {
      continue;
    }
    if (exceptions.spares_keepers && child != exceptions.own_keeper &&
        is_keeper(child)) {
      found.has_keeper = true;
      continue;
    }
    found.kin.push_back({top, child});
    collect_below(child, exceptions, found);
  }
}

/// Finds all processes before it hits the first: the children of a process that
/// dies get another parent.
Found signal_below(int signal, const Exceptions& exceptions) {
  Found found;
  collect_below(::getpid(), exceptions, found);
  for (const auto& [parent, child] : found.kin) {
    signal_child(parent, child, signal);
  }
  return found;
}

/// Collects exit statuses without waiting. Returns true when only `spared`
/// children are left.
bool reap_all(std::span<const pid_t> spared) {
  bool are_all_gone = true;
  for (const pid_t child : children_of(::getpid())) {
    if (std::find(spared.begin(), spared.end(), child) != spared.end()) {
      continue;  // Its status belongs to the caller.
    }
    are_all_gone = ::waitpid(child, nullptr, WNOHANG) != 0 && are_all_gone;
  }
  return are_all_gone;
}

}  // namespace

/// Each thread of a process has a list of the children that it forked.
std::vector<pid_t> children_of(pid_t process) {
  if (!has_children_files()) {
    return scan_for_children(process);
  }
  std::vector<pid_t> children;
  const std::string tasks = fmt::format("/proc/{}/task", process);
  for (const pid_t task : list_numbers(tasks)) {
    const std::string list =
        read_small_file(fmt::format("{}/{}/children", tasks, task));
    for (const char* next = list.data(); *next != '\0';) {
      pid_t child = 0;
      const auto [rest, error] =
          std::from_chars(next, list.data() + list.size(), child);
      if (error != std::errc{}) break;
      children.push_back(child);
      next = *rest == ' ' ? rest + 1 : rest;
    }
  }
  return children;
}

int signal_descendants(int signal, std::span<const pid_t> spared) {
  return static_cast<int>(signal_below(signal, {spared}).kin.size());
}

/// A keeper that belongs to a living daemon becomes an orphan here, because its
/// daemon is killed in the same round. Its control socket closes then, and it
/// ends by itself.
bool end_descendants(std::span<const pid_t> spared,
                     std::chrono::milliseconds limit,
                     pid_t own_keeper) {
  const auto start = std::chrono::steady_clock::now();
  auto deadline = start + limit;
  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  while (!reap_all(spared)) {
    const auto now = std::chrono::steady_clock::now();
    if (now > deadline) return false;
    const bool spares_keepers = now < start + kOrphanLimit;
    if (signal_below(SIGKILL, {spared, spares_keepers, own_keeper})
            .has_keeper) {
      deadline = start + kOrphanLimit + limit;
    }
    // A process whose parent just died may be in no list. The next round sees
    // it.
    const timespec pause{0, 5'000'000};
    ::sigtimedwait(&child_signal, nullptr, &pause);
  }
  return true;
}

}  // namespace acp::launcher
