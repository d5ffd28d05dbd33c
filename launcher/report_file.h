// A file that acprun writes at the end of a job. It is opened at the start, so
// that a name that cannot be written ends acprun before the job, and not after.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "status/result.h"

namespace acp::launcher {

/// Used by one thread.
class ReportFile {
 public:
  /// Makes the file, or keeps the contents of one that exists. kSystem, logged.
  static Result<ReportFile> open(std::string path);

  /// Replaces the contents. A failure is logged.
  void write(std::string_view text);

 private:
  ReportFile(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace acp::launcher
