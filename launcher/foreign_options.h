// Options of other launchers: what to write for acprun instead.
#pragma once

#include <string_view>

namespace acp::launcher {

/// A clause such as "the number of ranks is -np N"; empty for words that no
/// launcher known here has. `option` is without its value. Pure.
std::string_view advice_for_foreign(std::string_view option) noexcept;

}  // namespace acp::launcher
