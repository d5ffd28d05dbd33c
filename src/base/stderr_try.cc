// Writes to standard error without blocking, for LogOutput. What cannot be
// written without blocking is left to the caller. Changes no flag of the
// descriptor.
#include "base/stderr_try.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/unique_fd.h"

namespace acp {

namespace {

/// Converts the result of a write. A full pipe takes nothing now.
ssize_t as_taken(ssize_t written) noexcept {
  if (written >= 0) {
    return written;
  }
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/// Opens the pipe or terminal once more. The flags of the new description are
/// its own. Where that fails, as without /proc or without a free descriptor,
/// nothing is written.
ssize_t write_by_second_description(std::string_view bytes) noexcept {
  const UniqueFd second(
      ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  return second ? as_taken(::write(second.get(), bytes.data(), bytes.size()))
                : 0;
}

/// A file in memory or on a disk of this host takes a line at once. A file of a
/// server, or of a process behind FUSE, may block until that one answers.
bool is_local_file() noexcept {
  constexpr std::array<unsigned long, 8> kLocal = {
      TMPFS_MAGIC,      RAMFS_MAGIC,       OVERLAYFS_SUPER_MAGIC,
      EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, XFS_SUPER_MAGIC,
      F2FS_SUPER_MAGIC, 0x2fc12fc1 /*ZFS*/};

  struct statfs system {};

  return ::fstatfs(STDERR_FILENO, &system) == 0 &&
         std::ranges::find(kLocal, static_cast<unsigned long>(system.f_type)) !=
             kLocal.end();
}

}  // namespace

ssize_t try_stderr(std::string_view bytes) noexcept {
  struct stat file {};

  if (::fstat(STDERR_FILENO, &file) != 0) {
    return -1;
  }
  if (S_ISSOCK(file.st_mode)) {
    return as_taken(::send(STDERR_FILENO, bytes.data(), bytes.size(),
                           MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  if (S_ISFIFO(file.st_mode) ||
      (S_ISCHR(file.st_mode) && ::isatty(STDERR_FILENO) == 1)) {
    return write_by_second_description(bytes);
  }
  if (S_ISREG(file.st_mode) && !is_local_file()) {
    return 0;
  }
  return as_taken(::write(STDERR_FILENO, bytes.data(), bytes.size()));
}

}  // namespace acp
