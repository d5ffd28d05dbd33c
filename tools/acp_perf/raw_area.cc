// Implements RawArea: a memfd that the ranks of one host map without ACP.
// prepare() in runner.cc opens it; the raw rows use it. It may not be used
// where attach() fails, as it does for ranks of another host.
#include "raw_area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace acp::perf {

namespace {

constexpr std::size_t kWordsBytes = 4096;
constexpr std::size_t kAreaBytes = kWordsBytes + 2 * kRawBufferBytes;

static_assert(sizeof(RawWords) <= kWordsBytes);

}  // namespace

RawArea::~RawArea() {
  if (base_ != nullptr) munmap(base_, kAreaBytes);
  if (fd_ >= 0) close(fd_);
}

bool RawArea::create() {
  fd_ = memfd_create("acp_perf", MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, kAreaBytes) != 0 || !map(fd_)) return false;
  // Touch each page now: a row must not measure page faults.
  std::memset(base_, 0, kAreaBytes);
  return true;
}

bool RawArea::attach(std::int64_t pid, std::int64_t fd) {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  const int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return false;
  const bool mapped = map(opened);
  const int error = errno;
  close(opened);
  errno = error;
  return mapped;
}

std::byte* RawArea::source() const noexcept {
  return base_ + kWordsBytes;
}

std::byte* RawArea::destination() const noexcept {
  return source() + kRawBufferBytes;
}

bool RawArea::map(int fd) {
  void* mapped =
      mmap(nullptr, kAreaBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(mapped);
  return true;
}

}  // namespace acp::perf
