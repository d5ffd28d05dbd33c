// A remote shell for tests. Called by the tests of jobs on several hosts; it
// needs no network, and runs every daemon on this host.
#include "tests/launcher/hosts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "launcher/descendants.h"

namespace hosts {

namespace {

// Like ssh, the shell stays beside the command that it starts, joins the words
// behind the host's name, and passes no variable on. The mark is how the tests
// find processes. A daemon that starts others gives their shells the folder.
constexpr std::string_view kScript = R"(#!/bin/sh
host=$1
shift
cd /
case $host in
  refusing) echo "ssh: connect to host $host port 22: Connection refused" >&2
            exit 255 ;;
  unknown)  echo "ssh: Could not resolve hostname $host" >&2; exit 255 ;;
  busy)     if mkdir "$0.was_busy" 2>&-; then
              echo "ssh: connect to host $host port 22: Connection refused" >&2
              exit 255
            fi ;;
  silent)   exec sleep 1000 ;;
  older)    echo "acprun-daemon 0.0.1 1 1"; exec sleep 1000 ;;
  hostile)  printf 'acprun-daemon 1\033]0;owned\007\r\233%0200d\n' 0
            exec sleep 1000 ;;
  colored)  printf '\033[31mgone\033[0m\n' >&2; exit 3 ;;
  lacking)  set -- /nonexistent/bin/acprun --daemon ;;
  talking)  echo "Welcome to host $host" ;;
esac
env -i LAUNCHER_TEST_MARK="$LAUNCHER_TEST_MARK" HOME=/ PATH=/usr/bin:/bin \
  TMPDIR="$FAKE_HOST_TMPDIR" FAKE_HOST_TMPDIR="$FAKE_HOST_TMPDIR" \
  FAKE_HOST="$host" sh -c "exec $*" <&3 3<&- &
exec 3<&-
wait $!
)";

std::string text_of(pid_t pid, const char* file) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/" + file,
                       std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

RemoteShell::RemoteShell() {
  std::string script(kScript);
  // A shell gives a command in the background no standard input of its own.
  script.insert(script.find('\n') + 1, "exec 3<&0\n");
  path_ = scratch_.file("rsh", script);
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
}

std::vector<std::string> RemoteShell::on(const std::string& hosts,
                                         int ranks) const {
  return {"-np", std::to_string(ranks), "--host", hosts, "--rsh", path_, "-v"};
}

std::vector<std::string> operator+(std::vector<std::string> words,
                                   const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

pid_t daemon_of(const running::Running& job, const std::string& host) {
  for (const pid_t pid : job.everybody()) {
    const std::string words = text_of(pid, "cmdline");
    if (words.find(std::string("\0--daemon\0", 10)) != std::string::npos &&
        words.starts_with(ACPRUN) &&
        text_of(pid, "environ").find("FAKE_HOST=" + host + '\0') !=
            std::string::npos) {
      // The keeper is the daemon's child and has its words.
      const std::string parents = text_of(pid, "stat");
      bool is_keeper = false;
      for (const pid_t other : job.everybody()) {
        if (other == pid) continue;
        const auto children = acp::launcher::children_of(other);
        is_keeper = is_keeper || (text_of(other, "cmdline") == words &&
                                  std::find(children.begin(), children.end(),
                                            pid) != children.end());
      }
      if (!is_keeper) return pid;
    }
  }
  return -1;
}

pid_t shell_of(pid_t parent, const std::string& host) {
  for (const pid_t pid : acp::launcher::children_of(parent)) {
    const std::string words = text_of(pid, "cmdline");
    if (words.find(std::string(1, '\0') + host + '\0') != std::string::npos) {
      return pid;
    }
  }
  return -1;
}

}  // namespace hosts
