// Makes and finds the sockets of views. Called by acprun's ViewServer, and by
// acp_top. It never waits: no connection here blocks.
#include "protocol/view_socket.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "protocol/peer_user.h"

namespace acp::protocol {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSocketName = "acprun-";
/// A socket that does not listen yet. A viewer that found it under its final
/// name would take it for the socket of a dead acprun.
constexpr std::string_view kNewName = ".new-";
constexpr int kBacklog = 64;

UniqueFd new_socket() {
  return UniqueFd(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// nullopt: the path is too long for the name of a socket.
std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool is_own_folder(const std::string& folder) {
  struct stat facts {};

  return ::lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == ::geteuid();
}

/// Connects to a path. Empty, with errno: ECONNREFUSED when nobody listens.
UniqueFd connect_to(const std::string& path) {
  const auto address = address_of(path);
  UniqueFd socket = new_socket();
  if (!address || !socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address),
                sizeof *address) != 0) {
    return {};
  }
  return socket;
}

/// The number in a name such as "acprun-12"; nullopt for another name.
std::optional<std::uint32_t> number_behind(std::string_view prefix,
                                           std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, failure] = std::from_chars(name.data(), end, number);
  if (failure != std::errc{} || rest != end) return std::nullopt;
  return number;
}

bool is_dead(std::uint32_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

/// A name in a folder of sockets.
struct SocketFile {
  std::string path;
  std::uint32_t pid = 0;
  bool is_new = false;
};

std::vector<SocketFile> sockets_in(const std::string& folder) {
  std::vector<SocketFile> files;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    const std::string name = entry->path().filename();
    const auto fresh = number_behind(kNewName, name);
    if (const auto pid = fresh ? fresh : number_behind(kSocketName, name)) {
      files.push_back({entry->path(), *pid, fresh.has_value()});
    }
    entry.increment(error);
  }
  return files;
}

/// Removes the sockets of dead acpruns, without a connection to a living one. A
/// process of another container has its number in another list, so the kernel
/// has to refuse a connection as well.
void remove_stale(const std::string& folder) {
  for (const SocketFile& file : sockets_in(folder)) {
    if (is_dead(file.pid) && !connect_to(file.path) && errno == ECONNREFUSED) {
      ::unlink(file.path.c_str());
    }
  }
}

/// Binds and listens. Returns nothing, with errno. The socket gets its name
/// when it listens, so a viewer never meets one that refuses.
UniqueFd listen_in(const std::string& folder, const std::string& path) {
  const std::string first =
      fmt::format("{}/{}{}", folder, kNewName, ::getpid());
  const auto address = address_of(first);
  if (!address || !address_of(path)) {
    errno = ENAMETOOLONG;
    return {};
  }
  ::unlink(first.c_str());  // A dead process may have had this number.
  UniqueFd socket = new_socket();
  if (socket &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address),
             sizeof *address) == 0 &&
      ::chmod(first.c_str(), 0600) == 0 &&
      ::listen(socket.get(), kBacklog) == 0 &&
      ::rename(first.c_str(), path.c_str()) == 0) {
    return socket;
  }
  const int error = errno;
  ::unlink(first.c_str());
  errno = error;
  return {};
}

}  // namespace

std::vector<std::string> view_folders() {
  std::vector<std::string> folders;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && is_own_folder(runtime)) {
    folders.push_back(fmt::format("{}/acp", runtime));
  }
  folders.push_back(fmt::format("/tmp/acp-{}", ::geteuid()));
  return folders;
}

std::vector<std::string> searched_view_folders() {
  std::vector<std::string> folders = view_folders();
  const std::string usual = fmt::format("/run/user/{}/acp", ::geteuid());
  if (std::ranges::find(folders, usual) == folders.end()) {
    folders.push_back(usual);
  }
  return folders;
}

std::string why_not_private(const std::string& folder) {
  struct stat facts {};

  if (::lstat(folder.c_str(), &facts) != 0) return errno_text(errno);
  if (!S_ISDIR(facts.st_mode)) return "it is no folder";
  if (facts.st_uid != ::geteuid()) {
    return fmt::format("it belongs to user {}", facts.st_uid);
  }
  if ((facts.st_mode & 077) != 0) {
    return fmt::format("other users can enter it (mode {:o}): chmod 700 {}",
                       facts.st_mode & 07777, folder);
  }
  return "";
}

/// The end of another job may remove the folder between two steps here; a
/// second try then makes it again.
Result<ViewListener> ViewListener::open(std::span<const std::string> folders,
                                        std::string& why) {
  constexpr int kTries = 10;
  why.clear();
  for (const std::string& folder : folders) {
    std::string reason;
    for (int left = kTries; left > 0; --left) {
      ::mkdir(folder.c_str(), 0700);
      reason = why_not_private(folder);
      if (!reason.empty()) break;
      remove_stale(folder);
      std::string path =
          fmt::format("{}/{}{}", folder, kSocketName, ::getpid());
      if (UniqueFd socket = listen_in(folder, path)) {
        return ViewListener(std::move(socket), folder, std::move(path));
      }
      reason = errno_text(errno);
      if (errno != ENOENT) break;
    }
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", folder, reason);
  }
  return Status::kSystem;
}

ViewListener::~ViewListener() {
  if (!socket_) return;
  ::unlink(path_.c_str());
  ::rmdir(folder_.c_str());  // Fails while another job has a socket there.
}

UniqueFd ViewListener::accept() const {
  for (;;) {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket || is_of_this_user(socket.get())) return socket;
  }
}

std::vector<ViewConnection> connect_to_jobs(
    std::span<const std::string> folders) {
  std::vector<ViewConnection> jobs;
  for (const std::string& folder : folders) {
    if (!why_not_private(folder).empty()) continue;
    remove_stale(folder);
    for (const SocketFile& file : sockets_in(folder)) {
      if (file.is_new) continue;
      UniqueFd socket = connect_to(file.path);
      if (!socket && errno == ECONNREFUSED) {
        // A socket has this name only while it listens. So its acprun is dead,
        // although another process may have the number by now.
        ::unlink(file.path.c_str());
      } else if (socket && is_of_this_user(socket.get())) {
        jobs.push_back({file.pid, std::move(socket)});
      }
    }
    ::rmdir(folder.c_str());  // Only a folder that is empty now.
  }
  std::ranges::sort(jobs, {}, &ViewConnection::pid);
  return jobs;
}

}  // namespace acp::protocol
