// Reads a file that the user has named.
#pragma once

#include <string>
#include <string_view>

#include "launcher/early_exit.h"

namespace acp::launcher {

/// The bytes of the file. `kind` begins the error: "node file /tmp: Is a
/// directory".
OrExit<std::string> read_file(std::string_view kind, const std::string& name);

}  // namespace acp::launcher
