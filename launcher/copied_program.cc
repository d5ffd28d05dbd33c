// Writes a copied program into a folder below TMPDIR. Called by the daemon,
// which removes the folder at the end of the job, as the keeper does: either of
// them may be killed. No other user may be able to enter the folder.
#include "launcher/copied_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/log.h"
#include "base/unique_fd.h"

namespace acp::launcher {

/// The file has a folder of its own that only this user may enter. So no other
/// user can put another program in its place between the copy and exec.
Result<std::string> CopiedProgram::finish(const std::string& name) {
  const char* temporary = std::getenv("TMPDIR");
  std::string folder =
      std::string(temporary != nullptr && *temporary != '\0' ? temporary
                                                             : "/tmp") +
      "/acprun-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    log_error("--preload: {}: {}; TMPDIR names another folder", folder,
              errno_text(errno));
    return Status::kSystem;
  }
  file_ = folder + "/" + name;
  const UniqueFd fd(
      ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  std::string_view left(bytes_);
  while (fd && !left.empty()) {
    const ssize_t n = ::write(fd.get(), left.data(), left.size());
    if (n < 0 && errno != EINTR) break;
    left.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  if (!fd || !left.empty()) {
    log_error("--preload: {}: {}", file_, errno_text(errno));
    remove();
    return Status::kSystem;
  }
  bytes_ = {};
  return file_;
}

void CopiedProgram::remove() {
  remove_copied_program(file_);
  file_.clear();
}

void remove_copied_program(const std::string& file) {
  if (file.empty()) return;
  ::unlink(file.c_str());
  ::rmdir(file.substr(0, file.rfind('/')).c_str());
}

}  // namespace acp::launcher
