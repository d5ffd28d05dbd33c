// Reads whole files of the user. Called by placement.cc for node files, and by
// macprun_plan.cc for the input file. A folder may not be opened, because its
// stream would throw.
#include "launcher/read_file.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "base/log.h"

namespace acp::launcher {

OrExit<std::string> read_file(std::string_view kind, const std::string& name) {
  const auto failed = [&](int error) {
    return launcher_error(
        fmt::format("{} {}: {}", kind, name, errno_text(error)));
  };

  struct stat info {};

  if (::stat(name.c_str(), &info) != 0) return failed(errno);
  if (S_ISDIR(info.st_mode)) return failed(EISDIR);
  std::ifstream file(name, std::ios::binary);
  if (!file) return failed(errno);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace acp::launcher
