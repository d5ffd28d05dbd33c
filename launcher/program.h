// Finds the file that a program's name means.
#pragma once

#include <string>

#include "launcher/early_exit.h"

namespace acp::launcher {

/// A name with a slash is a path, relative to `directory` ("": the current
/// one). Any other name is looked for in the folders of `path`, the value of
/// PATH, and then in the directory. The exit has status 127 when nothing is
/// found, and 126 when the file cannot be executed.
OrExit<std::string> find_program(const std::string& name,
                                 const std::string& directory,
                                 const std::string& path);

}  // namespace acp::launcher
