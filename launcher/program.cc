// Looks for a program's file as a shell does. Called for programs, wrappers and
// the launchers of macprun, before they are started. It starts nothing itself.
#include "launcher/program.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/log.h"

namespace acp::launcher {

namespace {

/// Returns 0 when the file can be executed, else an errno.
int check_executable(const std::string& file) {
  struct stat info {};

  if (::stat(file.c_str(), &info) != 0) {
    return errno;
  }
  if (S_ISDIR(info.st_mode)) {
    return EISDIR;
  }
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

std::string seen_from(const std::string& directory, const std::string& path) {
  return directory.empty() || path.front() == '/' ? path
                                                  : directory + "/" + path;
}

/// Says where a missing program was looked for. A name without a folder is
/// looked for in PATH as well.
std::string describe_search(const std::string& name,
                            const std::string& directory) {
  if (name.front() == '/') return "";
  std::error_code error;
  const std::string from = directory.empty()
                               ? std::filesystem::current_path(error).string()
                               : directory;
  return name.find('/') == std::string::npos
             ? fmt::format("; it is neither in PATH nor in {}", from)
             : fmt::format("; looked for from {}", from);
}

EarlyExit failure(const std::string& name,
                  const std::string& directory,
                  int error) {
  const bool is_missing = error == ENOENT || error == ENOTDIR;
  std::string more;
  if (is_missing) more = describe_search(name, directory);
  if (error == EACCES) more = "; is it executable (chmod +x)?";
  return {is_missing ? kStatusNotFound : kStatusCannotRun,
          fmt::format("cannot run {}: {}{}", name, errno_text(error), more)};
}

}  // namespace

/// Judges the directory before the name, because a wrong directory would show
/// as a missing program. A file that may not be executed decides the error only
/// if no other folder has the program.
OrExit<std::string> find_program(const std::string& name,
                                 const std::string& directory,
                                 const std::string& path) {
  if (name.empty()) {
    return EarlyExit{kStatusNotFound, "the program's name is empty"};
  }

  struct stat info {};

  if (!directory.empty() && ::stat(directory.c_str(), &info) != 0) {
    return EarlyExit{kStatusLauncher,
                     fmt::format("cannot work in {}: {}; give --wdir a folder "
                                 "that is there",
                                 directory, errno_text(errno))};
  }
  if (name.find('/') != std::string::npos) {
    const int error = check_executable(seen_from(directory, name));
    if (error != 0) return failure(name, directory, error);
    return name;
  }
  int worst = ENOENT;
  for (std::size_t begin = 0; begin <= path.size() && !path.empty();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty element means the working directory.
    const std::string folder =
        end == begin ? "." : path.substr(begin, end - begin);
    std::string file = folder;
    file += "/";
    file += name;
    const int error = check_executable(seen_from(directory, file));
    if (error == 0) return file;
    if (error == EACCES) worst = error;
    begin = end + 1;
  }
  // The specification's examples name programs of the working directory.
  const std::string file = "./" + name;
  const int error = check_executable(seen_from(directory, file));
  if (error == 0) return file;
  return failure(name, directory, error == ENOENT ? worst : error);
}

}  // namespace acp::launcher
