// Finding the file that a program's name means.
#pragma once

#include <string>

#include "launcher/early_exit.h"

namespace acp::launcher {

/// A name with a slash is a path, seen from `directory` ("": the current
/// one); any other is looked for in `path` (the variable PATH) and then in
/// the directory. Exit 127: not found; 126: found, but not executable.
OrExit<std::string> find_program(const std::string& name,
                                 const std::string& directory,
                                 const std::string& path);

}  // namespace acp::launcher
