// Opens and writes the files of acprun's reports. Called by job.cc at the start
// and at the end of a job.
#include "launcher/report_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"

namespace acp::launcher {

Result<ReportFile> ReportFile::open(std::string path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) {
    log_error("{}: {}", path, errno_text(errno));
    return Status::kSystem;
  }
  return ReportFile(std::move(path), std::move(fd));
}

/// A pipe or a terminal cannot be truncated, and needs not be.
void ReportFile::write(std::string_view text) {
  if (::ftruncate(fd_.get(), 0) != 0 && errno != EINVAL) {
    log_error("{}: {}", path_, errno_text(errno));
    return;
  }
  while (!text.empty()) {
    const ssize_t written = ::write(fd_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      log_error("{}: {}", path_, errno_text(errno));
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace acp::launcher
