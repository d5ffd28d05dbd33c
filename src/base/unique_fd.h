// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace acp {

/// Owns one descriptor; move-only. Not thread-safe.
class UniqueFd {
 public:
  UniqueFd() = default;

  explicit UniqueFd(int fd) noexcept : fd_(fd) {}

  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }

  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;

  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }

  explicit operator bool() const noexcept { return fd_ >= 0; }

  int release() noexcept { return std::exchange(fd_, -1); }

  void reset(int fd = -1) noexcept {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) {
      ::close(old);
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace acp
