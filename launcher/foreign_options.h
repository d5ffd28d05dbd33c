// Advice for users who give acprun an option of another launcher.
#pragma once

#include <string_view>

namespace acp::launcher {

/// Returns a clause such as "the number of ranks is -np N", or "" when no known
/// launcher has this option. `option` is without its value. Pure.
std::string_view advice_for_foreign(std::string_view option) noexcept;

}  // namespace acp::launcher
