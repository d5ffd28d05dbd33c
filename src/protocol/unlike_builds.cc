// Finds the files of launcher and library. Called when a process refuses a host
// segment; reads /proc only, and changes nothing.
#include "protocol/unlike_builds.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace acp::protocol {

namespace {

/// Wrappers such as a shell or a debugger stand between rank and keeper.
constexpr int kMostAncestors = 16;

constexpr char kHere = 0;

/// The parent of a process; 0 when it cannot be read.
pid_t parent_of(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  // The name of the program, in brackets, may have brackets and blanks inside.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return 0;
  }
  std::istringstream rest(text.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return rest ? parent : 0;
}

std::filesystem::path program_of(pid_t pid) {
  std::error_code ignored;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid),
                                       ignored);
}

}  // namespace

std::string file_of_library() {
  Dl_info info{};
  if (::dladdr(&kHere, &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  std::error_code ignored;
  const auto file = std::filesystem::canonical(info.dli_fname, ignored);
  return file.empty() ? info.dli_fname : file.string();
}

std::string file_of_launcher() {
  pid_t pid = ::getppid();
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    const std::filesystem::path program = program_of(pid);
    const std::string name = program.filename();
    if (name.starts_with("acprun") || name.starts_with("macprun")) {
      return program;
    }
    pid = parent_of(pid);
  }
  return "";
}

std::string describe_unlike_builds() {
  const std::string launcher = file_of_launcher();
  const std::string library = file_of_library();
  return fmt::format("{} has made it, and {} cannot use it",
                     launcher.empty() ? "the launcher" : launcher,
                     library.empty() ? "this library" : library);
}

}  // namespace acp::protocol
