// Limits the size of the files that this process writes.
#pragma once

#include <sys/resource.h>

#include <catch2/catch.hpp>

namespace spmd {

/// While it exists, no file may become larger than so many bytes. Then SIGXFSZ
/// ends a process that does not handle that signal.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    rlimit now = before_;
    now.rlim_cur = bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &now) == 0);
  }

  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace spmd
