// The Unix socket by which acp_top reaches acprun: where it is, who may use it,
// and which sockets are left of acpruns that were killed.
//
// The socket is a file "acprun-PID" in a folder of the user, mode 0700. Both
// ends check the user of the other one (SO_PEERCRED).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "status/result.h"

namespace acp::protocol {

/// The folders in which an acprun may put its socket, the best first:
/// $XDG_RUNTIME_DIR/acp where that is a folder of this user, then /tmp/acp-UID.
std::vector<std::string> view_folders();

/// All folders in which an acprun of this user may have put its socket. An
/// acprun in another session may have had another XDG_RUNTIME_DIR.
std::vector<std::string> searched_view_folders();

/// Returns why nobody may trust the folder; "" for a folder of this user that
/// no other user can enter.
std::string why_not_private(const std::string& folder);

/// A listening socket with a name in a folder. Move-only. The destructor
/// removes the name, and the folder if that is empty then.
class ViewListener {
 public:
  /// Takes the first folder that will do, and makes it if it is missing. Also
  /// removes sockets there whose acprun is dead. Returns kSystem, with the
  /// reasons in `why`: no folder will do. Logs nothing, because a job runs as
  /// well without viewers.
  static Result<ViewListener> open(std::span<const std::string> folders,
                                   std::string& why);

  ViewListener(ViewListener&&) noexcept = default;
  ViewListener& operator=(ViewListener&&) = delete;
  ViewListener(const ViewListener&) = delete;
  ViewListener& operator=(const ViewListener&) = delete;
  ~ViewListener();

  int fd() const noexcept { return socket_.get(); }

  const std::string& path() const noexcept { return path_; }

  /// The next connection of this user, non-blocking. Empty, with errno: EAGAIN
  /// when none waits. A connection of another user is closed.
  UniqueFd accept() const;

 private:
  ViewListener(UniqueFd socket, std::string folder, std::string path)
      : socket_(std::move(socket)),
        folder_(std::move(folder)),
        path_(std::move(path)) {}

  UniqueFd socket_;  ///< Empty: moved from.
  std::string folder_;
  std::string path_;
};

/// A connection to one acprun.
struct ViewConnection {
  std::uint32_t pid = 0;
  UniqueFd socket;  ///< Non-blocking.
};

/// Connects to every acprun of this user that listens in one of the folders,
/// in the order of their numbers. Removes sockets of dead ones. A folder that
/// other users can enter is left out.
std::vector<ViewConnection> connect_to_jobs(
    std::span<const std::string> folders);

}  // namespace acp::protocol
