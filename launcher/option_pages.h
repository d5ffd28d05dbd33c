// Pages for users, made from a table of options: --help, the options of the
// manual page, and the bash completion. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/option_table.h"

namespace acp::launcher {

/// The text of --help. It offers only what this build has.
std::string help_text(const OptionTable& table);

/// kEveryBuild is for the page in the source tree. kThisBuild also tells users
/// which networks their build has.
enum class ManualScope : std::uint8_t { kEveryBuild, kThisBuild };

/// The options as Markdown: a heading for each group, a definition for each
/// row. docs/man has them for every build.
std::string options_in_markdown(const OptionTable& table, ManualScope scope);

/// A script for bash that completes the launcher's command line. It needs no
/// other package.
std::string bash_completion(const OptionTable& table);

}  // namespace acp::launcher
