// The probes that need no file of their own. Called by the checks and the
// facts. They leave nothing open.
#include "probes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/log.h"
#include "base/unique_fd.h"

namespace acp::info {

namespace {

Probe failed(const char* what) {
  return {false, fmt::format("{}: {}", what, errno_text(errno))};
}

}  // namespace

Probe probe_memfd() {
  constexpr std::size_t kBytes = 4096;
  const UniqueFd fd(
      ::memfd_create("acp_info", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return failed("memfd_create");
  if (::ftruncate(fd.get(), kBytes) != 0) return failed("ftruncate");
  if (::fcntl(fd.get(), F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failed("sealing");
  }
  void* mapped =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) return failed("mmap");
  ::munmap(mapped, kBytes);
  return {true, "memfd_create with sealing"};
}

std::int64_t number_in_file(const char* path) {
  std::ifstream file(path);
  std::int64_t number = -1;
  return file >> number ? number : -1;
}

}  // namespace acp::info
