// Captures the text that this process writes to stderr.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace spmd {

/// Captures from its construction to stop(). Only one may exist at a time. At
/// its end it passes on what it has captured if that has a sanitizer's report.
class StderrCapture {
 public:
  StderrCapture()
      : file_(memfd_create("stderr", MFD_CLOEXEC)), saved_(dup(STDERR_FILENO)) {
    dup2(file_, STDERR_FILENO);
  }

  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;

  ~StderrCapture() {
    pass_on_report(stop());
    close(saved_);
    close(file_);
  }

  /// Ends the capture and returns the text.
  std::string stop() {
    dup2(saved_, STDERR_FILENO);
    const off_t size = lseek(file_, 0, SEEK_END);
    std::string text(size < 0 ? 0 : static_cast<std::size_t>(size), '\0');
    const ssize_t n = pread(file_, text.data(), text.size(), 0);
    text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return text;
  }

 private:
  static void pass_on_report(const std::string& text) {
    if (text.find("Sanitizer: ") == std::string::npos) return;
    [[maybe_unused]] const ssize_t n =
        write(STDERR_FILENO, text.data(), text.size());
  }

  int file_;
  int saved_;
};

}  // namespace spmd
