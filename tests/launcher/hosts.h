// Names that stand for other hosts. A remote shell runs the daemon on this
// host, as sshd would, with an environment and a directory of its own.
#pragma once

#include <string>
#include <vector>

#include "tests/launcher/running.h"

namespace hosts {

/// Makes the remote shell of one test.
class RemoteShell {
 public:
  RemoteShell();

  /// Options for a job of so many ranks on these hosts.
  std::vector<std::string> on(const std::string& hosts, int ranks) const;

  /// The command for --rsh. Host "refusing" answers as ssh does when a server
  /// refuses, and "busy" does so once. "silent" never answers, "older" has
  /// another version, and "lacking" has no acprun. "hostile" has a version that
  /// commands the terminal, and "colored" words that do. "talking" prints a
  /// line before the daemon runs.
  const std::string& path() const { return path_; }

  const running::Scratch& scratch() const { return scratch_; }

 private:
  running::Scratch scratch_;
  std::string path_;
};

/// Joins words.
std::vector<std::string> operator+(std::vector<std::string> words,
                                   const std::vector<std::string>& more);

/// The daemon for this host: its own process, not the shell's. -1 when there is
/// none.
pid_t daemon_of(const running::Running& job, const std::string& host);

/// The process of the remote shell for this host that `parent`, acprun or an
/// daemon, has started; -1 when there is none.
pid_t shell_of(pid_t parent, const std::string& host);

}  // namespace hosts
